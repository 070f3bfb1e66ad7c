/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Phases of multithreaded applications: how many threads of a group are ready (Morad et al., section VII).
 *
 * A group with more than serial_threshold ready threads is in a parallel phase, else in a serial one. An event costs only a count. The
 * CPU that sees a change of phase does the rest, and atomic counting lets exactly one CPU see each change.
 */
#ifndef __TANDEM_STATE_PHASE_H
#define __TANDEM_STATE_PHASE_H

#include "state.bpf.h"

/* Changes of the group's phase by a thread that became ready or waits. */
enum phase_change {
	PHASE_BECAME_PARALLEL = 1 << 0,
	PHASE_BECAME_SERIAL = 1 << 1,
	/* The group can now fill the machine, or no longer. */
	PHASE_BECAME_FULL = 1 << 2,
	PHASE_CEASED_FULL = 1 << 3,
};

/* The number of ready threads that fill the machine: one for each CPU that takes applications, and enough for a parallel phase. */
s32 phase_full;

/* Parallel phases so far. Their numbers tell which group became parallel first. No two numbers are equal, as times may be. */
u64 parallel_phases;

static void phase_init(void)
{
	u32 cpu;
	s32 full = 0;

	for_range(cpu, 0, nr_cpus)
		full += cpu_of(cpu)->isolate.takes_applications;
	phase_full = full > (s32)serial_threshold ? full : serial_threshold + 1;
}

/* A thread is ready from now on. */
static u32 phase_runnable(struct task_ctx *tctx, struct group *group)
{
	u32 change = 0;
	s32 before;

	if (tctx->ready)
		return 0;
	tctx->ready = true;
	before = __sync_fetch_and_add(&group->nr_ready, 1);
	if (group->longest.together <= before)
		group->longest.together = before + 1;
	if (before == serial_threshold) {
		group->parallel_number = __sync_fetch_and_add(&parallel_phases, 1) + 1;
		change |= PHASE_BECAME_PARALLEL;
	}
	if (before + 1 == phase_full)
		change |= PHASE_BECAME_FULL;
	return change;
}

/*
 * All threads but one wait. If most of them worked at the same time before, they have met, whether at a barrier or in a join. Otherwise
 * they hand on a lock. Only longest reads this.
 */
static __always_inline void phase_meet(struct group *group)
{
	if (group->longest.together * 2 > group->nr_threads)
		__sync_fetch_and_add(&group->longest.round, 1);
	group->longest.together = 0;
}

/* A thread waits from now on, or is gone. */
static u32 phase_quiescent(struct task_ctx *tctx, struct group *group)
{
	u32 change = 0;
	s32 before;

	if (!tctx->ready)
		return 0;
	tctx->ready = false;
	before = __sync_fetch_and_sub(&group->nr_ready, 1);
	if (before == serial_threshold + 1) {
		group->parallel_until = bpf_ktime_get_ns();
		change |= PHASE_BECAME_SERIAL;
	}
	if (before == phase_full)
		change |= PHASE_CEASED_FULL;
	if (before == 2)
		phase_meet(group);
	return change;
}

/* Ready threads of a group, including this one: a thread that is about to wake counts, too. */
static __always_inline s32 phase_ready(struct task_ctx *tctx, struct group *group)
{
	return group->nr_ready + !tctx->ready;
}

/*
 * Whether a group's serial phases count: the group was parallel not long ago.
 *
 * The paper speaks of parallel programs. A program that never has more threads than the threshold is always "serial". Where every program
 * is, all come first and therefore none does; worse, sequential programs would never be sorted by their memory intensity. So a serial
 * phase is one between parallel phases. serial_single takes the paper literally.
 */
static __always_inline bool phase_has_been_parallel(struct group *group)
{
	u64 until = group->parallel_until;

	return until && bpf_ktime_get_ns() - until < (u64)serial_memory_ms * NSEC_PER_MSEC;
}

#endif /* __TANDEM_STATE_PHASE_H */
