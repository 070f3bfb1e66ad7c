/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sorted: epochs and turns (Merkel & Bellosa, section 4.1).
 *
 * Each task runs once in an epoch, for a part of what is left of it in proportion to its weight: all CPUs come to the end together, those
 * with fewer tasks by longer turns. What makes a CPU late, or leaves it with nothing to do too early, is made good within the next turns.
 */
#ifndef __TANDEM_SORTED_EPOCHS_H
#define __TANDEM_SORTED_EPOCHS_H

#include "balance.bpf.h"

/* sorted is asked for and can act; it does as soon as there are counters. */
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

/* Creates the CPUs' queues. */
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

/* Whether to sort: where no task waits for memory, queues by CPU cost more than one for all of them. The paper sorts always. */
static __always_inline bool sorted_is_worth_it(u32 cpu)
{
	return sorted_always || counters_memory_matters(cpu);
}

/*
 * Begins a CPU's epoch, with a task of weight @weight and those that wait. It ends with the pair's, or with the pair's next
 * one if that has hardly a quarter of its time left: after one epoch both CPUs are in step.
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
 * How long a turn is: the task's part, by weight, of what is left of the epoch, which it shares with all that are still to
 * run in it. Not less than a quarter of a slice, also if the CPU is late.
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
