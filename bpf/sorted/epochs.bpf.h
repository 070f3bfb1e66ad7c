/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sorted: epochs and turns (Merkel & Bellosa, section 4.1).
 *
 * Each task runs once in an epoch, for a part of the time left that is in proportion to its weight. All CPUs come to the end together;
 * those with fewer tasks have longer turns. If a CPU is late, or idle too early, its next turns make up for it.
 */
#ifndef __TANDEM_SORTED_EPOCHS_H
#define __TANDEM_SORTED_EPOCHS_H

#include "balance.bpf.h"

/* sorted was asked for and can act; it begins as soon as there are counters. */
bool sorted_wanted;

static void sorted_init(void)
{
	if (!sorted && !all)
		return;
	pairs_init();
	if (nr_sorted_cpus < 2) {
		sorted_state = TANDEM_STATE_ONE_CPU;
		return;
	}
	sorted_wanted = true;
	sorted_state = TANDEM_STATE_NO_COUNTERS;
}

static s32 sorted_create_queues(void)
{
	s32 cpu, err;

	if (!sorted_wanted)
		return 0;
	for_range(cpu, 0, nr_cpus) {
		err = scx_bpf_create_dsq(QUEUE_CPU + cpu, -1);
		if (err)
			return err;
	}
	return 0;
}

/* Whether to sort: where no task waits for memory, queues by CPU cost more than one for all CPUs. The paper always sorts. */
static __always_inline bool sorted_is_worth_it(u32 cpu)
{
	return sorted_always || counters_memory_matters(cpu);
}

/*
 * Begins a CPU's epoch, with a task of weight @weight and the waiting tasks. The epoch ends with the pair's, or with the pair's next one
 * if the pair's has hardly a quarter of its time left. After one epoch both CPUs are in step.
 */
static void epoch_begin(struct run_queue *rq, u32 cpu, u64 weight, u64 now)
{
	u64 ends = pair_ends(cpu, now), length = pair_of(cpu)->length;

	rq->epoch++;
	rq->ends = ends > now + length / 4 ? ends : ends + length;
	rq->left = rq->weight;
	rq->all_weight = rq->weight + weight;
	rq->balance = true;
}

/*
 * The length of a turn: the task's part, by weight, of the epoch's time left, which it shares with all tasks that are still to run in it.
 * At least a quarter of a slice, even if the CPU is late.
 */
static u64 epoch_turn(struct run_queue *rq, u64 weight, u64 now)
{
	u64 least = sorted_slice_ns() / 4, time = rq->ends > now ? rq->ends - now : 0;
	u64 slice = time * weight / (weight + (rq->left > 0 ? rq->left : 0));

	return slice > least ? slice : least;
}

/* Intensity of the first task of a CPU's queue; negative if there is none. */
__noinline int epoch_first(u32 cpu)
{
	struct task_struct *p;
	struct task_ctx *tctx;

	for_queued(it, p, QUEUE_CPU + (cpu & (MAX_CPUS - 1))) {
		tctx = task_of(p);
		return tctx ? tctx->sorted.intensity : -1;
	}
	return -1;
}

#endif /* __TANDEM_SORTED_EPOCHS_H */
