/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues of serial_first and longest over the base of several queues: what waits there is looked at before the CPU's line, or, what
 * has to step back, after it.
 *
 * In these queues tasks of all lines wait by one clock, that of the fastest CPU's line.
 */
#ifndef __TANDEM_RANKED_H
#define __TANDEM_RANKED_H

#include "../base/ask.bpf.h"
#include "../queues/queues.bpf.h"
#include "paired.bpf.h"

enum {
	/* How far in virtual time long threads may be ahead of those in a line, ns: fast CPUs prefer them so far and no further. */
	RANKED_LEAD_NS = LONG_LEAD * 20 * NSEC_PER_MSEC,
	/* The most that a place is ahead of the clock, ns. */
	RANKED_MOST_NS = 10 * 20 * NSEC_PER_MSEC,
};

static void ranked_init(void)
{
	s32 at;

	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];

		if (!cpu_of(cpu)->isolate.takes_applications)
			continue;
		common_line = line_of(cpu);
		break;
	}
}

/* Queues a task of a rank. */
static __noinline void ranked_insert(struct task_struct *p, struct queues_task *task, u32 queue, u64 enq_flags)
{
	struct line *line = line_at(common_line);
	u64 now, place;

	line_enter(task, common_line);
	line_bound(task, line);
	now = *line_clock(task, line);
	place = task->vtime + task->request;
	if (vtime_before(now + RANKED_MOST_NS, place))
		place = now + RANKED_MOST_NS;
	dsq_insert_vtime(p, queue, SLICE_LONE, place, enq_flags);
}

/* By how much a place in one of these queues is after one in a line, ns of virtual time. */
static __always_inline s64 ranked_after(u64 place, u64 in_line, u32 number)
{
	return (s64)(place - line_at(common_line)->vtime) - (s64)(in_line - line_at(number)->vtime);
}

/* Gives a CPU a long thread if it is fast, or if the long ones have waited for long. */
static __noinline int ranked_take_long(struct queues_cpu *cctx)
{
	u64 first, in_line;
	s64 after;

	if (!waiting_first(cctx->number, QUEUE_LONG, &first))
		return false;
	if (paired_first(cctx, &in_line)) {
		after = ranked_after(first, in_line, cctx->line);
		if (after > (cctx->kind ? -(s64)RANKED_LEAD_NS : (s64)RANKED_LEAD_NS))
			return false;
	} else if (cctx->kind) {
		return false;
	}
	return dsq_move_to_local(QUEUE_LONG);
}

/* Lets a long thread go on on a fast CPU while others wait in the line, which are due before it by no more than its lead. */
static __noinline int ranked_keeps_long(struct task_struct *prev, struct queues_cpu *cctx)
{
	struct line *line = line_at(cctx->line);
	struct queues_task *task;
	u64 first;

	if (cctx->kind || !cpu_of(cctx->number)->longest.is_long || !paired_first(cctx, &first))
		return false;
	task = queues_could_go_on(prev, cctx, line);
	if (!task || vtime_before(first + RANKED_LEAD_NS, task->vtime + task->request))
		return false;
	queues_goes_on(prev, task, cctx, first);
	return true;
}

static __always_inline bool ranked_dispatch_long(struct task_struct *prev, struct queues_cpu *cctx)
{
	return (scx_bpf_dsq_nr_queued(QUEUE_LONG) && ranked_take_long(cctx)) || ranked_keeps_long(prev, cctx);
}

/* Gives a CPU what has stepped back, as nothing else wants it. */
static __always_inline bool ranked_dispatch_rest(void)
{
	if (active & LONGEST && dsq_move_to_local(QUEUE_LONG))
		return true;
	return active & SERIAL && (dsq_move_to_local(QUEUE_JUNIOR) || dsq_move_to_local(QUEUE_SERIAL));
}

/* Notes whether a CPU runs a serial phase, so that what waits in its line has no turn there. */
static __always_inline void ranked_hold(struct queues_cpu *queues, bool held)
{
	if (queues->held == held)
		return;
	queues->held = held;
	__sync_fetch_and_add(&line_at(queues->line)->nr_held, held ? 1 : -1);
}

/* Up to where the clock of a CPU's line may go while a serial phase runs out of its turn: other lines owe one to the tasks that wait there. */
static __always_inline u64 ranked_latest(struct queues_cpu *queues, u64 reached)
{
	u64 first;

	return scx_bpf_dsq_nr_queued(QUEUE_LINE | queues->line) && waiting_first(queues->number, QUEUE_LINE | queues->line, &first) ? first : reached;
}

/* A serial phase begins to run. */
static __noinline int ranked_holds_clock(struct queues_cpu *queues, struct queues_task *task)
{
	queues->deadline = ranked_latest(queues, task->vtime);
	queues->took = true;
	return 0;
}

/* Charges a serial phase for what it has run; of what it ran out of its turn it owes no more than sleep saves up. */
static __noinline int ranked_charge(struct task_struct *p, struct queues_cpu *queues)
{
	struct task_ctx *tctx = task_of(p);
	struct line *line = line_at(queues->line);

	if (!tctx)
		return 0;
	tctx->queues.ran = line_run(&tctx->queues, clocks_charge(p, &tctx->queues));
	line_advance(&tctx->queues, line, ranked_latest(queues, tctx->queues.vtime));
	clocks_bound(&tctx->queues, queues);
	return 0;
}

/*
 * A junior gives way whatever the deadlines, and so does a serial phase that has had its share; whether something takes the CPU. On equal
 * CPUs it gives way to what waits in any line, as seniors wait where they ran last.
 */
static __noinline int ranked_gives_way(struct cpu_ctx *cctx, struct queues_cpu *queues)
{
	if (dsq_move_to_local(QUEUE_LINE | queues->line))
		return true;
	return cctx->rank == RANK_JUNIOR && nr_kinds < 2 && queues->has_lines && steal_from_lines(queues);
}

/* Gives a CPU what goes before its line; whether there was something. */
static bool ranked_dispatch(struct task_struct *prev, struct cpu_ctx *cctx, struct queues_cpu *queues)
{
	u32 cpu = queues->number;

	if (!cctx->isolate.takes_applications)
		return false;
	/* By deadline, as the base does it: what is pinned, against anything. */
	if (is_queued(prev) && (queues->wanted_by || queues->has_pinned))
		return false;
	if (is_on(LONGEST) && turns_dispatch(cctx))
		return true;
	if (is_on(SERIAL) && serial_dispatch(cpu, prev)) {
		if (is_queued(prev) && cctx->rank == RANK_SERIAL)
			ranked_charge(prev, queues);
		return true;
	}
	ranked_hold(queues, cctx->rank == RANK_SERIAL && is_queued(prev));
	if (is_on(LONGEST) && ranked_dispatch_long(prev, queues))
		return true;
	/* Without a senior there are no juniors; those that still wait as such have waited for longest. */
	if (active & SERIAL && !senior && dsq_move_to_local(QUEUE_JUNIOR))
		return true;
	if (is_queued(prev))
		return active & SERIAL && cctx->rank != RANK_NORMAL && ranked_gives_way(cctx, queues);
	return !queues->has_pinned && !scx_bpf_dsq_nr_queued(QUEUE_LINE | queues->line) && !paired_waits(cpu) && ranked_dispatch_rest();
}

/* How many wait in these queues that want a CPU even if what runs there is alone in its line. */
static __always_inline u32 ranked_waiting(u32 on)
{
	u32 waiting = 0;

	if (on & LONGEST)
		waiting += scx_bpf_dsq_nr_queued(QUEUE_LONG) + scx_bpf_dsq_nr_queued(QUEUE_TURN);
	if (on & SERIAL)
		waiting += scx_bpf_dsq_nr_queued(QUEUE_SERIAL) + (senior ? 0 : scx_bpf_dsq_nr_queued(QUEUE_JUNIOR));
	return waiting;
}

/* Whether a tick leaves what runs alone: a serial phase has paid for its slice, and only what can run nowhere else ends that. */
static __always_inline bool ranked_stays(struct cpu_ctx *cctx, struct queues_cpu *queues, u32 on)
{
	return on & SERIAL && cctx->rank == RANK_SERIAL && !queues->has_pinned && !scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL);
}

/* What others are to know of a task of a rank that begins to run. */
static __always_inline void ranked_running(struct task_struct *p, struct task_ctx *tctx, enum rank rank, struct queues_cpu *queues,
					   u32 on)
{
	struct cpu_ctx *cctx = cpu_runs(p, tctx);

	cctx->rank = rank;
	if (on & SERIAL && rank != RANK_SERIAL && !tctx->serial.light)
		levels_running(cctx, &tctx->queues);
	if (on & LONGEST)
		longest_running(p, tctx, cctx);
	if (rank == RANK_SERIAL || cctx->longest.is_long) {
		/* Serial phases take turns with each other (turns_keeps). */
		queues->keeps = !serial_turns || cctx->longest.is_long || !may_run_everywhere(p);
		/* A faster CPU that has nothing to do takes it, however little it has run. */
		if (queues->kind && !queues->misfit)
			util_change_misfit(queues, true);
	}
	ranked_hold(queues, rank == RANK_SERIAL);
	if (rank == RANK_SERIAL)
		queues->deadline -= SERIAL_FIRST_NS;
}

/* A task stops: what it is charged for is its rank's. */
static __always_inline void ranked_stopping(struct task_struct *p, struct task_ctx *tctx, struct cpu_ctx *cctx, u64 ran, u32 on)
{
	if (on & SERIAL && senior)
		tctx->queues.vtime -= weight_charge(&tctx->queues, ran - seniority_charge(p, ran));
	if (on & LONGEST)
		longest_stopping(p, tctx, ran);
	if (on & SERIAL)
		serial_stopping(tctx, cctx, ran);
}

#endif /* __TANDEM_RANKED_H */
