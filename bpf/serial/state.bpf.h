/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of `serial_first` for tasks, groups and CPUs, and its counters. */
#ifndef __TANDEM_SERIAL_STATE_H
#define __TANDEM_SERIAL_STATE_H

#include "../include/scx.bpf.h"

struct serial_task {
	/* Time of the task's present run that the serial share has paid already, ns. */
	u64 paid;
	/* The thread is in a serial phase that does not go first, as the thread is too light. */
	bool light;
};

struct serial_group {
	/* The group's place among those that can fill the machine, plus 1; 0: none. */
	u32 slot;
};

struct serial_cpu {
	/* A group whose waiting threads now have another rank; 0: none. */
	u32 promote;
	/* How many waiting tasks the CPU has looked at for that. In memory, as the verifier follows registers. */
	u32 promote_seen;
	/* The level of the last thread that was in no serial phase, and the credit that it was worked out from (levels.bpf.h). */
	s32 level;
	u64 credit;
	/* The senior that the CPU knows of: at a tick the CPU sees whether there is another one. */
	u32 known_senior;
	/*
	 * Sums of the weights of all groups that fill the machine, and the senior's weight, while the CPU works them out. In memory for
	 * the verifier, too.
	 */
	u64 weights;
	u64 senior_weight;
};

#define SERIAL_STATS(sees, acts)									\
	sees(SERIAL_PARALLEL_PHASES, "parallel phases that began")					\
	sees(SERIAL_PHASES, "serial phases that began")							\
	acts(SERIAL_PROMOTED, "waiting threads that went ahead of others")				\
	acts(SERIAL_PREEMPTED, "CPUs that serial threads took from other threads")			\
	acts(SERIAL_RAISED, "serial threads that went on on a faster CPU")				\
	acts(SERIAL_KEPT, "slices that serial threads went on for")					\
	sees(SERIAL_LIMITED, "times that serial threads had used up their share")			\
	acts(SERIAL_JUNIORS, "threads that waited as juniors")						\
	acts(SERIAL_SENIOR, "times that an application became the senior")				\
	sees(SERIAL_SENIORITY_CROWDED, "large applications beyond those that seniority watches")

#endif /* __TANDEM_SERIAL_STATE_H */
