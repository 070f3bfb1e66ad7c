/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks of sets of CPUs. They order tasks that may run on some CPUs only, among each other and among all other tasks of their line.
 *
 * All tasks of a set may have more work than its CPUs have time, and fall behind their line's clock for good. A bound on each task by its
 * own sleep's savings would reverse their order, as a task of less weight may save up more. So a set has a clock, and that clock bounds
 * its tasks. The distance between a set's clock and its line's clock is bounded, too: the greater it is, the more virtual time work
 * costs, for all tasks of the set alike. So the tasks keep their order among themselves, and their order to tasks of other sets that wait
 * for the same CPUs.
 */
#ifndef __TANDEM_QUEUES_VCLOCK_H
#define __TANDEM_QUEUES_VCLOCK_H

#include "line.bpf.h"

enum {
	/*
	 * Up to this distance, ns, work costs as much as elsewhere. Beyond it the price doubles for every 2^CLOCKS_SHIFT ns. A shorter
	 * step brings sets nearer to their line's clock, but changes the price between two turns of a task of little weight.
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
 * Updates how far a set is behind its line's clock. The distance is a mean over some turns, as a task of little weight takes either clock
 * far ahead. If two CPUs update it at once, the next charge makes up for the lost step.
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

/* Charges a task for its run time since the last charge; returns that time, ns. */
static __always_inline u64 vclock_charge(struct task_struct *p, struct base_task *task)
{
	u64 total = p->se.sum_exec_runtime, ran = total - task->charged, charge = weight_charge(task, ran);

	task->charged = total;
	task->vtime += task->set && !task->idles ? vclock_charge_in_set(task, charge) : charge;
	return ran;
}

/*
 * The clock that bounds a task of a set: the set's clock. A task that wakes cannot rely on it, as all other tasks of the set may have
 * slept for long. That task goes by its CPU's running task, or, if the CPU is idle, by the line's clock.
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

/* Bounds how far a task that is to wait, and whose last CPU is @bctx, is behind or ahead. */
static __always_inline void vclock_bound(struct base_task *task, struct base_cpu *bctx)
{
	if (task->set && !task->idles)
		vclock_bound_in_set(task, bctx);
	else
		line_bound(task, line_at(task->line));
}

/* Does the same as line_begin, by the clock of a task's set. The line's clock advances with it. */
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

/* A task begins to run, or goes on: advances its clocks, or bounds how far the task is behind. @alone: the CPU was idle before. */
static __always_inline void vclock_begin(struct base_task *task, struct line *line, bool alone, u64 latest)
{
	if (alone || !task->set || task->idles)
		line_begin(task, line, latest);
	if (task->set && !task->idles)
		vclock_begin_in_set(task, line, latest);
}

#endif /* __TANDEM_QUEUES_VCLOCK_H */
