/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the mechanisms did: counters, by name; and why a mechanism that was asked for does nothing.
 */
#ifndef __TANDEM_STATS_H
#define __TANDEM_STATS_H

#include "../include/scx.bpf.h"

/* The first word is the mechanism. */
enum tandem_stat {
	TANDEM_STAT_BASE_IDLE,			/* found an idle CPU */
	TANDEM_STAT_BASE_QUEUED,		/* had to wait in a queue */
	TANDEM_STAT_PULL_ASKED,			/* a faster CPU asked for a running thread */
	TANDEM_STAT_PULL_MOVED,			/* and got it */
	TANDEM_STAT_PULL_TRADED,		/* took a faster CPU from a thread that waits for memory */
	TANDEM_STAT_LONGEST_HINTED,		/* threads whose program said how long they are */
	TANDEM_STAT_LONGEST_RECALLED,		/* threads whose length is that of an earlier round or run */
	TANDEM_STAT_LONGEST_LEARNED,		/* lengths learned, or corrected by more than 3 % */
	TANDEM_STAT_LONGEST_LOCK_HOLDERS,	/* got a lock that others wait for */
	TANDEM_STAT_LONGEST_ON_FAST,		/* long threads that began to run on a CPU of the fastest kind */
	TANDEM_STAT_LONGEST_SWAPPED,		/* took a fast CPU from a shorter thread of their program */
	TANDEM_STAT_LONGEST_CROWDED,		/* threads beyond those of a program that are compared */
	TANDEM_STAT_SERIAL_PARALLEL_PHASES,	/* parallel phases that began */
	TANDEM_STAT_SERIAL_PHASES,		/* serial phases that began */
	TANDEM_STAT_SERIAL_PROMOTED,		/* waiting threads whose rank rose */
	TANDEM_STAT_SERIAL_PREEMPTED,		/* serial threads that took a CPU from another thread */
	TANDEM_STAT_SERIAL_RAISED,		/* running serial threads that went to a faster CPU */
	TANDEM_STAT_SERIAL_KEPT,		/* slices that serial threads went on for */
	TANDEM_STAT_SERIAL_LIMITED,		/* found their share spent */
	TANDEM_STAT_SERIAL_JUNIORS,		/* waited as juniors */
	TANDEM_STAT_SERIAL_SENIOR,		/* times that an application became the senior */
	TANDEM_STAT_SERIAL_SENIORITY_CROWDED,	/* large applications beyond those that seniority watches */
	TANDEM_STAT_SORTED_EPOCHS,		/* epochs of pairs */
	TANDEM_STAT_SORTED_TURNS,		/* turns in a sorted queue */
	TANDEM_STAT_SORTED_MIXED,		/* ticks beside a task of the other half of intensities on the partner */
	TANDEM_STAT_SORTED_ALIKE,		/* ticks beside one of the same half */
	TANDEM_STAT_SORTED_NEWCOMERS,		/* tasks that came into no sorted queue as they woke or were new */
	TANDEM_STAT_SORTED_BALANCED,		/* taken from a longer queue, for equal lengths */
	TANDEM_STAT_SORTED_STOLEN,		/* taken by a CPU with nothing else to do */
	TANDEM_STAT_SORTED_EXCHANGED,		/* pairs of tasks exchanged, for equal intensities */
	TANDEM_STAT_ISOLATE_NOISE,		/* system tasks that began to run on the OS CPU */
	TANDEM_STAT_ISOLATE_CLOCK_CHANGED,	/* the OS CPU's clock follows the noise */
	TANDEM_STAT_ISOLATE_CLOCK_HURRIED,	/* it went up at once, noise piling up */
	TANDEM_STAT_SPEED_RAISED,		/* a clock went up */
	TANDEM_STAT_SPEED_LOWERED,		/* a clock went down, its CPUs being idle */
	TANDEM_STAT_SPEED_EDP_LOWERED,		/* a clock went down, its CPUs waiting for memory */
	TANDEM_STAT_SPEED_KEPT,			/* a pending change was dropped, load having flipped back in time */
	TANDEM_STAT_SPEED_REPEATED,		/* asked again for a clock, schedutil perhaps having missed it */
	TANDEM_STAT_SPEED_WARM,			/* woke a task where the clock was high */
	TANDEM_STAT_SPEED_LIGHT,		/* woke a light task where it costs less */
	NR_STATS,
};

/* Brings the names into the object: compilers keep only enumerations that are some variable's type. */
enum tandem_stat stat_names;

enum tandem_state {
	TANDEM_STATE_OFF,
	TANDEM_STATE_ACTIVE,
	/* Asked for, but inert: */
	TANDEM_STATE_ONE_CPU,			/* there is only one CPU */
	TANDEM_STATE_NO_APPLICATIONS,		/* nobody said what is an application */
	TANDEM_STATE_ONE_KIND,			/* all CPUs are equally fast */
	TANDEM_STATE_NO_COUNTERS,		/* no performance counters */
	TANDEM_STATE_NO_CPUFREQ,		/* no clock to change, or the governor does not listen */
};

enum tandem_state isolate_state, longest_state, serial_first_state, sorted_state, speed_state;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, NR_STATS);
} stats SEC(".maps");

static __always_inline void count(u32 stat)
{
	u64 *value = bpf_map_lookup_elem(&stats, &stat);

	if (value)
		(*value)++;
}

#endif /* __TANDEM_STATS_H */
