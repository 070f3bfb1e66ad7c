/* SPDX-License-Identifier: GPL-2.0-only */
/* Performance counters' figures of tasks, and of the tasks that run on CPUs (counters.bpf.h). */
#ifndef __TANDEM_CLOCKS_STATE_H
#define __TANDEM_CLOCKS_STATE_H

#include "../include/scx.bpf.h"

/* A task. */
struct counted_task {
	/*
	 * Use of the task's share of the memory; and the share of its time that the task would wait for memory at the highest clock.
	 * 0..1024 each.
	 */
	u32 intensity;
	u32 stall;
	/* The use without this bound, up to TRAFFIC_MOST. It tells apart tasks that each take all of their share. */
	u32 traffic;
	/* The counters have watched the task for MEASURED_AFTER. */
	bool measured;
	/* The same three numbers on a scale 1024 times as fine; and how long the counters have watched, ns. */
	u32 fine_intensity;
	u32 fine_stall;
	u32 fine_traffic;
	u64 watched;
};

/* The figures of a CPU's running task. */
struct counted_cpu {
	u32 intensity;
	u32 stall;
	u32 traffic;
};

#endif /* __TANDEM_CLOCKS_STATE_H */
