/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a thread is among the threads of its group: lengths, and the rosters that compare them (Lakshminarayana & Kim, section VI).
 *
 * A length is relative, as the paper's is: any number that is larger for longer threads of the same program. It comes from the program
 * (relative_lengths) or is learned (learn.bpf.h).
 */
#ifndef __TANDEM_LONGEST_LENGTH_H
#define __TANDEM_LONGEST_LENGTH_H

#include "../state/phase.bpf.h"

enum {
	/* How many threads of a group are compared; further threads have no length. */
	NR_JOBS = 64,
};

/* The key of the length for the next thread that a thread creates is the thread's number with this bit, which no number has. */
#define NEXT_THREAD (1U << 31)

/* How many programs' threads are compared at a time; threads of further programs have no length. */
#ifndef MAX_ROSTERS
#define MAX_ROSTERS (1 << 13)
#endif

/* Lengths that programs give their threads: tid to length, or creator to length. A loader or the program itself writes them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, u32);
	__type(value, u64);
} relative_lengths SEC(".maps");

struct entry {
	/* 0: free. */
	u32 pid;
	/* 0: unknown. */
	u64 length;
};

/* The threads of a group. Entries are taken from the front, so that an entry's number is the order of creation. */
struct roster {
	/* How many entries have been taken. */
	u32 nr;
	struct entry entries[NR_JOBS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_ROSTERS);
	__type(key, u32);
	__type(value, struct roster);
} rosters SEC(".maps");

/* A new roster; too large for the stack. */
struct roster empty_roster;

/* CPUs of the fastest kind, and of all kinds but the slowest, that applications may use. */
u32 nr_fast, nr_not_slow;

static __always_inline struct roster *roster_of(struct task_struct *p)
{
	u32 tgid = p->tgid;

	return bpf_map_lookup_elem(&rosters, &tgid);
}

static struct roster *roster_make(struct task_struct *p)
{
	struct roster *roster = roster_of(p);
	u32 tgid = p->tgid;

	if (roster)
		return roster;
	bpf_map_update_elem(&rosters, &tgid, &empty_roster, BPF_NOEXIST);
	return roster_of(p);
}

/* Enters a thread: the group's leader at the front, other threads into the first free entry behind it. */
static bool roster_enter(struct task_struct *p, struct longest_task *job, struct group *group)
{
	struct roster *roster = roster_make(p);
	u32 at, first = p->pid != p->tgid;

	if (!roster) {
		count(TANDEM_STAT_LONGEST_UNLISTED);
		return false;
	}
	for_range(at, first, NR_JOBS) {
		struct entry *entry = &roster->entries[at & (NR_JOBS - 1)];

		if (entry->pid || __sync_val_compare_and_swap(&entry->pid, 0, p->pid))
			continue;
		entry->length = 0;
		job->at = at + 1;
		/* If two threads enter at once the lower number may stay; the next thread corrects it. */
		if (roster->nr < job->at)
			roster->nr = job->at;
		return true;
	}
	count(TANDEM_STAT_LONGEST_CROWDED);
	return false;
}

/* Tells the group a thread's length. */
static void roster_set(struct task_struct *p, struct longest_task *job, struct group *group, u64 length)
{
	struct roster *roster;
	u32 at = job->at - 1;

	if (at >= NR_JOBS || !(roster = roster_of(p)))
		return;
	roster->entries[at].length = length;
	__sync_fetch_and_add(&group->longest.generation, 1);
}

/* Removes a thread; the other threads may rank higher now. */
static void roster_leave(struct task_struct *p, struct longest_task *job, struct group *group)
{
	struct roster *roster;
	u32 at = job->at - 1;

	job->at = 0;
	if (at >= NR_JOBS || !(roster = roster_of(p)))
		return;
	roster->entries[at].length = 0;
	roster->entries[at].pid = 0;
	__sync_fetch_and_add(&group->longest.generation, 1);
}

/* Whether a length is longer by more than 3 %. A smaller difference is within the variation of the same work from one time to the next. */
static __always_inline bool is_longer(u64 one, u64 other)
{
	return one > other + other / 32;
}

/* How many threads of the group go before the thread at @at: longer ones, and of nearly equal ones those created earlier. */
static u32 roster_rank(struct roster *roster, u32 at)
{
	u64 length = roster->entries[at & (NR_JOBS - 1)].length;
	u32 before = 0, other, nr = roster->nr;

	for_range(other, 0, nr < NR_JOBS ? nr : NR_JOBS) {
		u64 others = roster->entries[other & (NR_JOBS - 1)].length;

		if (is_longer(others, length) || (others && other < at && !is_longer(length, others)))
			before++;
	}
	return before;
}

/* The wish of a thread of that rank: the longest threads wish the fastest CPUs, one thread for each. */
static __always_inline enum wish wish_of_rank(u32 rank)
{
	if (rank < nr_fast)
		return WISH_FAST;
	return rank < nr_not_slow ? WISH_MIDDLE : WISH_SLOW;
}

/* The wish of the thread at @at, from 1, of a group's roster; WISH_ANY if its length is unknown. */
static enum wish roster_wish(struct task_struct *p, u32 at)
{
	struct roster *roster;

	if (!at || at > NR_JOBS || !(roster = roster_of(p)) || !roster->entries[(at - 1) & (NR_JOBS - 1)].length)
		return WISH_ANY;
	return wish_of_rank(roster_rank(roster, at - 1));
}

static void length_init(void)
{
	u32 cpu;

	for_range(cpu, 0, nr_cpus) {
		struct cpu_ctx *cctx = cpu_of(cpu);

		nr_fast += cctx->isolate.takes_applications && !cctx->kind;
		nr_not_slow += cctx->isolate.takes_applications && cctx->kind + 1 < nr_kinds;
	}
}

#endif /* __TANDEM_LONGEST_LENGTH_H */
