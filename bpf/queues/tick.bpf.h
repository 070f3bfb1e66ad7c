/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a tick does: the clock follows what runs, and a slice ends when something waits or what runs is to change its place.
 */
#ifndef __TANDEM_QUEUES_TICK_H
#define __TANDEM_QUEUES_TICK_H

#include "queues.bpf.h"

enum {
	/* What has run for less is not late, ns. */
	QUEUES_LATE_NS = 4 * NSEC_PER_MSEC,
};

/* Whether a mechanism has said what others are to know of what runs (mechanisms/ranked.bpf.h). */
static __always_inline bool queues_ranks(u32 cpu)
{
	return active & (SERIAL | LONGEST) && (cpu_of(cpu)->rank == RANK_SERIAL || cpu_of(cpu)->longest.is_long);
}

/*
 * Whether what was put on a slower CPU because it costs less there has run for one and a half times as long as it does in the mean: it is
 * late, and a faster CPU is to have it, unless it is clamped. Where clocks follow utilisation, the clock rises instead, which costs less.
 */
static __always_inline bool queues_runs_late(struct task_struct *p, struct queues_task *task, struct queues_cpu *cctx)
{
	u32 ran;

	if (!cctx->kind || cpuperf || task->util_most || !by_energy())
		return false;
	ran = line_run(task, p->se.sum_exec_runtime - task->charged);
	return ran > QUEUES_LATE_NS && ran > task->burst + task->burst / 2;
}

/* What runs for long changes what its CPU is asked for. */
static __noinline void queues_follow(struct task_struct *p, struct queues_cpu *cctx)
{
	struct task_ctx *tctx = task_of(p);
	u32 util;

	if (!tctx)
		return;
	util_ran(&tctx->queues, cctx);
	util = util_of(&tctx->queues);
	if (cctx->pulled && line_run(&tctx->queues, p->se.sum_exec_runtime - tctx->queues.charged) > PULLED_MOST_NS)
		cctx->pulled = false;
	if (queues_ranks(cctx->number))
		util_note_ranked(p, cctx);
	else if (cctx->has_others)
		util_note_kind(p, queues_runs_late(p, &tctx->queues, cctx) ? UTIL_ONE : util_to_place(&tctx->queues), cctx);
	/* Again, too: schedutil ignores what follows a change of its clock too closely (rate_limit_us), and does not come back to it. */
	if (cctx->has_clock)
		util_ask_again(cctx, util_wanted(&tctx->queues, cctx, util));
}

/* Whether what runs on a CPU that is too slow for it, or slowed down, is to go to another one. */
static __always_inline bool queues_goes_up(struct task_struct *p, struct queues_cpu *cctx)
{
	if (cctx->misfit && ((!idle_none() && turns_go_up(cctx->number)) || turns_take(cctx->number)))
		return true;
	return cctx->slowed && turns_leave_slowed(p, cctx->number);
}

/* Whether what runs is to go to another CPU, while nothing waits. */
static __always_inline bool queues_changes_place(struct task_struct *p, struct queues_cpu *cctx)
{
	if (cctx->lags && queues_goes_up(p, cctx))
		return true;
	return cctx->sibling != NO_SIBLING && p->se.sum_exec_runtime - cctx->charged >= SHARE_NS && turns_leave_core(p, cctx->number);
}

/*
 * How much waits at a tick: in the line, and what was put on this CPU as it seemed idle, and something else began there in between. Nobody
 * else can take that: what runs does not stay.
 */
static __always_inline u32 queues_count_waiting(struct queues_cpu *cctx)
{
	u32 here = scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL);

	if (here)
		cctx->stays_until = 0;
	return scx_bpf_dsq_nr_queued(QUEUE_LINE | cctx->line) + here;
}

/* A tick's part in clocks. */
static __always_inline void queues_tick_clock(struct task_struct *p, struct queues_cpu *cctx)
{
	u32 waiting = queues_count_waiting(cctx);

	cctx->crowd = waiting < 0xffff ? waiting : 0xffff;
	if (cctx->shares_clock)
		util_nudge(cctx);
	if (util_rises(cctx))
		queues_follow(p, cctx);
}

/* A tick's part in slices. */
static __always_inline void queues_tick_slice(struct task_struct *p, struct queues_cpu *cctx)
{
	struct line *line = line_at(cctx->line);
	u32 waiting = cctx->crowd;

	if (!waiting && queues_changes_place(p, cctx)) {
		p->scx.slice = 0;
		return;
	}
	if (!waiting && !cctx->has_pinned && !line_idle_waits(cctx->line))
		return;
	if (cctx->has_lines)
		steal_note_owing(cctx);
	if (cctx->idles || age_is_time(cctx))
		p->scx.slice = 0;
	else if (p->se.sum_exec_runtime < cctx->stays_until && cctx->arrivals == line->arrivals && !cctx->has_pinned)
		return;
	else if ((waiting || cctx->has_pinned || queues_idle_class_due(line, cctx->line)) &&
		 p->se.sum_exec_runtime - cctx->charged >= line_slice(line, waiting))
		p->scx.slice = 0;
}

static void queues_tick(struct task_struct *p)
{
	struct queues_cpu *cctx;

	if (!(p->se.sum_exec_runtime & PRESSURE_TICKS))
		pressure_look_here();
	cctx = queues_cpu_of(bpf_get_smp_processor_id());
	queues_tick_clock(p, cctx);
	queues_tick_slice(p, cctx);
}

#endif /* __TANDEM_QUEUES_TICK_H */
