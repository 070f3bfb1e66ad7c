/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sorted: equal queues. Every CPU has as many tasks as others, and tasks of different intensity. (Merkel & Bellosa,
 * section 4.1: the balancer, whose criteria and period the paper leaves open.)
 *
 * A CPU that begins an epoch, or ends a slice of a lone task, takes a task from the longest queue of its chip, if that queue has more
 * tasks than the CPU's own would have then. Where tasks do not divide evenly the longer queue goes around, so that all tasks have the
 * same time in the end. If lengths are even the CPU exchanges tasks. It gives a memory-bound task for a compute-bound one of the CPU with
 * the least intensity, so that sums are even. Or, as in the paper, it exchanges tasks so that each CPU has tasks of different intensity
 * (sorted_balance).
 */
#ifndef __TANDEM_SORTED_BALANCE_H
#define __TANDEM_SORTED_BALANCE_H

#include "pairs.bpf.h"
#include "../clocks/counters.bpf.h"

enum {
	/* By how much tasks must differ to be worth an exchange, of 1024. */
	EXCHANGE_STEP = 64,
};

/* Counts a task in a queue: its turn is in @epoch. */
static void rq_count(struct run_queue *rq, struct sorted_task *turn, u32 on, u64 epoch)
{
	turn->waits_on = on + 1;
	turn->epoch = epoch;
	__sync_fetch_and_add(&rq->nr_waiting, 1);
	__sync_fetch_and_add(&rq->intensity, (s32)turn->intensity);
	__sync_fetch_and_add(&rq->weight, (s64)turn->weight);
	if (epoch <= rq->epoch)
		__sync_fetch_and_add(&rq->left, (s64)turn->weight);
	__sync_fetch_and_add(&nr_sorted_waiting, 1);
}

/* Takes a task out of its queue's sums. */
static void rq_uncount(struct sorted_task *turn)
{
	struct run_queue *rq = rq_of(turn->waits_on - 1);

	if (!turn->waits_on)
		return;
	turn->waits_on = 0;
	__sync_fetch_and_add(&rq->nr_waiting, -1);
	__sync_fetch_and_add(&rq->intensity, -(s32)turn->intensity);
	__sync_fetch_and_add(&rq->weight, -(s64)turn->weight);
	if (turn->epoch <= rq->epoch)
		__sync_fetch_and_add(&rq->left, -(s64)turn->weight);
	__sync_fetch_and_add(&nr_sorted_waiting, -1);
}

/*
 * The place of a turn in a queue: by epoch, then by intensity. The highest intensity comes first on a pair's first CPU, last on its
 * second.
 */
static __always_inline u64 rq_key(const struct run_queue *rq, u64 epoch, u32 intensity)
{
	return epoch << 16 | (rq->position & 1 ? intensity : TRAFFIC_MOST - intensity) + 1;
}

/* The task of a queue that an exchange wants: with the highest or the lowest intensity. */
struct extreme {
	u32 intensity;
	s32 pid;
};

/* In memory, where the verifier does not follow it through the loop; one for each CPU that exchanges. */
struct extreme extremes[2 * MAX_CPUS];

/* Finds the task of a queue that has the highest intensity, or the lowest, and may run on @to. */
static void balance_find(struct extreme *found, u32 from, u32 to, bool highest)
{
	struct task_struct *p;
	struct task_ctx *tctx;

	found->pid = 0;
	for_queued(it, p, QUEUE_CPU + from) {
		tctx = task_of(p);
		if (!tctx || !may_run_on(p, to))
			continue;
		if (found->pid && (highest ? tctx->sorted.intensity <= found->intensity :
					     tctx->sorted.intensity >= found->intensity))
			continue;
		found->intensity = tctx->sorted.intensity;
		found->pid = p->pid;
	}
}

/*
 * Moves a task from one queue to another. Its turn is as far ahead there as here. The task's CPU may take it at the same moment; sums are
 * then wrong until the task is queued again.
 */
static void balance_move(s32 pid, u32 from, u32 to)
{
	struct run_queue *there = rq_of(to);
	struct task_struct *p;
	struct task_ctx *tctx;
	u64 epoch;

	for_queued(it, p, QUEUE_CPU + from) {
		if (p->pid != pid)
			continue;
		tctx = task_of(p);
		if (!tctx)
			break;
		epoch = there->epoch + (tctx->sorted.epoch > rq_of(from)->epoch);
		if (!dsq_move_vtime(&it, p, QUEUE_CPU + to, rq_key(there, epoch, tctx->sorted.intensity)))
			break;
		rq_uncount(&tctx->sorted);
		rq_count(there, &tctx->sorted, to, epoch);
		break;
	}
}

/* Exchanges a task of @cpu for one of its chip's CPU with the least intensity, if that makes their sums more even. */
__noinline int balance_exchange(u32 cpu, u32 light)
{
	struct extreme *give = &extremes[2 * (cpu & (MAX_CPUS - 1))], *take = give + 1;
	s32 difference = rq_intensity(cpu) - rq_intensity(light), gain;

	/* Lengths may differ for a while, and sums with them. */
	if (rq_nr(cpu) != rq_nr(light))
		return 0;
	/* The sums' difference falls by twice the tasks' difference. */
	if (difference < 2 * EXCHANGE_STEP || rq_of(light)->nr_waiting <= 0)
		return 0;
	balance_find(give, cpu, light, true);
	balance_find(take, light, cpu, false);
	if (!give->pid || !take->pid)
		return 0;
	gain = give->intensity - take->intensity;
	if (gain < EXCHANGE_STEP || gain > difference - EXCHANGE_STEP)
		return 0;
	balance_move(give->pid, cpu, light);
	balance_move(take->pid, light, cpu);
	count(TANDEM_STAT_SORTED_EXCHANGED);
	return 0;
}

/* The lowest and highest intensity of a queue. In memory for the same reason. */
struct ends {
	u32 least;
	u32 most;
};

struct ends queue_ends[MAX_CPUS];

static __always_inline void ends_add(struct ends *ends, u32 intensity)
{
	if (intensity < ends->least)
		ends->least = intensity;
	if (intensity > ends->most)
		ends->most = intensity;
}

/*
 * How far apart the intensities of a CPU's tasks are, including the running task. If @but is not 0, a task of intensity @instead replaces
 * the waiting task @but.
 */
static u32 balance_variety(struct ends *ends, u32 cpu, s32 but, u32 instead)
{
	struct task_struct *p;
	struct task_ctx *tctx;

	ends->least = TRAFFIC_MOST;
	ends->most = 0;
	if (!cpu_of(cpu)->idle)
		ends_add(ends, cpu_of(cpu)->counted.traffic);
	if (but)
		ends_add(ends, instead);
	for_queued(it, p, QUEUE_CPU + (cpu & (MAX_CPUS - 1))) {
		tctx = task_of(p);
		if (tctx && p->pid != but)
			ends_add(ends, tctx->sorted.intensity);
	}
	return ends->most > ends->least ? ends->most - ends->least : 0;
}

/*
 * Exchanges a task of @cpu for one of @other if the smaller of their varieties grows by that. The CPU whose tasks are more intense on
 * average gives its most intense task.
 */
__noinline int balance_vary(u32 cpu, u32 other)
{
	struct extreme *give = &extremes[2 * (cpu & (MAX_CPUS - 1))], *take = give + 1;
	struct ends *ends = &queue_ends[cpu & (MAX_CPUS - 1)];
	bool heavier = rq_intensity(cpu) * (s64)rq_nr(other) > rq_intensity(other) * (s64)rq_nr(cpu);
	u32 own, others, least;

	if (cpu == other || rq_of(other)->nr_waiting <= 0)
		return 0;
	own = balance_variety(ends, cpu, 0, 0);
	others = balance_variety(ends, other, 0, 0);
	least = own < others ? own : others;
	balance_find(give, cpu, other, heavier);
	balance_find(take, other, cpu, !heavier);
	if (!give->pid || !take->pid)
		return 0;
	own = balance_variety(ends, cpu, give->pid, take->intensity);
	others = balance_variety(ends, other, take->pid, give->intensity);
	if ((own < others ? own : others) < least + EXCHANGE_STEP)
		return 0;
	balance_move(give->pid, cpu, other);
	balance_move(take->pid, other, cpu);
	count(TANDEM_STAT_SORTED_EXCHANGED);
	return 0;
}

/* Balances the tasks of a CPU's queue: with the CPU that needs it most, or, for variety, with another CPU of its chip each time. */
static void balance_kinds(u32 cpu)
{
	struct run_queue *rq = rq_of(cpu);
	u32 lightest = chip_of(cpu)->lightest;

	if (sorted_balance == TANDEM_SORTED_BALANCE_VARIETY) {
		rq->varied = rq_of(rq->varied)->next;
		balance_vary(cpu, rq->varied);
	} else if (rq_of(lightest)->exists) {
		balance_exchange(cpu, lightest);
	}
}

/* Takes any waiting task that may run here, those of the next CPUs first; for an idle CPU. */
__noinline int balance_steal(u32 cpu)
{
	s32 step;

	for_range(step, 1, nr_cpus) {
		u32 other = cpu + step < nr_cpus ? cpu + step : cpu + step - nr_cpus;

		if (rq_of(other)->nr_waiting <= 0 || !dsq_move_to_local(QUEUE_CPU + (other & (MAX_CPUS - 1))))
			continue;
		count(TANDEM_STAT_SORTED_STOLEN);
		return true;
	}
	return false;
}

#endif /* __TANDEM_SORTED_BALANCE_H */
