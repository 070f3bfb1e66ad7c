/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What performance counters say of tasks, and of those that run (counters.bpf.h).
 */
#ifndef __TANDEM_CLOCKS_STATE_H
#define __TANDEM_CLOCKS_STATE_H

#include "../include/scx.bpf.h"

/* A task. */
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

#endif /* __TANDEM_CLOCKS_STATE_H */
