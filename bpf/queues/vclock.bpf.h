/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks of sets of CPUs: how tasks that may run on some CPUs only stand to each other, and to all others in their line.
 *
 * All tasks of a set may have more work than its CPUs have time, and fall behind their line's clock for good. To bound each by what its own
 * sleep saves up would turn their order around, as a task saves up the more the less it weighs. So a set has a clock, and bounds its tasks
 * by that. The distance between a set's clock and its line's is bounded, too: work costs more the greater that is, for all tasks of the set
 * alike. So they keep their order among themselves, and to tasks of other sets that wait for the same CPUs.
 */
#ifndef __TANDEM_QUEUES_VCLOCK_H
#define __TANDEM_QUEUES_VCLOCK_H

#include "line.bpf.h"

enum {
	/*
	 * Work costs as much as elsewhere up to this distance, ns, and from there on twice as much for every 2^CLOCKS_SHIFT ns. A shorter
	 * step brings sets nearer to their line's clock, but then the price changes between two turns of a task that weighs little.
	 */
	CLOCKS_NEAR = 64 * NSEC_PER_MSEC,
	CLOCKS_SHIFT = 31,
	/* The distance is a mean that goes 1/2^CLOCKS_MEAN of the way with each charge. */
	CLOCKS_MEAN = 4,
	/* How often the price doubles at most. */
	CLOCKS_MOST = 16,
};

/* The price of work that costs @charge elsewhere, in a set that is @far ns beyond CLOCKS_NEAR. */
static __noinline u64 vclock_price(u64 charge, u64 far)
{
	u64 doubled = far >> CLOCKS_SHIFT, part = (far >> (CLOCKS_SHIFT - 10)) & 1023;

	if (doubled >= CLOCKS_MOST)
		return charge << CLOCKS_MOST;
	return (charge + (charge * part >> 10)) << doubled;
}

/* The price in a task's own set. */
static __always_inline u64 vclock_cost(struct base_task *task, u64 charge)
{
	u64 far = set_of(task)->far;

	return far ? vclock_price(charge, far) : charge;
}

/*
 * Notes how far a set is behind its line's clock, in the mean over some turns: a task that weighs little takes either clock far ahead. Two
 * CPUs may do so at once, and the next charge makes up for what is lost.
 */
static __noinline u64 vclock_charge_in_set(struct base_task *task, u64 charge)
{
	struct cpus_set *set = set_of(task);
	s64 far = line_at(task->line)->vtime - set->vtime - CLOCKS_NEAR;

	set->far -= set->far >> CLOCKS_MEAN;
	if (far > 0)
		set->far += far >> CLOCKS_MEAN;
	return vclock_cost(task, charge);
}

/* Charges a task for what it has run since it was last charged; how much that is, ns. */
static __always_inline u64 vclock_charge(struct task_struct *p, struct base_task *task)
{
	u64 total = p->se.sum_exec_runtime, ran = total - task->charged, charge = weight_charge(task, ran);

	task->charged = total;
	task->vtime += task->set && !task->idles ? vclock_charge_in_set(task, charge) : charge;
	return ran;
}

/*
 * The clock that bounds a task of a set: its set's. All others of the set may have slept for long, and then that means nothing to one that
 * wakes: it goes by what runs on its CPU, or, where nothing does, by the line's clock.
 */
static __always_inline u64 vclock_at(struct base_task *task, struct base_cpu *bctx)
{
	u64 at = set_of(task)->vtime;

	if (task->ran_on)
		return at;
	if (!bctx->deadline)
		return line_at(task->line)->vtime;
	return vtime_before(at, bctx->deadline) ? bctx->deadline : at;
}

static __noinline int vclock_bound_in_set(struct base_task *task, struct base_cpu *bctx)
{
	line_bound_by(task, vclock_at(task, bctx), vclock_cost(task, task->credit));
	return 0;
}

/* Bounds what a task is behind or ahead that is to wait, and whose last CPU is @cctx. */
static __always_inline void vclock_bound(struct base_task *task, struct base_cpu *bctx)
{
	if (task->set && !task->idles)
		vclock_bound_in_set(task, bctx);
	else
		line_bound(task, line_at(task->line));
}

/* What line_begin does, by the clock of a task's set; the line's clock goes forward with it. */
static __noinline int vclock_begin_in_set(struct base_task *task, struct line *line, u64 latest)
{
	struct cpus_set *set = set_of(task);
	u64 reached = vtime_before(latest, task->vtime) ? latest : task->vtime, least = set->vtime - vclock_cost(task, task->credit);

	if (vtime_before(set->vtime, reached))
		set->vtime = reached;
	else if (vtime_before(task->vtime, least))
		task->vtime = least;
	if (vtime_before(line->vtime, reached))
		line->vtime = reached;
	return 0;
}

/* A task begins to run, or goes on: its clocks go forward, or what it is behind is bounded. @alone: nothing ran on its CPU before. */
static __always_inline void vclock_begin(struct base_task *task, struct line *line, bool alone, u64 latest)
{
	if (alone || !task->set || task->idles)
		line_begin(task, line, latest);
	if (task->set && !task->idles)
		vclock_begin_in_set(task, line, latest);
}

#endif /* __TANDEM_QUEUES_VCLOCK_H */
