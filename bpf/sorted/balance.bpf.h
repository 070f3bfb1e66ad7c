/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sorted: equal queues. Every CPU has as many tasks as its performance allows, and tasks of different intensity (Merkel &
 * Bellosa, section 2: the balancer, whose rules the paper leaves open).
 *
 * A CPU that begins an epoch, or ends a slice of a lone task, takes a task from the longest queue of its chip, if that
 * one has more than it would have then. Where tasks do not divide evenly the longer queue goes around, so that all tasks
 * have the same time in the end. If lengths are even it exchanges a memory-bound task for a compute-bound one of the CPU
 * with the least intensity.
 */
#ifndef __TANDEM_BALANCE_H
#define __TANDEM_BALANCE_H

#include "pairs.bpf.h"

enum {
	/* How different tasks must be to be worth it, of 1024. */
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

/* Takes it out of the sums. */
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

/* Where a turn is in a queue: by epoch, then by intensity, the highest first on a pair's first CPU, last on its second. */
static __always_inline u64 rq_key(const struct run_queue *rq, u64 epoch, u32 intensity)
{
	return epoch << 16 | (rq->position & 1 ? intensity : 1024 - intensity) + 1;
}

/* The one of a queue that an exchange wants: with the highest or the lowest intensity. */
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
 * Moves a task from one queue to another; its turn is as far ahead there as here. Its CPU may take it at the same moment: then
 * sums are wrong until the task is queued again.
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

/* Exchanges a task of @cpu for one of the CPU with the least intensity of its chip, if both have more even sums then. */
__noinline int balance_exchange(u32 cpu, u32 light)
{
	struct extreme *give = &extremes[2 * (cpu & (MAX_CPUS - 1))], *take = give + 1;
	s32 difference = rq_intensity(cpu) - rq_intensity(light), gain;

	/* The sums' difference falls by twice that of the tasks. */
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

/*
 * Whether the first task of a queue has had less time than @prev, which has just run, by more than a slice. Only then does it
 * gain anything to change which of two queues is the longer one.
 */
static bool balance_is_behind(u32 other, struct task_struct *prev, u64 now)
{
	struct task_ctx *tctx, *prev_tctx = task_of(prev);
	struct task_struct *p;
	u64 vtime;

	if (!prev_tctx)
		return false;
	/* What it has just run is not charged yet. */
	vtime = prev->scx.dsq_vtime;
	if (prev_tctx->started)
		vtime += (now - prev_tctx->started) * 100 / prev->scx.weight;
	for_queued(it, p, QUEUE_CPU + (other & (MAX_CPUS - 1))) {
		tctx = task_of(p);
		return tctx && vtime_before(tctx->sorted.vtime + sorted_slice_ns(), vtime);
	}
	return false;
}

/* Takes the first task of another CPU's queue that would still not be shorter than that of @cpu, where @prev ran. */
static bool balance_take(u32 cpu, u32 other, struct task_struct *prev, u64 now)
{
	s32 waiting = rq_of(cpu)->nr_waiting;
	u32 nr = rq_nr(other), load = rq_load(cpu, (waiting > 0 ? waiting : 0) + is_queued(prev) + 1);

	if (other == cpu || rq_of(other)->nr_waiting <= 0 || rq_load(other, nr) < load)
		return false;
	/* The queues would only change places. */
	if (rq_load(other, nr - 1) < load && !(is_queued(prev) && balance_is_behind(other, prev, now)))
		return false;
	if (!dsq_move_to_local(QUEUE_CPU + (other & (MAX_CPUS - 1))))
		return false;
	count(TANDEM_STAT_SORTED_BALANCED);
	return true;
}

/*
 * Balances a CPU's queue with the others of its chip, and its length with that of one CPU anywhere, another one each time:
 * whether it took a task to run.
 */
static bool balance_queue(u32 cpu, struct task_struct *prev, u64 now)
{
	struct run_queue *rq = rq_of(cpu);
	struct chip *chip = chip_of(cpu);

	chip_look(cpu, now);
	if (balance_take(cpu, chip->longest, prev, now))
		return true;
	rq->probed = rq->probed + 1 < nr_cpus ? rq->probed + 1 : 0;
	if (balance_take(cpu, rq->probed, prev, now))
		return true;
	if (rq->nr_waiting > 0 && rq_of(chip->lightest)->exists)
		balance_exchange(cpu, chip->lightest);
	return false;
}

/* Takes any task that waits and may run here, those of the next CPUs first; for a CPU that has nothing to do. */
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

#endif /* __TANDEM_BALANCE_H */
