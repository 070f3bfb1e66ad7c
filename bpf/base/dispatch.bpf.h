/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU picks its next task: the running task goes on, or the first waiting task takes its place, whichever is due first. If no task
 * waits, the CPU looks into other lines, and goes idle.
 */
#ifndef __TANDEM_BASE_DISPATCH_H
#define __TANDEM_BASE_DISPATCH_H

#include "idle_class.bpf.h"
#include "../place/faster.bpf.h"
#include "../queues/age.bpf.h"
#include "../queues/waiting.bpf.h"

/*
 * The running task if it could go on, charged for its run time. None if it is to leave, or if it is of the idle class and goes on only
 * where no other task can.
 */
static __always_inline struct base_task *base_could_go_on(struct task_struct *prev, struct base_cpu *bctx, struct line *line)
{
	struct task_ctx *tctx;

	if (!is_queued(prev) || bctx->wanted_by || bctx->limited || !(tctx = task_of(prev)) || tctx->base.idles)
		return 0;
	tctx->base.ran = line_run(&tctx->base, vclock_charge(prev, &tctx->base));
	return &tctx->base;
}

/* Notes that the running task goes on, and gives it a slice. */
static __always_inline void base_keeps(struct task_struct *prev, struct base_task *task, struct base_cpu *bctx)
{
	bctx->deadline = task->vtime + task->request;
	bctx->charged = task->charged;
	/* A task of little weight is charged often: otherwise it would owe much for a long slice that no other task wanted. */
	prev->scx.slice = task->pace > LIGHT_PACE ? SLICE_MOST : SLICE_LONE;
}

/* Lets the running task go on. Virtual time advances to @latest at most, the place of the first waiting task. */
static __always_inline void base_goes_on(struct task_struct *prev, struct base_task *task, struct base_cpu *bctx, u64 latest)
{
	vclock_begin(task, line_at(bctx->line), false, latest);
	base_keeps(prev, task, bctx);
}

/*
 * Notes how long the running task goes on unless a task wakes: until it is due after @latest, when the waiting tasks come first. Until
 * then ticks need not look.
 */
static __always_inline void base_stays(struct base_task *task, struct base_cpu *bctx, u64 latest)
{
	u64 spare = latest - (task->vtime + task->request), ns = (spare << WEIGHT_SHIFT) / (task->pace ?: 1);

	if (task->cgroup || ns < SLICE_MOST)
		return;
	bctx->stays_until = task->charged + (ns < STAYS_NS ? ns : STAYS_NS);
	bctx->arrivals = line_at(bctx->line)->arrivals;
}

/* Takes a task that may run here only, if it is due before the line's waiting tasks and before the running task. */
static __noinline int base_take_pinned(struct task_struct *prev, struct base_cpu *bctx)
{
	u32 cpu = bctx->number, number = bctx->line;
	struct base_task *task;
	u64 pinned, first;

	if (!waiting_first(cpu, QUEUE_PINNED | cpu, &pinned)) {
		bctx->has_pinned = false;
		return false;
	}
	if (waiting_first(cpu, QUEUE_LINE | number, &first) && vtime_before(first, pinned))
		return false;
	task = base_could_go_on(prev, bctx, line_at(number));
	if (task && vtime_before(task->vtime + task->request, pinned))
		return false;
	bctx->deadline = pinned;
	bctx->took = dsq_move_to_local(QUEUE_PINNED | cpu);
	return bctx->took;
}

/* No task waits in the CPU's line: takes one from other lines, or one of the idle class. */
static __always_inline bool base_take_other(struct base_cpu *bctx)
{
	if (bctx->has_lines && steal_from_lines(bctx))
		return true;
	if (nr_idle_class > 0 && dsq_move_to_local(QUEUE_LINE_IDLE | bctx->line))
		return true;
	return bctx->has_lines && steal_idle_class(bctx);
}

/*
 * A CPU that goes idle asks for a lower clock, and takes over a misfit from a slower CPU. By energy, without mechanisms, the CPU takes a
 * misfit only if its work may have a lower clock here. At the highest clock the work costs more than the time gained is worth, and a task
 * that goes on computing comes at its next tick.
 */
static __always_inline void base_goes_idle(struct base_cpu *bctx)
{
	if (bctx->wants_util)
		util_goes_idle(bctx);
	bctx->deadline = 0;
	if (bctx->has_lines)
		line_goes_idle(bctx);
	if (bctx->has_slower && nr_misfits > 0 && !(bctx->takes_dear && by_energy()))
		steal_misfit(bctx->number);
}

/* The running task does not go on, and no task waits in the CPU's line. */
static __always_inline void base_looks_elsewhere(struct base_cpu *bctx)
{
	if (bctx->has_pinned && dsq_move_to_local(QUEUE_PINNED | bctx->number))
		return;
	if (!base_take_other(bctx))
		base_goes_idle(bctx);
}

/*
 * Takes a task that another line owes a turn, before the task that is due here at @place with @leeway; returns whether there was one.
 * @task, which could go on, tells how far the other line must be behind. A line with faster CPUs gets the turn only for a task of more
 * weight: tasks of equal weight are spread by performance, and get as much done there.
 */
static __always_inline bool base_take_owed(struct base_cpu *bctx, struct base_task *task, u64 place, u64 leeway)
{
	u32 other;

	if (!bctx->has_lines)
		return false;
	other = steal_behind(bctx, task);
	if (other == bctx->line)
		return false;
	return steal_due(bctx, other, place, leeway - steal_is_as_much(bctx, other));
}

/* A task waits in the CPU's line: takes it, or lets the running task go on if that is due first; returns whether either could be had. */
static __noinline int base_dispatch_waiting(struct task_struct *prev, struct base_cpu *bctx)
{
	u32 number = bctx->line;
	struct waiting waiting = {};
	struct base_task *task;

	waiting_look(bctx->number, &waiting);
	task = base_could_go_on(prev, bctx, line_at(number));
	if (task) {
		u64 place = task->vtime + task->request, leeway = waiting_leeway(task->slice);
		bool sooner = waiting.any && vtime_before(waiting.place + waiting_least(waiting.leeway, leeway), place);

		if (base_take_owed(bctx, task, sooner ? waiting.place : place, sooner ? waiting.own : leeway))
			return 1;
		if (waiting.any && !sooner) {
			base_stays(task, bctx, waiting.place + waiting_least(waiting.leeway, leeway));
			base_goes_on(prev, task, bctx, waiting.first);
			return 1;
		}
	}
	bctx->deadline = waiting.any ? waiting.first : line_at(number)->vtime;
	bctx->took = waiting_take(bctx, &waiting);
	if (bctx->took || !task)
		return bctx->took;
	base_goes_on(prev, task, bctx, task->vtime);
	return 1;
}

/* No task waits in the CPU's line: the running task goes on; returns whether it does. */
static __always_inline bool base_dispatch_alone(struct task_struct *prev, struct base_cpu *bctx, struct line *line)
{
	struct base_task *task = base_could_go_on(prev, bctx, line);

	if (!task)
		return bctx->idles && bctx->has_lines && steal_from_lines(bctx);
	if (base_take_owed(bctx, task, task->vtime + task->request, waiting_leeway(task->slice)))
		return true;
	base_goes_on(prev, task, bctx, task->vtime);
	return true;
}

/*
 * The running task has used up its group's quota: any other task runs. The running task is queued (SCX_ENQ_LAST), and waits for the next
 * period.
 */
static __noinline int base_dispatch_limited(struct task_struct *prev, struct base_cpu *bctx)
{
	bctx->limited = false;
	if (is_queued(prev))
		prev->scx.slice = 0;
	if (bctx->has_pinned && dsq_move_to_local(QUEUE_PINNED | bctx->number))
		return 0;
	if (!dsq_move_to_local(QUEUE_LINE | bctx->line))
		base_looks_elsewhere(bctx);
	return 0;
}

/* A rare case: a quota is used up, there are tasks of the idle class, a pinned task waits, or it is time to look for aged tasks. */
static __noinline int base_dispatch_unusual(struct task_struct *prev, struct base_cpu *bctx)
{
	struct line *line = line_at(bctx->line);
	bool waits;

	if (bctx->limited)
		return base_dispatch_limited(prev, bctx);
	if (bctx->idles)
		base_charge_idle(prev, bctx);
	if (bctx->looks_for_aged && age_take(bctx))
		return 0;
	if (bctx->has_pinned && base_take_pinned(prev, bctx))
		return 0;
	if (base_idle_class_due(line, bctx->line) && dsq_move_to_local(QUEUE_LINE_IDLE | bctx->line))
		return 0;
	waits = scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line);
	if (waits ? base_dispatch_waiting(prev, bctx) : base_dispatch_alone(prev, bctx, line))
		return 0;
	if (!is_queued(prev))
		base_looks_elsewhere(bctx);
	else if (!(bctx->idles && dsq_move_to_local(QUEUE_LINE_IDLE | bctx->line)) &&
		 (!bctx->has_pinned || !dsq_move_to_local(QUEUE_PINNED | bctx->number)))
		/* A task that a faster CPU wants is queued as the last one (SCX_ENQ_LAST), and goes there. */
		prev->scx.slice = bctx->wanted_by ? 0 : SLICE_LONE;
	return 0;
}

/* The running task leaves the CPU, in the usual case. */
static __always_inline void base_dispatch_next(struct base_cpu *bctx, struct task_struct *prev, u32 waiting)
{
	/* A task that waits alone is taken without a look: no other waiting task is due before it and holds virtual time back. */
	if (waiting == 1 ? dsq_move_to_local(QUEUE_LINE | bctx->line) : waiting && base_dispatch_waiting(prev, bctx))
		return;
	if (bctx->has_lines) {
		if (steal_from_lines(bctx))
			return;
		bctx->look_at = 0;
	}
	base_goes_idle(bctx);
}

static __always_inline void base_dispatch(s32 cpu, struct task_struct *prev)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	u32 waiting;

	if (bctx->unusual || nr_idle_class > 0) {
		base_dispatch_unusual(prev, bctx);
		return;
	}
	waiting = scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line);
	if (!is_queued(prev))
		base_dispatch_next(bctx, prev, waiting);
	else if (!(waiting ? base_dispatch_waiting(prev, bctx) : base_dispatch_alone(prev, bctx, line_at(bctx->line))))
		/* A task that a faster CPU wants is queued as the last one (SCX_ENQ_LAST), and goes there. */
		prev->scx.slice = bctx->wanted_by ? 0 : SLICE_LONE;
}

#endif /* __TANDEM_BASE_DISPATCH_H */
