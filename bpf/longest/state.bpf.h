/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of `longest` for tasks, groups and CPUs, and its counters. */
#ifndef __TANDEM_LONGEST_STATE_H
#define __TANDEM_LONGEST_STATE_H

#include "../state/answers.bpf.h"

/* How long a task is among the threads of its group (length.bpf.h, learn.bpf.h). */
struct longest_task {
	/* The task's place in the roster, plus 1; 0: none. */
	u32 at;
	/* The roster was full. */
	bool left_out;
	/* The task's wish, and the roster's generation for which the wish holds. */
	u32 generation;
	enum wish wish;
	/* The task's program has given its length. */
	bool hinted;
	/* The task's work counts: it works at the same time as others of its group. */
	bool counts;
	/* The task was handed a lock that others wait for. */
	bool holder;
	/* The task has ended a round of its group and lets the others go on. */
	bool opened;
	/* The group's round in which the task began its work. */
	u32 round;
	/* The task's work since then, and when that was last updated, ns. */
	u64 work;
	u64 counted;
	/* Work in a round, smoothed; the deviation of rounds from that, smoothed; and the length in the roster. 0: unknown. */
	u64 smoothed;
	u64 spread;
	u64 length;
};

struct longest_group {
	/* The most threads that were ready at once in this round. */
	s32 together;
	/* How often all but one of the threads waited after most had been ready, and how often the roster changed. */
	u32 round;
	u32 generation;
	/* The mean time that threads keep the locks that they are handed, ns. */
	u64 hold;
	/*
	 * Wakeups of threads by others of the group in this window (locks.bpf.h), when the window began, ns, and the most threads that
	 * were ready; how long the last window without turns took, ns; for how many windows turns are not tried, and for how many they
	 * were not tried the last time.
	 */
	u32 wakeups;
	s32 most_ready;
	u64 window;
	u64 took;
	u32 rest;
	u32 pause;
};

struct longest_cpu {
	/* The running thread should have a fast CPU; its place in the roster, plus 1; and the roster's generation for which that holds. */
	bool is_long;
	u32 job_at;
	u32 generation;
	/* The thread that ran here last, 0 if it has ended; and when it began to run, ns. */
	u32 last;
	u64 ran;
};

#define LONGEST_STATS(sees, acts)									\
	sees(LONGEST_HINTED, "threads whose program said how long they are")				\
	sees(LONGEST_RECALLED, "threads that got the length of an earlier round or run")		\
	sees(LONGEST_LEARNED, "lengths learned, or corrected by more than 3 %")				\
	sees(LONGEST_LOCK_HOLDERS, "threads that got a lock which others wait for")			\
	acts(LONGEST_ON_FAST, "long threads that began to run on one of the fastest CPUs")		\
	acts(LONGEST_SWAPPED, "fast CPUs taken from shorter threads")					\
	acts(LONGEST_TURNS, "threads that waited for their turn, as more hand on a lock than there are fast CPUs")	\
	sees(LONGEST_CROWDED, "threads beyond those of a program that are compared")			\
	sees(LONGEST_UNLISTED, "threads of programs beyond those whose threads are compared")

#endif /* __TANDEM_LONGEST_STATE_H */
