/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What counters.bpf.h keeps of tasks and CPUs, and what is counted of no mechanism.
 */
#ifndef __TANDEM_COMMON_STATE_H
#define __TANDEM_COMMON_STATE_H

#include "../include/scx.bpf.h"

/* What performance counters say of a task (counters.bpf.h). */
struct counted_task {
	/*
	 * Use of the task's share of the memory; and the share of its time that it waits for memory and would at the highest
	 * clock. 0..1024 each.
	 */
	u32 intensity;
	u32 stall;
	/* The same use without a bound, up to TRAFFIC_MOST: tasks that each take all of their share differ by it. */
	u32 traffic;
	/* The counters have watched the task long enough. */
	bool measured;
	/* The same three numbers on a scale that is 1024 times as fine; and how long the counters have watched, ns. */
	u32 fine_intensity;
	u32 fine_stall;
	u32 fine_traffic;
	u64 watched;
};

/* Those of what runs on a CPU, as of the task. */
struct counted_cpu {
	u32 intensity;
	u32 stall;
	u32 traffic;
};

#define BASE_STATS(sees, acts)										\
	sees(BASE_IDLE, "times that a task found an idle CPU")						\
	sees(BASE_QUEUED, "times that a task had to wait")						\
	sees(BASE_LIMITED, "times that a task had to wait for its control group's next period (cpu.max)")	\
	sees(BASE_PREEMPTED, "times that a task took another one's CPU as it woke")			\
	sees(BASE_UNKNOWN, "tasks without any mechanism, as no memory was left to keep anything of them")	\
	sees(BASE_UNGROUPED, "threads of processes beyond those that are watched: alone to longest and serial_first")	\
	sees(PULL_ASKED, "running threads that a faster CPU asked for")					\
	acts(PULL_MOVED, "threads that a faster CPU got")						\
	acts(PULL_TURNS, "turns that a thread on a slower CPU had on a faster one")

#endif /* __TANDEM_COMMON_STATE_H */
