/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters that belong to no mechanism. The base's state of tasks and CPUs is in queues/state.bpf.h. */
#ifndef __TANDEM_BASE_STATE_H
#define __TANDEM_BASE_STATE_H

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

#endif /* __TANDEM_BASE_STATE_H */
