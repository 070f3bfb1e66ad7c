/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `sorted` keeps of tasks, and what it counts. Its CPUs have run queues (pairs.bpf.h).
 */
#ifndef __TANDEM_SORTED_STATE_H
#define __TANDEM_SORTED_STATE_H

#include "../include/scx.bpf.h"

/* When a task has its turn. */
struct sorted_task {
	/* The CPU in whose queue the task waits, plus 1; 0: in none. */
	u32 waits_on;
	/* With which weight and intensity the task was counted there. */
	u32 weight;
	u32 intensity;
	/* In which epoch of that queue the task has its turn. */
	u64 epoch;
	/* What is left of a turn that was cut short, ns. */
	u64 rest;
	/* Until how much run time its turn lasts, ns; 0: it has none, or that is over. */
	u64 until;
	/* It is far from the others' virtual time, and waits in the line the next time. */
	bool apart;
	/* It has waited for a turn since it last slept. */
	bool takes_part;
	/* It waits in the line for that, and not because it slept. */
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
