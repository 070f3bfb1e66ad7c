/* SPDX-License-Identifier: GPL-2.0-only */
/* The idle class (SCHED_IDLE): its tasks run where no other task waits, and otherwise have the share of their weight. */
#ifndef __TANDEM_BASE_IDLE_CLASS_H
#define __TANDEM_BASE_IDLE_CLASS_H

#include "../state/queue.bpf.h"
#include "../queues/line.bpf.h"
#include "../queues/vclock.bpf.h"

/*
 * Charges the idle class for one task's run time while other tasks waited (@wanted): the class weighs as much as all of its tasks
 * together. The class owes at most a slice for each CPU.
 */
static __noinline int base_charge_idle_class(struct base_cpu *bctx, u64 ran, bool wanted)
{
	struct line *line = line_at(bctx->line);
	u32 idle = scx_bpf_dsq_nr_queued(QUEUE_LINE_IDLE | bctx->line) + 1;
	u64 least = line->vtime - SLICE_MOST, most = line->vtime + (u64)SLICE_MOST * (WEIGHT_NICE_0 / WEIGHT_IDLE) * line->nr_cpus;

	if (vtime_before(line->idle_class_vtime, least))
		line->idle_class_vtime = least;
	if (wanted)
		line->idle_class_vtime += ran * (WEIGHT_NICE_0 / WEIGHT_IDLE) / idle;
	if (vtime_before(most, line->idle_class_vtime))
		line->idle_class_vtime = most;
	return 0;
}

/* Whether a task waits that the idle class keeps from running: in its line, or for its turn in a sorted queue. */
static __always_inline bool base_wanted(struct base_cpu *bctx)
{
	return scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line) > 0 || (is_on(SORTED) && nr_sorted_waiting > 0);
}

/*
 * Charges a task of the idle class that could go on. This comes before a waiting task is taken, as waiting tasks tell whether the CPU was
 * wanted.
 */
static __noinline int base_charge_idle(struct task_struct *prev, struct base_cpu *bctx)
{
	struct task_ctx *tctx = is_queued(prev) ? task_of(prev) : 0;

	if (tctx)
		base_charge_idle_class(bctx, vclock_charge(prev, &tctx->base), base_wanted(bctx));
	return 0;
}

/* Whether the idle class has had less than its share, and one of its tasks waits. */
static __always_inline bool base_idle_class_due(struct line *line, u32 number)
{
	return nr_idle_class > 0 && vtime_before(line->idle_class_vtime, line->vtime) && line_idle_waits(number);
}

#endif /* __TANDEM_BASE_IDLE_CLASS_H */
