/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups that come and go, and their limits (cpu.max): the CPU time that a group may use in each period, and the time left.
 *
 * The kernel reports limits since Linux 6.17 (ops.cgroup_set_bandwidth). Before that a tick reads the limits of the fair class
 * (task_group.cfs_bandwidth). A limit then holds from the first tick in which a task of the group runs.
 *
 * A running task is charged at ticks and when it stops. So a group may exceed its quota by a tick on each CPU; the next periods have less
 * by as much. The fair class hands out 5 ms at a time (sched_cfs_bandwidth_slice) and is as inexact. held.bpf.h has the tasks that wait
 * for a period.
 */
#ifndef __TANDEM_QUEUES_LIMITS_H
#define __TANDEM_QUEUES_LIMITS_H

#include "cgroups.bpf.h"

enum {
	/*
	 * The most time that a group owes makes it wait this long, ns: after 30 s the kernel would take its tasks for stalled. On many
	 * CPUs tiny quotas are exceeded by more than that.
	 */
	LIMIT_OWES_NS = 5ULL * NSEC_PER_SEC,
	/* If the last charge is longer ago than this, the time since then is not charged, ns. */
	LIMIT_RAN_MOST_NS = NSEC_PER_SEC,
	/* After this many periods the unused time has filled all room. */
	LIMIT_PERIODS_MOST = 1024,
};

struct cgroup_limit {
	/* CPU time in each period, and the period, ns. A quota of 0: there is no limit. */
	u64 quota;
	u64 period;
	/*
	 * The most time that a period may begin with, including unused time of earlier periods (cpu.max.burst); the most time that the
	 * group may owe, ns.
	 */
	s64 most;
	s64 owes;
	/* The end of this period, and the time left in it, ns. CPUs change both at the same time. */
	u64 until;
	s64 left;
} __attribute__((aligned(64)));

struct cgroup_limit cgroup_limits[MAX_CGROUPS];
s32 nr_limits;
/* How often the number of limits has risen from 0. While there are no limits, CPUs do not note charges. */
u32 limits_since;

/* The kernel's quota for a group without a limit (RUNTIME_INF), also where the kernel passes the quota in microseconds. */
#define LIMIT_NONE (~0ULL)

static __always_inline struct cgroup_limit *limit_at(u32 number)
{
	return &cgroup_limits[number & (MAX_CGROUPS - 1)];
}

/* Notes that there is one limit more, or one less. */
static void limit_note(s32 change)
{
	s32 before = __sync_fetch_and_add(&nr_limits, change);

	if (before == 0)
		__sync_fetch_and_add(&limits_since, 1);
	if (before + change > 0)
		__sync_fetch_and_or(&active, LIMITS);
	else
		__sync_fetch_and_and(&active, ~LIMITS);
}

/*
 * A random length of a group's first period, ns, as in the kernel (init_cfs_bandwidth). Otherwise groups that were made together would be
 * released together: all would want the fastest CPUs at once, and leave them idle for the rest of the period. Periods that are spread
 * evenly give a little more work on few fast CPUs, but keep a package awake for longest: 8 % more energy on smp-8.
 */
static __always_inline u64 limit_first_period(u64 period)
{
	return period * bpf_get_prandom_u32() >> 32;
}

/* Sets a group's limit, ns. CPUs may find a new limit at the same time: one of them begins the period. */
static __noinline void limit_set(u32 number, u64 quota, u64 period, u64 burst)
{
	struct cgroup_limit *limit = limit_at(number);
	u64 before = limit->quota;

	if (quota == LIMIT_NONE || !period)
		quota = 0;
	if (quota == before && (!quota || (period == limit->period && quota + burst == limit->most)))
		return;
	limit->period = period;
	limit->most = quota + burst;
	limit->owes = quota * (LIMIT_OWES_NS / (period ?: 1) + 1);
	limit->left = quota;
	limit->until = bpf_ktime_get_ns() + limit_first_period(period);
	if (__sync_val_compare_and_swap(&limit->quota, before, quota) == before && !quota != !before)
		limit_note(quota ? 1 : -1);
}

/* Reads the limits of a task's group and of its ancestors, where the kernel does not report limits. */
static __noinline void limits_read(struct task_struct *p, u32 number)
{
	struct task_group *group;
	s32 step;

	if (ops_has_cgroup_set_bandwidth || !bpf_core_field_exists(p->sched_task_group) ||
	    !bpf_core_type_exists(struct cfs_bandwidth))
		return;
	group = p->sched_task_group;
	for_range(step, 0, MAX_CGROUP_DEPTH) {
		if (!number || !group)
			break;
		limit_set(number, group->cfs_bandwidth.quota, group->cfs_bandwidth.period, group->cfs_bandwidth.burst);
		group = group->parent;
		number = cgroup_at(number)->parent;
	}
}

/* Begins a new period if the last one is over. Unused time is kept up to `most`. */
static __always_inline void limit_refill(struct cgroup_limit *limit, u64 now)
{
	u64 until = limit->until, periods;
	s64 room, more;

	if (vtime_before(now, until))
		return;
	periods = (now - until) / (limit->period ?: 1) + 1;
	if (__sync_val_compare_and_swap(&limit->until, until, until + periods * limit->period) != until)
		return;
	room = limit->most - limit->left;
	more = periods < LIMIT_PERIODS_MOST ? periods * limit->quota : room;
	__sync_fetch_and_add(&limit->left, more < room ? more : room);
}

/*
 * The end of the period that a group has to wait for because the group or an ancestor has used up its quota, ns; 0: the group need not
 * wait. The function is not static, so that the verifier follows it once.
 */
__noinline u64 limit_until(u32 number, u64 now)
{
	u64 latest = 0;
	s32 step;

	for_range(step, 0, MAX_CGROUP_DEPTH) {
		struct cgroup_limit *limit = limit_at(number);

		if (!number)
			break;
		if (limit->quota) {
			limit_refill(limit, now);
			if (limit->left <= 0 && vtime_before(latest, limit->until))
				latest = limit->until;
		}
		number = cgroup_at(number)->parent;
	}
	return latest;
}

/* Takes a task's run time, ns, off the time left of its group and of the group's ancestors. */
__noinline int limit_charge(u32 number, u64 ran)
{
	u64 now = bpf_ktime_get_ns();
	s32 step;

	if (ran > LIMIT_RAN_MOST_NS)
		return 0;
	for_range(step, 0, MAX_CGROUP_DEPTH) {
		struct cgroup_limit *limit = limit_at(number);

		if (!number)
			break;
		if (limit->quota) {
			limit_refill(limit, now);
			if (__sync_fetch_and_sub(&limit->left, ran) < (s64)ran - limit->owes)
				limit->left = -limit->owes;
		}
		number = cgroup_at(number)->parent;
	}
	return 0;
}

/* Notes that a CPU's running task is charged up to now. */
static __always_inline void limit_note_charged(struct task_struct *p, struct base_cpu *bctx)
{
	bctx->limit_charged = p->se.sum_exec_runtime;
	bctx->limit_since = limits_since;
}

/* Charges a CPU's running task for its run time since the last charge. Run time from before there were limits is not charged. */
static __always_inline void limit_ran(struct task_struct *p, struct base_task *task, struct base_cpu *bctx)
{
	if (task->cgroup && bctx->limit_since == limits_since)
		limit_charge(task->cgroup, p->se.sum_exec_runtime - bctx->limit_charged);
	limit_note_charged(p, bctx);
}

/* Stops a CPU's running task, as its group has used up its quota. */
static __always_inline void limit_stops(struct task_struct *p, struct base_cpu *bctx)
{
	p->scx.slice = 0;
	bctx->limited = true;
}

/* A task begins to run. If other tasks used up the quota while this one waited, it stops at once. */
static __noinline void limit_begins(struct task_struct *p, struct base_task *task, struct base_cpu *bctx)
{
	limit_note_charged(p, bctx);
	bctx->limited = false;
	if (!task->cgroup || !limit_until(task->cgroup, bpf_ktime_get_ns()))
		return;
	limit_stops(p, bctx);
	scx_bpf_kick_cpu(bctx->number, SCX_KICK_PREEMPT);
}

static void limit_set_us(u32 number, u64 quota, u64 period, u64 burst)
{
	limit_set(number, quota == LIMIT_NONE ? quota : quota * NSEC_PER_USEC, period * NSEC_PER_USEC, burst * NSEC_PER_USEC);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tandem_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	struct cgroup_number *number;
	u32 above, own = 0;

	if (cgrp->level <= 0)
		return 0;
	number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	/* An error would be an error of mkdir; instead the group counts as the root. */
	if (!number)
		return 0;
	above = cgroup_number_above(cgrp);
	if (cgroup_at(above)->depth + 1 < MAX_CGROUP_DEPTH)
		own = cgroup_free_number();
	number->own = own;
	number->number = own ?: above;
	if (own) {
		struct cgroup_share *group = cgroup_at(own);

		group->parent = above;
		group->depth = cgroup_at(above)->depth + 1;
		group->weight = cgroup_weight(args->weight);
		group->nr_ready = 0;
		group->load = 0;
		cgroup_note(1);
		if (bpf_core_field_exists(args->bw_quota_us))
			limit_set_us(own, args->bw_quota_us, args->bw_period_us, args->bw_burst_us);
	}
	return 0;
}

void BPF_STRUCT_OPS(tandem_cgroup_exit, struct cgroup *cgrp)
{
	struct cgroup_number *number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, 0);

	if (!number || !number->own || nr_free_cgroups >= MAX_CGROUPS)
		return;
	limit_set(number->number, LIMIT_NONE, 0, 0);
	free_cgroups[nr_free_cgroups & (MAX_CGROUPS - 1)] = number->number;
	nr_free_cgroups++;
	cgroup_note(-1);
}

void BPF_STRUCT_OPS(tandem_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us)
{
	struct cgroup_number *number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, 0);

	if (number && number->own)
		limit_set_us(number->number, quota_us, period_us, burst_us);
}

#endif /* __TANDEM_QUEUES_LIMITS_H */
