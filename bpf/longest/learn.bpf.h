/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lengths that no program has given, learned from earlier rounds and runs (Lakshminarayana & Kim, section VIII, future work).
 *
 * Threads of a program meet: at barriers, in joins. A round ends when all threads but one wait. The length of a thread is its work in a
 * round: its run time by the performance of the CPU at its clock. The length is therefore the same on a slow CPU as on a fast one. A
 * sleeping thread's work is complete when a thread of the group wakes it. The last thread of a round does not sleep; its work is complete
 * when it wakes the others. A thread's work alone, between rounds, does not count.
 *
 * A program that makes new threads for each round, or is run again, finds its threads' last lengths by their order.
 */
#ifndef __TANDEM_LONGEST_LEARN_H
#define __TANDEM_LONGEST_LEARN_H

#include "length.bpf.h"

/* A thread that comes again, known by the program's name and the thread's place in the order of creation among the present threads. */
struct place_in_program {
	char comm[16];
	u32 at;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct place_in_program);
	__type(value, u64);
} learned_lengths SEC(".maps");

enum {
	/* Shorter rounds, ns of work, tell no lengths: threads that change places lose as much to cold caches. */
	LEARN_WORTH = 500 * NSEC_PER_USEC,
};

static void learn_key(struct task_struct *p, struct longest_task *job, struct place_in_program *key)
{
	BPF_CORE_READ_STR_INTO(&key->comm, p, group_leader, comm);
	key->at = job->at;
}

/* The thread's length the last time; 0: unknown. */
static u64 learn_recall(struct task_struct *p, struct longest_task *job)
{
	struct place_in_program key = {};
	u64 *length;

	learn_key(p, job, &key);
	length = bpf_map_lookup_elem(&learned_lengths, &key);
	return length ? *length : 0;
}

/*
 * Adds the thread's work until @now, since @start or the last count. The work is measured by the present clock. The clock may have
 * changed meanwhile, which evens out as fast and slow rounds are averaged.
 */
static void learn_count(struct longest_task *job, u64 start, u64 now)
{
	s32 cpu = bpf_get_smp_processor_id();
	u64 performance = (u64)facts_of(cpu)->capacity * scx_bpf_cpuperf_cur(cpu) / 1024;

	if (job->counted > start)
		start = job->counted;
	job->counted = now;
	if (now > start)
		job->work += (now - start) * performance / 1024;
}

static __always_inline u64 learn_difference(u64 one, u64 other)
{
	return one > other ? one - other : other - one;
}

/*
 * A thread's length after a round: the mean of this and earlier rounds, half of which is the last round. The length is unknown (0) while
 * rounds differ from the mean by more than a quarter of it: one round then tells nothing about the next, as with work between locks. The
 * length is also unknown if rounds are short.
 */
static u64 learn_mean(struct longest_task *job, u64 work)
{
	u64 off = job->smoothed ? learn_difference(work, job->smoothed) : 0;

	job->smoothed = job->smoothed ? (job->smoothed + work) / 2 : work;
	job->spread = (job->spread + off) / 2;
	return job->spread > job->smoothed / 4 || job->smoothed < LEARN_WORTH ? 0 : job->smoothed;
}

/* A thread's round is over. The group learns of its length if that has changed enough to matter. */
static void learn_round(struct task_struct *p, struct longest_task *job, struct group *group)
{
	struct place_in_program key = {};
	u64 work = job->work, length;

	job->work = 0;
	job->round = group->longest.round;
	if (!job->counts || !work || job->hinted)
		return;
	job->counts = false;
	length = learn_mean(job, work);
	if (!is_longer(length, job->length) && !is_longer(job->length, length))
		return;
	job->length = length;
	roster_set(p, job, group, length);
	learn_key(p, job, &key);
	bpf_map_update_elem(&learned_lengths, &key, &job->length, BPF_ANY);
	count(TANDEM_STAT_LONGEST_LEARNED);
}

/* A thread wakes another one of its group, or has made it, and so lets it go on. */
static void learn_release(struct task_struct *waker, struct task_ctx *tctx, struct group *group)
{
	struct longest_task *job = &tctx->longest;
	u64 now = bpf_ktime_get_ns();

	if (job->round != group->longest.round) {
		learn_count(job, tctx->started, now);
		learn_round(waker, job, group);
		job->opened = true;
	} else if (!job->counts) {
		/* Discards the work that the thread did alone before. */
		job->work = 0;
		job->counted = now;
	}
	job->counts = true;
}

#endif /* __TANDEM_LONGEST_LEARN_H */
