/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may run on one CPU only: how those that share a CPU stand to each other, and to what waits in its line.
 *
 * All of them together may have more work than the CPU has time, and fall behind their line's clock for good. To bound each by what sleep
 * saves up for it alone would turn their order around: the less weight, the more that is. So the CPU has an offset from its line's clock,
 * and where one would be bounded, though it has not slept, all of them move.
 */
#ifndef __TANDEM_QUEUES_PINNED_H
#define __TANDEM_QUEUES_PINNED_H

#include "line.bpf.h"

/* Whether anything else that may run nowhere else waits for a CPU, or runs there. */
static __always_inline bool pinned_has_company(struct queues_cpu *cctx)
{
	return cctx->has_pinned || cctx->runs_pinned;
}

/* Takes a task to its CPU, or brings up to date where it stands there. Whether it was there before. */
static __always_inline bool pinned_enter(struct queues_task *task, struct queues_cpu *cctx)
{
	u32 on = cctx->number + 1;
	bool known = task->pinned_on == on;

	line_enter(task, cctx->line);
	if (known)
		task->vtime += cctx->pinned_moved - task->pinned_moved;
	task->pinned_on = on;
	task->pinned_moved = cctx->pinned_moved;
	return known;
}

/* Bounds what a task that is to wait for its CPU is behind or ahead: with all others there, if it has been there and has not slept. */
static __noinline int pinned_bound(struct queues_task *task, struct queues_cpu *cctx)
{
	bool known = pinned_enter(task, cctx);
	u64 before = task->vtime;

	if (!known || !task->ran_on) {
		if (pinned_has_company(cctx))
			line_bound_by(task, cctx->pinned_vtime + cctx->pinned_moved);
		else
			line_bound(task, line_at(cctx->line));
		return 0;
	}
	line_bound(task, line_at(cctx->line));
	cctx->pinned_moved += task->vtime - before;
	task->pinned_moved = cctx->pinned_moved;
	return 0;
}

/* The place by which a task waits for its CPU: others there may move meanwhile, and it with them. */
static __always_inline u64 pinned_place(u64 place, struct queues_cpu *cctx)
{
	return place - cctx->pinned_moved;
}

/* Such a place as one in the CPU's line. */
static __always_inline u64 pinned_place_in_line(u64 place, struct queues_cpu *cctx)
{
	return place + cctx->pinned_moved;
}

/* The clock of what may run here only is at what runs. */
static __always_inline void pinned_goes_on(struct queues_task *task, struct queues_cpu *cctx)
{
	if (cctx->runs_pinned)
		cctx->pinned_vtime = pinned_place(task->vtime, cctx);
}

/* One begins to run. While others wait for the CPU, too, it keeps what it is behind its line. */
static __noinline int pinned_begin(struct queues_task *task, struct queues_cpu *cctx, u64 latest)
{
	struct line *line = line_at(cctx->line);
	u64 place;

	pinned_enter(task, cctx);
	if (!cctx->has_pinned || vtime_before(*line_clock(task, line), task->vtime))
		line_begin(task, line, latest);
	place = pinned_place(task->vtime, cctx);
	if (!cctx->has_pinned || vtime_before(cctx->pinned_vtime, place))
		cctx->pinned_vtime = place;
	return 0;
}

#endif /* __TANDEM_QUEUES_PINNED_H */
