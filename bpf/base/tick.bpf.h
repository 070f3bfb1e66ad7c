/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work of a tick: the clock follows the running task, and a slice ends when another task waits or the running task is to change its
 * CPU.
 */
#ifndef __TANDEM_BASE_TICK_H
#define __TANDEM_BASE_TICK_H

#include "dispatch.bpf.h"
#include "../place/pressure.bpf.h"

enum {
	/* A task that has run for less than this is not late, ns. */
	QUEUES_LATE_NS = 4 * NSEC_PER_MSEC,
};

/* Whether a mechanism has told other CPUs about the running task (mechanisms/ranked.bpf.h). */
static __always_inline bool base_ranks(u32 cpu)
{
	return active & (SERIAL | LONGEST) && (cpu_of(cpu)->rank == RANK_SERIAL || cpu_of(cpu)->longest.is_long);
}

/*
 * Whether a task on a slower CPU, where it costs less, has run one and a half times as long as in the mean. If so, the task is late and a
 * faster CPU is to have it, unless the task is clamped. Where clocks follow utilisation, the clock rises instead, which costs less.
 */
static __always_inline bool base_runs_late(struct task_struct *p, struct base_task *task, struct base_cpu *bctx)
{
	u32 ran;

	if (!bctx->kind || cpuperf || task->util_most || !by_energy())
		return false;
	ran = line_run(task, p->se.sum_exec_runtime - task->charged);
	return ran > QUEUES_LATE_NS && ran > task->burst + task->burst / 2;
}

/* Updates the utilisation of a task that runs for long, and its CPU's request for a clock. */
static __noinline void base_follow(struct task_struct *p, struct base_cpu *bctx)
{
	struct task_ctx *tctx = task_of(p);
	u32 util;

	if (!tctx)
		return;
	util_ran(&tctx->base, bctx);
	util = util_of(&tctx->base);
	if (bctx->pulled && line_run(&tctx->base, p->se.sum_exec_runtime - tctx->base.charged) > PULLED_MOST_NS)
		bctx->pulled = false;
	if (base_ranks(bctx->number))
		util_note_ranked(p, bctx);
	else if (bctx->has_others)
		util_note_kind(p, base_runs_late(p, &tctx->base, bctx) ? UTIL_ONE : util_to_place(&tctx->base), bctx);
	/*
	 * Asks even if the request is the same: schedutil ignores a request that follows a change of clock too closely (rate_limit_us),
	 * and does not come back to it.
	 */
	if (bctx->has_clock)
		util_ask_again(bctx, util_wanted(&tctx->base, bctx, util));
}

/* Whether a running task whose CPU is too slow, or slowed down, is to go to another CPU. */
static __always_inline bool base_goes_up(struct task_struct *p, struct base_cpu *bctx)
{
	if (bctx->misfit && ((!idle_none() && faster_go_up(bctx->number)) || faster_take(bctx->number)))
		return true;
	return bctx->slowed && faster_leave_slowed(p, bctx->number);
}

/* Whether the running task is to go to another CPU, while no other task waits. */
static __always_inline bool base_changes_place(struct task_struct *p, struct base_cpu *bctx)
{
	if (bctx->lags && base_goes_up(p, bctx))
		return true;
	return bctx->sibling != NO_SIBLING && p->se.sum_exec_runtime - bctx->charged >= SHARE_NS && faster_leave_core(p, bctx->number);
}

/*
 * How many tasks wait at a tick. They wait in the line, or in this CPU's own queue: a task was sent here while the CPU seemed idle, and
 * another task began in between. No other CPU can take that task, so the running task does not stay.
 */
static __always_inline u32 base_count_waiting(struct base_cpu *bctx)
{
	u32 here = scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL);

	if (here)
		bctx->stays_until = 0;
	return scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line) + here;
}

/* A tick's part in clocks. */
static __always_inline void base_tick_clock(struct task_struct *p, struct base_cpu *bctx)
{
	u32 waiting = base_count_waiting(bctx);

	bctx->crowd = waiting < 0xffff ? waiting : 0xffff;
	if (bctx->shares_clock)
		util_nudge(bctx);
	if (util_rises(bctx))
		base_follow(p, bctx);
}

/* A tick's part in slices. */
static __always_inline void base_tick_slice(struct task_struct *p, struct base_cpu *bctx)
{
	struct line *line = line_at(bctx->line);
	u32 waiting = bctx->crowd;

	if (!waiting && base_changes_place(p, bctx)) {
		p->scx.slice = 0;
		return;
	}
	if (!waiting && !bctx->has_pinned && !line_idle_waits(bctx->line))
		return;
	if (bctx->has_lines)
		steal_note_owing(bctx);
	if (bctx->idles || age_is_time(bctx))
		p->scx.slice = 0;
	else if (p->se.sum_exec_runtime < bctx->stays_until && bctx->arrivals == line->arrivals && !bctx->has_pinned)
		return;
	else if ((waiting || bctx->has_pinned || base_idle_class_due(line, bctx->line)) &&
		 p->se.sum_exec_runtime - bctx->charged >= line_slice(line, waiting))
		p->scx.slice = 0;
}

static void base_tick(struct task_struct *p)
{
	struct base_cpu *bctx;

	if (!(p->se.sum_exec_runtime & PRESSURE_TICKS))
		pressure_look_here();
	bctx = base_cpu_of(bpf_get_smp_processor_id());
	base_tick_clock(p, bctx);
	base_tick_slice(p, bctx);
}

#endif /* __TANDEM_BASE_TICK_H */
