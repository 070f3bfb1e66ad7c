/* SPDX-License-Identifier: GPL-2.0-only */
/* Weights, as in the fair class. */
#ifndef __TANDEM_QUEUES_WEIGHT_H
#define __TANDEM_QUEUES_WEIGHT_H

#include "cgroups.bpf.h"

enum {
	/* kernel/sched/sched.h: NICE_0_LOAD, WEIGHT_IDLEPRIO. */
	WEIGHT_NICE_0 = 1024,
	WEIGHT_IDLE = 3,
	NR_NICES = 40,
	WEIGHT_SHIFT = 16,
	/* The pace of a quarter of nice 0's weight. A task with a higher pace weighs little. */
	LIGHT_PACE = 4 << WEIGHT_SHIFT,
	/* A task's slice where others wait, ns: the most, which the tasks waiting for a CPU share, and the least. */
	SLICE_MOST = 4 * NSEC_PER_MSEC,
	SLICE_LEAST = NSEC_PER_MSEC / 2,
	/* A task goes on for this long at most without a look at waiting tasks, ns. */
	STAYS_NS = 20 * NSEC_PER_MSEC,
	/* A task's slice where no other task waits, ns. If one comes, a tick ends the slice sooner. */
	SLICE_LONE = 20 * NSEC_PER_MSEC,
	/*
	 * A task that waits after its turn has a slice shorter by 1 and this fraction of its leeway. A task that woke has a slice longer
	 * by as much, without the 1. A CPU that looks at a queue tells both by the slice.
	 */
	LEEWAY_SHIFT = 10,
	/*
	 * The most that sleep saves up, and the farthest that a deadline is away, ns for nice 0: chosen on the choosing half
	 * (docs/base.md).
	 */
	CREDIT_NS = 40 * NSEC_PER_MSEC,
	REQUEST_MOST = 8 * NSEC_PER_MSEC,
};

/* Weight by nice value, from -20: kernel/sched/core.c, sched_prio_to_weight. */
static const u32 nice_weights[NR_NICES] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
	110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
};

/* How many tasks are of the idle class. While there are none, CPUs do not look for them. */
s32 nr_idle_class;

/* A task becomes one of the idle class, or ceases to be one. */
static __noinline void weight_change_class(struct base_task *task, bool idles)
{
	task->idles = idles;
	__sync_fetch_and_add(&nr_idle_class, idles ? 1 : -1);
}

/* Sets the most that sleep saves up. A task's leeway is half of that, the virtual time of 20 ms of its work (waiting.bpf.h). */
static __always_inline void weight_set_credit(struct base_task *task, u64 credit)
{
	u64 less = credit >> (1 + LEEWAY_SHIFT);

	task->credit = credit;
	task->slice = SLICE_LONE - 1 - (less < SLICE_LONE / 2 ? less : SLICE_LONE / 2);
}

/* The slice of a task that woke and waits: longer than any other, by an amount that tells its leeway. */
static __always_inline u32 weight_woken_slice(struct base_task *task)
{
	return SLICE_LONE + (SLICE_LONE - 1 - task->slice);
}

/* Notes a task's weight. scx.weight would be too coarse: it is a whole number of percent, and 1 for each nice value from 17 on. */
static void weight_note(struct task_struct *p, struct base_task *task)
{
	u32 nice = p->static_prio - MAX_RT_PRIO;
	/*
	 * In a group, SCHED_IDLE counts among the group's tasks only; for a task confined to one CPU, among that CPU's waiting tasks
	 * only. In both cases the task counts by its weight. To the fair class, too, SCHED_IDLE is only a weight, but for preemption.
	 */
	bool idles = p->policy == SCHED_IDLE && !task->cgroup && p->nr_cpus_allowed > 1;

	if (idles != task->idles)
		weight_change_class(task, idles);
	task->weight = p->policy == SCHED_IDLE ? WEIGHT_IDLE : nice < NR_NICES ? nice_weights[nice] : WEIGHT_NICE_0;
	task->pace = (WEIGHT_NICE_0 << WEIGHT_SHIFT) / task->weight;
	weight_set_credit(task, ((u64)CREDIT_NS * task->pace) >> WEIGHT_SHIFT);
}

/* A task's weight with the share of its control group, 1024 for nice 0 in the root group: the credit is in inverse proportion to it. */
static __always_inline u32 weight_with_group(struct base_task *task)
{
	u64 weight = (u64)CREDIT_NS * WEIGHT_NICE_0 / (task->credit ?: CREDIT_NS);

	return weight ?: 1;
}

/* The virtual time of @ns of a task's work. */
static __always_inline u64 weight_charge(struct base_task *task, u64 ns)
{
	u64 charge = (ns * task->pace) >> WEIGHT_SHIFT;

	return task->cgroup ? cgroup_charge(task->cgroup, charge) : charge;
}

/* The request and the credit of a task in a group, whose share may have changed. */
static __noinline void weight_request_in_group(struct base_task *task, u32 burst)
{
	task->request = weight_charge(task, burst);
	weight_set_credit(task, weight_charge(task, CREDIT_NS));
}

/* Works out a task's request, which its deadlines are made of. */
static __always_inline void weight_request(struct base_task *task)
{
	u32 burst = task->burst < REQUEST_MOST ? task->burst : REQUEST_MOST;

	if (task->cgroup)
		weight_request_in_group(task, burst);
	else
		task->request = ((u64)burst * task->pace) >> WEIGHT_SHIFT;
}

#endif /* __TANDEM_QUEUES_WEIGHT_H */
