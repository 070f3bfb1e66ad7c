/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolation's state of tasks and CPUs, and its counters. */
#ifndef __TANDEM_ISOLATE_STATE_H
#define __TANDEM_ISOLATE_STATE_H

#include "../state/answers.bpf.h"

struct isolate_task {
	/* Number of the task's application, 0 for system tasks. */
	u32 application;
	enum place place;
};

struct isolate_cpu {
	/* Whether the CPU takes tasks of applications. */
	bool takes_applications;
	/* The task that runs here, or ran last, is an application's. */
	bool runs_application;
	/* The CPU is not on the OS CPU's core; and the value of points_rest for which its bound holds. */
	bool is_rest;
	u32 bound_rest;
	/* The CPU's work when it last went idle, and when the OS CPU's last window ended, ns at its highest clock. */
	u64 worked;
	u64 worked_before;
};

#define ISOLATE_STATS(sees, acts)									\
	acts(ISOLATE_NOISE, "system tasks that began to run on the OS CPU")				\
	acts(ISOLATE_PREEMPTED, "times that an application left that CPU at once, as noise woke")	\
	acts(ISOLATE_CLOCK_CHANGED, "changes of that CPU's clock for what the noise needs")		\
	acts(ISOLATE_CLOCK_HURRIED, "times that its clock went up at once, as noise piled up")		\
	sees(ISOLATE_CROWDED, "processes beyond those that are remembered as an application's")

#endif /* __TANDEM_ISOLATE_STATE_H */
