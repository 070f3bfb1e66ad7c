/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Thread groups: what the papers call programs.
 */
#ifndef __TANDEM_GROUP_H
#define __TANDEM_GROUP_H

#include "../longest/state.bpf.h"
#include "../serial/state.bpf.h"

struct group {
	s32 nr_threads;
	/* Threads that run or could. */
	s32 nr_ready;
	/* The number of the group's parallel phase, among all groups', and when the last one ended, ns; 0: never. */
	u64 parallel_number;
	u64 parallel_until;
	struct longest_group longest;
	struct serial_group serial;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

static __always_inline struct group *group_of(struct task_struct *p)
{
	u32 tgid = p->tgid;

	return bpf_map_lookup_elem(&groups, &tgid);
}

/* Counts a new thread in its group, which its first thread makes. */
static struct group *group_join(struct task_struct *p)
{
	u32 tgid = p->tgid;
	struct group new = {}, *group = group_of(p);

	if (!group) {
		/* Another thread of the group may have been quicker: then that one's stays. */
		bpf_map_update_elem(&groups, &tgid, &new, BPF_NOEXIST);
		group = group_of(p);
	}
	if (group)
		__sync_fetch_and_add(&group->nr_threads, 1);
	return group;
}

/* Its last thread takes a group away. */
static void group_leave(struct task_struct *p)
{
	u32 tgid = p->tgid;
	struct group *group = group_of(p);

	if (group && __sync_fetch_and_sub(&group->nr_threads, 1) == 1)
		bpf_map_delete_elem(&groups, &tgid);
}

#endif /* __TANDEM_GROUP_H */
