/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues of serial_first and longest: a CPU takes tasks from these before its line, or, if the tasks have to step back, after it.
 *
 * In these queues tasks of all lines wait by one clock, that of the fastest CPU's line.
 */
#ifndef __TANDEM_MECHANISMS_RANKED_H
#define __TANDEM_MECHANISMS_RANKED_H

#include "ask.bpf.h"
#include "../base/dispatch.bpf.h"
#include "../base/enqueue.bpf.h"
#include "../base/running.bpf.h"
#include "../sorted/sorted.bpf.h"

enum {
	/* How far in virtual time long threads may be ahead of those in a line, ns. Fast CPUs prefer long threads up to this lead. */
	RANKED_LEAD_NS = 5 * SLICE_NS,
	/* The farthest that a place is ahead of the clock, ns. */
	RANKED_MOST_NS = 10 * SLICE_NS,
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
static __noinline void ranked_insert(struct task_struct *p, struct base_task *task, u32 queue, u64 enq_flags)
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

/* By how much a place in one of these queues is after a place in a line, ns of virtual time. */
static __always_inline s64 ranked_after(u64 place, u64 in_line, u32 number)
{
	return (s64)(place - line_at(common_line)->vtime) - (s64)(in_line - line_at(number)->vtime);
}

/* Gives a CPU a long thread if the CPU is fast, or if the long threads have waited for long. */
static __noinline int ranked_take_long(struct base_cpu *bctx)
{
	u64 first, in_line;
	s64 after;

	if (!waiting_first(bctx->number, QUEUE_LONG, &first))
		return false;
	if (sorted_first(bctx, &in_line)) {
		after = ranked_after(first, in_line, bctx->line);
		if (after > (bctx->kind ? -(s64)RANKED_LEAD_NS : (s64)RANKED_LEAD_NS))
			return false;
	} else if (bctx->kind) {
		return false;
	}
	return dsq_move_to_local(QUEUE_LONG);
}

/* Lets a long thread go on on a fast CPU while tasks wait in the line, if these are due before it by no more than its lead. */
static __noinline int ranked_keeps_long(struct task_struct *prev, struct base_cpu *bctx)
{
	struct line *line = line_at(bctx->line);
	struct base_task *task;
	u64 first;

	if (bctx->kind || !cpu_of(bctx->number)->longest.is_long || !sorted_first(bctx, &first))
		return false;
	task = base_could_go_on(prev, bctx, line);
	if (!task || vtime_before(first + RANKED_LEAD_NS, task->vtime + task->request))
		return false;
	base_goes_on(prev, task, bctx, first);
	return true;
}

static __always_inline bool ranked_dispatch_long(struct task_struct *prev, struct base_cpu *bctx)
{
	return (scx_bpf_dsq_nr_queued(QUEUE_LONG) && ranked_take_long(bctx)) || ranked_keeps_long(prev, bctx);
}

/* Gives a CPU a task that has stepped back, as no other task wants the CPU. */
static __always_inline bool ranked_dispatch_rest(void)
{
	if (active & LONGEST && dsq_move_to_local(QUEUE_LONG))
		return true;
	return active & SERIAL && (dsq_move_to_local(QUEUE_JUNIOR) || dsq_move_to_local(QUEUE_SERIAL));
}

/* Notes whether a CPU runs a serial phase. Tasks that wait in its line have no turn there while it does. */
static __always_inline void ranked_hold(struct base_cpu *bctx, bool held)
{
	if (bctx->held == held)
		return;
	bctx->held = held;
	__sync_fetch_and_add(&line_at(bctx->line)->nr_held, held ? 1 : -1);
}

/*
 * The farthest that the clock of a CPU's line may advance while a serial phase runs out of its turn: other lines owe a turn to the tasks
 * that wait in this line.
 */
static __always_inline u64 ranked_latest(struct base_cpu *bctx, u64 reached)
{
	u64 first;

	return scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line) && waiting_first(bctx->number, QUEUE_LINE | bctx->line, &first) ? first : reached;
}

/* A serial phase begins to run. */
static __noinline int ranked_holds_clock(struct base_cpu *bctx, struct base_task *task)
{
	bctx->deadline = ranked_latest(bctx, task->vtime);
	bctx->took = true;
	return 0;
}

/* Charges a serial phase for its run time. It has run out of its turn, and owes for that no more than sleep saves up. */
static __noinline int ranked_charge(struct task_struct *p, struct base_cpu *bctx)
{
	struct task_ctx *tctx = task_of(p);
	struct line *line = line_at(bctx->line);

	if (!tctx)
		return 0;
	tctx->base.ran = line_run(&tctx->base, vclock_charge(p, &tctx->base));
	line_advance(&tctx->base, line, ranked_latest(bctx, tctx->base.vtime));
	vclock_bound(&tctx->base, bctx);
	return 0;
}

/*
 * A junior gives way whatever the deadlines, and so does a serial phase that has had its share; returns whether a task takes the CPU. On
 * equal CPUs a junior gives way to the tasks of any line, as seniors wait where they ran last.
 */
static __noinline int ranked_gives_way(struct cpu_ctx *cctx, struct base_cpu *bctx)
{
	if (dsq_move_to_local(QUEUE_LINE | bctx->line))
		return true;
	return cctx->rank == RANK_JUNIOR && nr_kinds < 2 && bctx->has_lines && steal_from_lines(bctx);
}

/* Gives a CPU a task that goes before its line; returns whether there was one. */
static bool ranked_dispatch(struct task_struct *prev, struct cpu_ctx *cctx, struct base_cpu *bctx)
{
	u32 cpu = bctx->number;

	if (!cctx->isolate.takes_applications)
		return false;
	/* Pinned tasks compete by deadline with any task, as in the base. */
	if (is_queued(prev) && (bctx->wanted_by || bctx->has_pinned))
		return false;
	if (is_on(LONGEST) && locks_dispatch(cctx))
		return true;
	if (is_on(SERIAL) && serial_dispatch(cpu, prev)) {
		if (is_queued(prev) && cctx->rank == RANK_SERIAL)
			ranked_charge(prev, bctx);
		return true;
	}
	ranked_hold(bctx, cctx->rank == RANK_SERIAL && is_queued(prev));
	if (is_on(LONGEST) && ranked_dispatch_long(prev, bctx))
		return true;
	/* Without a senior there are no juniors. Threads that still wait as juniors have waited for longest. */
	if (active & SERIAL && !senior && dsq_move_to_local(QUEUE_JUNIOR))
		return true;
	if (is_queued(prev))
		return active & SERIAL && cctx->rank != RANK_NORMAL && ranked_gives_way(cctx, bctx);
	return !bctx->has_pinned && !scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line) && !sorted_waits(cpu) && ranked_dispatch_rest();
}

/* How many tasks in these queues want a CPU even if its running task is alone in its line. */
static __always_inline u32 ranked_waiting(u32 on)
{
	u32 waiting = 0;

	if (on & LONGEST)
		waiting += scx_bpf_dsq_nr_queued(QUEUE_LONG) + scx_bpf_dsq_nr_queued(QUEUE_TURN);
	if (on & SERIAL)
		waiting += scx_bpf_dsq_nr_queued(QUEUE_SERIAL) + (senior ? 0 : scx_bpf_dsq_nr_queued(QUEUE_JUNIOR));
	return waiting;
}

/*
 * Whether a tick leaves the running task alone: a serial phase has paid for its slice, and only a task that may run nowhere else ends
 * that.
 */
static __always_inline bool ranked_stays(struct cpu_ctx *cctx, struct base_cpu *bctx, u32 on)
{
	return on & SERIAL && cctx->rank == RANK_SERIAL && !bctx->has_pinned && !scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL);
}

/* Notes facts of a ranked task that begins to run, for other CPUs. */
static __always_inline void ranked_running(struct task_struct *p, struct task_ctx *tctx, enum rank rank, struct base_cpu *bctx,
					   u32 on)
{
	struct cpu_ctx *cctx = cpu_runs(p, tctx);

	cctx->rank = rank;
	if (on & SERIAL && rank != RANK_SERIAL && !tctx->serial.light)
		levels_running(cctx, &tctx->base);
	if (on & LONGEST)
		longest_running(p, tctx, cctx);
	if (rank == RANK_SERIAL || cctx->longest.is_long) {
		/* Serial phases take turns with each other (faster_keeps). */
		bctx->keeps = !serial_turns || cctx->longest.is_long || !may_run_everywhere(p);
		/* An idle faster CPU takes the thread, however little the thread has run. */
		if (bctx->kind && !bctx->misfit)
			util_change_misfit(bctx, true);
	}
	ranked_hold(bctx, rank == RANK_SERIAL);
	if (rank == RANK_SERIAL)
		bctx->deadline -= SERIAL_FIRST_NS;
}

/* A task stops: it is charged by its rank. */
static __always_inline void ranked_stopping(struct task_struct *p, struct task_ctx *tctx, struct cpu_ctx *cctx, u64 ran, u32 on)
{
	if (on & SERIAL && senior)
		tctx->base.vtime -= weight_charge(&tctx->base, ran - seniority_charge(p, ran));
	if (on & LONGEST)
		longest_stopping(p, tctx, ran);
	if (on & SERIAL)
		serial_stopping(tctx, cctx, ran);
}

#endif /* __TANDEM_MECHANISMS_RANKED_H */
