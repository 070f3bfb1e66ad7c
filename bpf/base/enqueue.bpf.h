/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task has to wait. It waits in the line of a last-level cache, by virtual deadline. If it may run on its CPU only, it waits in the
 * CPU's own queue. If it is of the idle class, it waits behind all others.
 */
#ifndef __TANDEM_BASE_ENQUEUE_H
#define __TANDEM_BASE_ENQUEUE_H

#include "../state/queue.bpf.h"
#include "../place/faster.bpf.h"
#include "../place/preempt.bpf.h"
#include "../queues/vclock.bpf.h"

/*
 * The place of a task that may run on one CPU only. A task of the idle class waits among those of other classes here, behind them, and so
 * goes by their clock.
 */
static __always_inline u64 base_place_pinned(struct base_task *task, u32 cpu)
{
	return (task->idles ? line_at(line_of(cpu))->vtime : task->vtime) + task->request;
}

/* Queues a task that may run on one CPU only: the task starts at once if the CPU is idle. */
static __noinline void base_enqueue_pinned(struct task_struct *p, struct base_task *task, struct base_cpu *bctx, u64 enq_flags)
{
	u32 cpu = bctx->number;
	u64 deadline;

	line_enter(task, bctx->line);
	vclock_bound(task, bctx);
	if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, enq_flags);
		return;
	}
	deadline = base_place_pinned(task, cpu);
	bctx->has_pinned = true;
	dsq_insert_vtime(p, QUEUE_PINNED | cpu, SLICE_LONE, deadline, enq_flags);
	if (!task->ran_on && !preempt_never(p, task) && preempt_may(deadline, cpu, PREEMPT_MARGIN)) {
		bctx->deadline = deadline;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

/* Sends a task to the CPU that wanted it, if the task may still run there; returns whether the task goes. */
static __always_inline bool base_go_to(struct task_struct *p, struct base_task *task, u64 enq_flags)
{
	u32 wanted = task->go_to, cpu = faster_wanting(wanted);

	task->go_to = 0;
	if (cpu >= nr_cpus || !may_run_on(p, cpu)) {
		faster_let_go(wanted);
		return false;
	}
	if (wanted & WANTED_IN_TURN) {
		count(TANDEM_STAT_PULL_TURNS);
		insert_on(p, cpu, SLICE_LONE, enq_flags | SCX_ENQ_PREEMPT);
		return true;
	}
	if (!(wanted & WANTED_CLAIMED) && !scx_bpf_test_and_clear_cpu_idle(cpu))
		return false;
	count(TANDEM_STAT_PULL_MOVED);
	/* A task that has only just woken on a slower CPU, because no faster CPU was idle, now starts where it would have started. */
	task->pulled = by_energy() && !(wanted & WANTED_CLAIMED) && task->ran > task->burst / 4;
	insert_on(p, cpu, SLICE_LONE, enq_flags);
	return true;
}

/* Wakes the CPU @idle, if it is one, to look into a line. */
static __always_inline void base_kick(s32 idle, u32 number)
{
	if (idle < 0)
		return;
	if (line_of(idle) != number)
		base_cpu_of(idle)->look_at = number + 1;
	scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

/*
 * A random delay of a task's place in its line after the task used up its slice, ns. Ticks come at the same time on all CPUs, and tasks
 * that once began together would run together for ever. If all threads that use memory ran together, and then all others, the memory
 * would be too slow for the former and of no use to the latter.
 */
static __always_inline u64 base_chance(struct base_task *task)
{
	return (task->request / 2) * (bpf_get_prandom_u32() & 1023) >> 10;
}

/* Puts a task that may run on several CPUs, and ran on @bctx last, into a line. */
static __always_inline void base_insert_in_line(struct task_struct *p, struct base_task *task, struct base_cpu *bctx, u32 number,
						  u64 enq_flags)
{
	struct line *line = line_at(number);
	u64 slice = SLICE_LONE, place;

	/* The task may have left its line without a turn, as its affinity changed. */
	home_forget(task);
	line_enter(task, number);
	vclock_bound(task, bctx);
	place = task->vtime + task->request;
	if (task->ran_on) {
		place += base_chance(task);
		slice = task->slice;
	} else {
		line->arrivals++;
		slice = weight_woken_slice(task);
		home_count_woken(task, true);
	}
	if (!task->idles && bctx->line == number)
		home_note(p, task, bctx->number, place, slice);
	dsq_insert_vtime(p, (task->idles ? QUEUE_LINE_IDLE : QUEUE_LINE) | number, slice, place, enq_flags);
}

/* Queues a task that may run on several CPUs. */
static __always_inline void base_enqueue_in_line(struct task_struct *p, struct base_task *task, struct base_cpu *bctx, u32 number,
						   u64 enq_flags)
{
	base_insert_in_line(p, task, bctx, number, enq_flags);
	base_kick(idle_pick_waiting(p, task, bctx->number), number);
}

static __always_inline void base_enqueue_task(struct task_struct *p, struct base_task *task, u64 enq_flags)
{
	struct base_cpu *bctx = base_cpu_of(scx_bpf_task_cpu(p));

	if (task->go_to && base_go_to(p, task, enq_flags))
		return;
	if (enq_flags & SCX_ENQ_LAST) {
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, enq_flags);
		return;
	}
	if (p->nr_cpus_allowed == 1 || must_stay(p)) {
		base_enqueue_pinned(p, task, bctx, enq_flags);
		return;
	}
	base_enqueue_in_line(p, task, bctx, bctx->has_lines && !task->ran_on ? steal_line_for(p, bctx->line) : bctx->line, enq_flags);
}

/*
 * The state of a task that is to be queued, which is counted. None if no memory was left for the state: the task then waits in the global
 * queue with all tasks without state.
 */
static __always_inline struct task_ctx *base_task_to_queue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = task_of(p);

	count(TANDEM_STAT_BASE_QUEUED);
	if (!tctx)
		dsq_insert(p, SCX_DSQ_GLOBAL, SLICE_MOST, enq_flags);
	return tctx;
}

static void base_enqueue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = base_task_to_queue(p, enq_flags);

	if (!tctx)
		return;
	base_enqueue_task(p, &tctx->base, enq_flags);
	tctx->base.ran_on = false;
}

#endif /* __TANDEM_BASE_ENQUEUE_H */
