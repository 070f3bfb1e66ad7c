/* SPDX-License-Identifier: GPL-2.0-only */
/* Thread groups, which the papers call programs. */
#ifndef __TANDEM_STATE_GROUP_H
#define __TANDEM_STATE_GROUP_H

#include "../longest/state.bpf.h"
#include "../serial/state.bpf.h"
#include "stats.bpf.h"
#include "task.bpf.h"

struct group {
	s32 nr_threads;
	/* Threads that run or are runnable. */
	s32 nr_ready;
	/* The number of the group's parallel phase, among all groups' phases, and when the last phase ended, ns; 0: never. */
	u64 parallel_number;
	u64 parallel_until;
	struct longest_group longest;
	struct serial_group serial;
};

/* As many processes as the kernel numbers by default on large machines. Threads of further processes have no group. */
#ifndef MAX_GROUPS
#define MAX_GROUPS (1 << 16)
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

/*
 * The group in which a task counts; none if there was no room for the group when the task came. That holds for the task's life, even if
 * later threads of its process find room: a task that was not counted in must not be counted out.
 */
static __always_inline struct group *group_of(struct task_struct *p, struct task_ctx *tctx)
{
	u32 tgid = p->tgid;

	return tctx->in_group ? bpf_map_lookup_elem(&groups, &tgid) : 0;
}

/* Counts a new thread in its group, which its first thread makes; none if there is no room for another group. */
static struct group *group_join(struct task_struct *p, struct task_ctx *tctx)
{
	u32 tgid = p->tgid;
	struct group new = {}, *group = bpf_map_lookup_elem(&groups, &tgid);

	if (!group) {
		/* Another thread of the group may have been quicker; its entry stays. */
		bpf_map_update_elem(&groups, &tgid, &new, BPF_NOEXIST);
		group = bpf_map_lookup_elem(&groups, &tgid);
	}
	if (!group) {
		count(TANDEM_STAT_BASE_UNGROUPED);
		return 0;
	}
	tctx->in_group = true;
	__sync_fetch_and_add(&group->nr_threads, 1);
	return group;
}

/* A thread leaves its group; the last thread removes the group. */
static void group_leave(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	u32 tgid = p->tgid;

	tctx->in_group = false;
	if (__sync_fetch_and_sub(&group->nr_threads, 1) == 1)
		bpf_map_delete_elem(&groups, &tgid);
}

#endif /* __TANDEM_STATE_GROUP_H */
