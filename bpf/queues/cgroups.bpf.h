/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups (cpu.weight), flattened: a task's weight is its share of its group's weight, times the group's share among its siblings,
 * and so on up to the root. The fair class gets the same result by nested queues (calc_group_shares of kernel/sched/fair.c).
 *
 * An idle group (cpu.idle) weighs 3, as a thread of SCHED_IDLE does in a group. The kernel reports idle groups since Linux 6.19.
 *
 * The tasks and groups that are runnable now share a group's weight. The fair class takes a mean over some tens of milliseconds instead:
 * a group whose threads sleep often gets a little more here.
 */
#ifndef __TANDEM_QUEUES_CGROUPS_H
#define __TANDEM_QUEUES_CGROUPS_H

#include "../state/state.bpf.h"

enum {
	/* Groups beyond this number count as their parent. */
	MAX_CGROUPS = 4096,
	/* Groups deeper than this count as their parent, too. */
	MAX_CGROUP_DEPTH = 16,
	/* A share of one: the share of a task in the root. */
	SHARE_ONE = 1 << 16,
	CGROUP_WEIGHT_DFL = 100,
	/* The weight of an idle group, where 1024 is that of CGROUP_WEIGHT_DFL: kernel/sched/sched.h, WEIGHT_IDLEPRIO. */
	CGROUP_WEIGHT_IDLE = 3,
};

struct cgroup_share {
	/* The parent, and this group's distance from the root. 0: the root. */
	u32 parent;
	u32 depth;
	/* The weight, 1024 for a cpu.weight of 100; and the weight that the parent's load contains, 0 if the group has no runnable task. */
	u32 weight;
	u32 added;
	/* How many runnable tasks and groups this one has, and the sum of their weights. */
	s32 nr_ready;
	s32 load;
} __attribute__((aligned(64)));

struct cgroup_share cgroup_shares[MAX_CGROUPS];

/* Numbers that are free again, and the next number that was never used. The kernel creates and removes one control group at a time. */
u16 free_cgroups[MAX_CGROUPS];
u32 nr_free_cgroups, next_cgroup = 1;
/* The number of groups besides the root. */
u32 nr_cgroups;

struct cgroup_number {
	u32 number;
	/* The number is this group's own, not an ancestor's. */
	bool own;
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cgroup_number);
} cgroup_numbers SEC(".maps");

struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level) __ksym __weak;
void bpf_cgroup_release(struct cgroup *cgrp) __ksym __weak;

/* Notes that there is one group more, or one less. */
static void cgroup_note(s32 change)
{
	nr_cgroups += change;
	if (nr_cgroups)
		__sync_fetch_and_or(&active, GROUPS);
	else
		__sync_fetch_and_and(&active, ~GROUPS);
}

static __always_inline struct cgroup_share *cgroup_at(u32 number)
{
	return &cgroup_shares[number & (MAX_CGROUPS - 1)];
}

/* The virtual time for a group's task, where a task in the root would be charged @charge. */
static __noinline u64 cgroup_charge(u32 number, u64 charge)
{
	u64 share = SHARE_ONE;
	s32 step;

	for_range(step, 0, MAX_CGROUP_DEPTH) {
		struct cgroup_share *group = cgroup_at(number);
		s32 load = group->load;

		if (!number)
			break;
		/* A change on another CPU at the same time may show a load of 0. */
		share = share * group->weight / (load > 0 ? load : 1);
		number = group->parent;
	}
	return charge * SHARE_ONE / (share ?: 1);
}

/*
 * Notes that a task or group of weight @weight becomes runnable in a group. If the group was empty, the group becomes runnable in its
 * parent.
 */
static void cgroup_runnable(u32 number, u32 weight)
{
	s32 step;

	for_range(step, 0, MAX_CGROUP_DEPTH) {
		struct cgroup_share *group = cgroup_at(number);

		if (!number)
			break;
		__sync_fetch_and_add(&group->load, weight);
		if (__sync_fetch_and_add(&group->nr_ready, 1) > 0)
			break;
		weight = group->weight;
		group->added = weight;
		number = group->parent;
	}
}

/*
 * Notes that a task or group of weight @weight is no longer runnable in a group. If the group is empty now, the group is no longer
 * runnable in its parent.
 */
static void cgroup_quiescent(u32 number, u32 weight)
{
	s32 step;

	for_range(step, 0, MAX_CGROUP_DEPTH) {
		struct cgroup_share *group = cgroup_at(number);

		if (!number)
			break;
		__sync_fetch_and_sub(&group->load, weight);
		if (__sync_fetch_and_sub(&group->nr_ready, 1) > 1)
			break;
		weight = group->added;
		number = group->parent;
	}
}

/* Converts cpu.weight to the scale of tasks' weights. */
static __always_inline u32 cgroup_weight(u32 weight)
{
	return (weight * 1024 + CGROUP_WEIGHT_DFL / 2) / CGROUP_WEIGHT_DFL ?: 1;
}

/* A group's number, or its ancestor's where the group has none. */
static u32 cgroup_number(struct cgroup *cgrp)
{
	struct cgroup_number *number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, 0);

	return number ? number->number : 0;
}

static u32 cgroup_number_above(struct cgroup *cgrp)
{
	struct cgroup *above = cgrp->level > 0 ? bpf_cgroup_ancestor(cgrp, cgrp->level - 1) : 0;
	u32 number;

	if (!above)
		return 0;
	number = cgroup_number(above);
	bpf_cgroup_release(above);
	return number;
}

/* A number that no group has; 0: all are taken. */
static u32 cgroup_free_number(void)
{
	if (nr_free_cgroups) {
		nr_free_cgroups--;
		return free_cgroups[nr_free_cgroups & (MAX_CGROUPS - 1)];
	}
	return next_cgroup < MAX_CGROUPS ? next_cgroup++ : 0;
}

/* Changes a group's weight, where 1024 is that of CGROUP_WEIGHT_DFL. */
static void cgroup_reweigh(struct cgroup *cgrp, u32 weight)
{
	struct cgroup_number *number = bpf_cgrp_storage_get(&cgroup_numbers, cgrp, 0, 0);
	struct cgroup_share *group;
	u32 before;

	if (!number || !number->own)
		return;
	group = cgroup_at(number->number);
	group->weight = weight;
	if (group->nr_ready <= 0)
		return;
	before = group->added;
	group->added = weight;
	__sync_fetch_and_add(&cgroup_at(group->parent)->load, (s32)(weight - before));
}

void BPF_STRUCT_OPS(tandem_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	cgroup_reweigh(cgrp, cgroup_weight(weight));
}

/*
 * The kernel may call this more than once for a change. A group that is no longer idle has the weight of a new group
 * (sched_group_set_idle).
 */
void BPF_STRUCT_OPS(tandem_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	cgroup_reweigh(cgrp, idle ? CGROUP_WEIGHT_IDLE : cgroup_weight(CGROUP_WEIGHT_DFL));
}

#endif /* __TANDEM_QUEUES_CGROUPS_H */
