/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of `speed` for tasks and CPUs, and its counters. */
#ifndef __TANDEM_SPEED_STATE_H
#define __TANDEM_SPEED_STATE_H

#include "../include/scx.bpf.h"

struct speed_task {
	/* When the task woke, ns; its work since then, ns of the fastest CPU; and the share of all time that it needs, of 1024 * 1024. */
	u64 woke;
	u64 did;
	u64 needs;
	/* Its turns at the memory, ns of nice 0 (feed.bpf.h). */
	u64 vtime;
};

struct speed_cpu {
	/* The next CPU with the same clock. */
	u32 next;
	/* The operating point that the CPU asks for, plus 1 (other CPUs write it, too), and the highest that it may ask for. */
	u32 asked;
	u32 bound;
	/* The CPU is to ask in its next callback. Other CPUs write this. */
	bool asks;
	/* The CPU is not idle, as the governor counts it; and since when, ns. */
	bool loaded;
	u64 loaded_since;
	/* The CPU asks for one operating point for good, and has asked for it. */
	bool fixed;
	/* The CPU's clock is high; the CPU that changes the clock writes this. */
	bool warm;
	/* Whether a task of this CPU is in the mix of its clock, and the task's share of memory there. */
	u32 mixed;
	u32 share;
	/* The running thread waits for memory; when its turn began, ns of its run time; and whether that is over (feed.bpf.h). */
	bool bound_by_memory;
	bool turn_over;
	/* The CPU has taken another one, which has not begun yet. */
	bool takes_turn;
	u64 turn_began;
};

#define SPEED_STATS(sees, acts)										\
	acts(SPEED_RAISED, "clocks raised")								\
	acts(SPEED_LOWERED, "clocks lowered, all of their CPUs being idle")				\
	acts(SPEED_EDP_LOWERED, "clocks lowered, their CPUs waiting for memory")			\
	sees(SPEED_KEPT, "changes dropped, as load flipped back in time")				\
	sees(SPEED_REPEATED, "requests made again, which the governor may have missed")			\
	acts(SPEED_WARM, "threads woken where the clock was high already")				\
	acts(SPEED_LIGHT, "light threads woken where they cost less")					\
	acts(SPEED_HELD, "threads that waited for their turn at the memory")

#endif /* __TANDEM_SPEED_STATE_H */
