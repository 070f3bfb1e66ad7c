/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of `sorted` for tasks, and its counters. CPUs have run queues (pairs.bpf.h). */
#ifndef __TANDEM_SORTED_STATE_H
#define __TANDEM_SORTED_STATE_H

#include "../include/scx.bpf.h"

/* When a task has its turn. */
struct sorted_task {
	/* The CPU in whose queue the task waits, plus 1; 0: in none. */
	u32 waits_on;
	/* The weight and intensity with which the task was counted there. */
	u32 weight;
	u32 intensity;
	/* The epoch of that queue in which the task has its turn. */
	u64 epoch;
	/* The time left of a turn that was cut short, ns. */
	u64 rest;
	/* The task's total run time at which its turn ends, ns; 0: it has no turn, or the turn is over. */
	u64 until;
	/* The task is far from the others' virtual time, and waits in the line the next time. */
	bool apart;
	/* The task has waited for a turn since it last slept. */
	bool takes_part;
	/* The task waits in the line because it was far from the others, not because it slept. */
	bool settles;
};

#define SORTED_STATS(sees, acts)									\
	sees(SORTED_EPOCHS, "epochs of pairs of CPUs")							\
	acts(SORTED_TURNS, "turns in sorted queues")							\
	sees(SORTED_MIXED, "ticks beside a thread of the other half of intensities")			\
	sees(SORTED_ALIKE, "ticks beside one of the same half")						\
	sees(SORTED_NEWCOMERS, "threads that waited as newcomers, in no sorted queue")			\
	acts(SORTED_BALANCED, "threads taken from longer queues")					\
	acts(SORTED_STOLEN, "threads taken by CPUs with nothing else to do")				\
	acts(SORTED_EXCHANGED, "pairs of threads exchanged between queues")

#endif /* __TANDEM_SORTED_STATE_H */
