/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a tick does: the clock follows what runs, and a slice ends when something waits or what runs is to change its place.
 */
#ifndef __TANDEM_BASE_TICK_H
#define __TANDEM_BASE_TICK_H

#include "dispatch.bpf.h"
#include "../place/pressure.bpf.h"

enum {
	/* What has run for less is not late, ns. */
	QUEUES_LATE_NS = 4 * NSEC_PER_MSEC,
};

/* Whether a mechanism has said what others are to know of what runs (mechanisms/ranked.bpf.h). */
static __always_inline bool base_ranks(u32 cpu)
{
	return active & (SERIAL | LONGEST) && (cpu_of(cpu)->rank == RANK_SERIAL || cpu_of(cpu)->longest.is_long);
}

/*
 * Whether what was put on a slower CPU because it costs less there has run for one and a half times as long as it does in the mean: it is
 * late, and a faster CPU is to have it, unless it is clamped. Where clocks follow utilisation, the clock rises instead, which costs less.
 */
static __always_inline bool base_runs_late(struct task_struct *p, struct base_task *task, struct base_cpu *bctx)
{
	u32 ran;

	if (!bctx->kind || cpuperf || task->util_most || !by_energy())
		return false;
	ran = line_run(task, p->se.sum_exec_runtime - task->charged);
	return ran > QUEUES_LATE_NS && ran > task->burst + task->burst / 2;
}

/* What runs for long changes what its CPU is asked for. */
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
	/* Again, too: schedutil ignores what follows a change of its clock too closely (rate_limit_us), and does not come back to it. */
	if (bctx->has_clock)
		util_ask_again(bctx, util_wanted(&tctx->base, bctx, util));
}

/* Whether what runs on a CPU that is too slow for it, or slowed down, is to go to another one. */
static __always_inline bool base_goes_up(struct task_struct *p, struct base_cpu *bctx)
{
	if (bctx->misfit && ((!idle_none() && faster_go_up(bctx->number)) || faster_take(bctx->number)))
		return true;
	return bctx->slowed && faster_leave_slowed(p, bctx->number);
}

/* Whether what runs is to go to another CPU, while nothing waits. */
static __always_inline bool base_changes_place(struct task_struct *p, struct base_cpu *bctx)
{
	if (bctx->lags && base_goes_up(p, bctx))
		return true;
	return bctx->sibling != NO_SIBLING && p->se.sum_exec_runtime - bctx->charged >= SHARE_NS && faster_leave_core(p, bctx->number);
}

/*
 * How much waits at a tick: in the line, and what was put on this CPU as it seemed idle, and something else began there in between. Nobody
 * else can take that: what runs does not stay.
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
