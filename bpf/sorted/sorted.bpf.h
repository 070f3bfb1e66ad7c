/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With whom: run queues sorted by memory intensity, in synchronised epochs (Merkel & Bellosa, section 4.1).
 *
 * Each CPU has a queue. On the first CPU of a pair it is sorted by falling intensity, on the second by rising, so that a
 * memory-bound task meets a compute-bound one. Each task runs once in an epoch, for a part of what is left of it in
 * proportion to its weight: all CPUs come to the end together, those with fewer tasks by longer turns. What makes a CPU
 * late, or leaves it with nothing to do too early, is thus made good within the next turns.
 *
 * The paper's tasks never sleep. Here a task that wakes or is new does not wait for a turn: it waits in the queue for all
 * CPUs, by virtual time, and enters the queue of the CPU that took it when it has used up a slice there. CPUs take from
 * the common queue first as long as its first task has had less than those in the sorted queues have on average.
 */
#ifndef __TANDEM_SORTED_H
#define __TANDEM_SORTED_H

#include "balance.bpf.h"
#include "../base/counters.bpf.h"
#include "../base/place.bpf.h"

enum {
	/* Epochs after which a CPU takes from the common queue first in any case. */
	NEWCOMERS_EPOCHS = 8,
};

/* sorted is asked for and can act; it does as soon as there are counters. */
bool sorted_wanted;

/* Virtual time: average of the tasks whose turns begin; and of the first task in the common queue, or less. */
u64 sorted_vtime, newcomers_vtime;

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

/* The virtual time that a task which slept is compared with. */
static __always_inline u64 sorted_base_vtime(void)
{
	return nr_sorted_waiting > 0 ? sorted_vtime : vtime_now;
}

/* The queue for a task's next turn: that of its CPU, or of the least loaded CPU of the fastest kind if it should have one. */
static u32 sorted_cpu_for(struct task_struct *p, enum wish wish)
{
	u32 cpu = scx_bpf_task_cpu(p), best = cpu;
	s32 at;

	if (wish != WISH_FAST || !cpu_of(cpu)->kind)
		return cpu;
	for_range(at, 0, MAX_CPUS) {
		u32 fast = cpus_by_speed[at & (MAX_CPUS - 1)];

		if (at >= nr_cpus || cpu_of(fast)->kind)
			break;
		if (!rq_of(fast)->exists || !may_run_on(p, fast))
			continue;
		if (cpu_of(best)->kind || rq_nr(fast) < rq_nr(best))
			best = fast;
	}
	return best;
}

/* Queues a task for a turn; in an epoch that runs already it is the next one. */
static void sorted_insert(struct task_struct *p, struct task_ctx *tctx, u32 cpu, u64 epoch, u64 enq_flags)
{
	struct run_queue *rq = rq_of(cpu);
	struct sorted_task *turn = &tctx->sorted;

	/* The kernel moves waiting tasks without a word when their CPU is no longer allowed. */
	rq_uncount(turn);
	turn->weight = p->scx.weight;
	turn->intensity = tctx->counted.traffic;
	turn->vtime = p->scx.dsq_vtime;
	rq_count(rq, turn, cpu, epoch);
	dsq_insert_vtime(p, QUEUE_CPU + (cpu & (MAX_CPUS - 1)), sorted_slice_ns(),
			 epoch <= rq->epoch ? epoch << 16 : rq_key(rq, epoch, turn->intensity), enq_flags);
}

/* Whether to sort: where no task waits for memory, queues by CPU cost more than one for all of them. The paper sorts always. */
static __always_inline bool sorted_is_worth_it(u32 cpu)
{
	return sorted_always || counters_memory_matters(cpu);
}

/*
 * Queues a task whose turn is over or was cut short; false if it wakes or is new.
 *
 * One that may use some CPUs only would have to be searched for in the common queue by all: it waits here also if it wakes, for
 * the first turn if it has had less than others.
 */
static bool sorted_enqueue(struct task_struct *p, struct task_ctx *tctx, enum wish wish, u64 enq_flags)
{
	struct sorted_task *turn = &tctx->sorted;
	bool over = turn->over, bound = !may_run_everywhere(p);
	u32 cpu = sorted_cpu_for(p, wish);
	struct run_queue *rq = rq_of(cpu);
	u64 epoch = rq->epoch + 1;

	turn->over = false;
	turn->newcomer = !rq->exists || !may_run_on(p, cpu) || (!over && !bound) || !sorted_is_worth_it(cpu);
	if (turn->newcomer) {
		rq_uncount(turn);
		count(TANDEM_STAT_SORTED_NEWCOMERS);
		return false;
	}
	if (turn->rest || (!over && vtime_before(p->scx.dsq_vtime, sorted_base_vtime())))
		epoch = rq->epoch;
	sorted_insert(p, tctx, cpu, epoch, enq_flags);
	return true;
}

/* Notes with which virtual time a task enters the common queue. Updates at the same time may lose one, until the next. */
static __always_inline void sorted_note_newcomer(u64 vtime)
{
	if (vtime_before(vtime, newcomers_vtime))
		newcomers_vtime = vtime;
}

/*
 * Whether a CPU takes from the common queue first. Not if that would leave its own tasks less than half of the turns planned:
 * each of these runs once in an epoch, whatever wakes.
 */
static __always_inline bool sorted_newcomers_first(struct run_queue *rq, u64 now)
{
	u64 time = rq->ends > now ? rq->ends - now : 0, length = pair_of(rq->pair)->length;

	if (rq->left > 0 && 2 * time * rq->all_weight < length * (u64)rq->left)
		return false;
	return !vtime_before(sorted_vtime, newcomers_vtime);
}

/*
 * Begins a CPU's epoch, with a task of weight @weight and those that wait. It ends with the pair's, or with the pair's next
 * one if that has hardly a quarter of its time left: after one epoch both CPUs are in step.
 */
static void sorted_begin_epoch(struct run_queue *rq, u32 cpu, u64 weight, u64 now)
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
static u64 sorted_turn(struct run_queue *rq, u64 weight, u64 now)
{
	u64 least = sorted_slice_ns() / 4, time = rq->ends > now ? rq->ends - now : 0;
	u64 slice = time * weight / (weight + (rq->left > 0 ? rq->left : 0));

	return slice > least ? slice : least;
}

/* Moves the average on. A lone task's virtual time is the average; racing updates lose one step. */
static __always_inline void sorted_advance(u64 vtime)
{
	if (nr_sorted_waiting > 0)
		sorted_vtime += (s64)(vtime - sorted_vtime) >> 3;
	else
		sorted_vtime = vtime;
}

/* A task's turn begins, here or, if it was taken from there, in step with another queue no longer. */
static void sorted_begin_turn(struct task_struct *p, struct task_ctx *tctx, u32 cpu)
{
	struct sorted_task *turn = &tctx->sorted;
	struct run_queue *rq = rq_of(cpu);
	bool here = turn->waits_on == cpu + 1;
	u64 now = bpf_ktime_get_ns(), slice = sorted_slice_ns();

	rq_uncount(turn);
	if (here && turn->epoch > rq->epoch)
		sorted_begin_epoch(rq, cpu, turn->weight, now);
	if (here)
		slice = sorted_turn(rq, turn->weight, now);
	p->scx.slice = turn->rest ?: slice;
	p->scx.dsq_vtime = turn->vtime;
	turn->rest = 0;
	sorted_advance(turn->vtime);
	count(TANDEM_STAT_SORTED_TURNS);
}

/* Intensity of the first task of a CPU's queue; negative if there is none. */
__noinline int sorted_first(u32 cpu)
{
	struct task_struct *p;
	struct task_ctx *tctx;

	for_queued(it, p, QUEUE_CPU + (cpu & (MAX_CPUS - 1))) {
		tctx = task_of(p);
		return tctx ? tctx->sorted.intensity : -1;
	}
	return -1;
}

/*
 * The last task of an epoch goes on if its place in the next one is the first. It is in no queue while the CPU looks for its
 * next task, so that this is the only way to get there: two tasks would otherwise alternate for ever, in step or not.
 */
static bool sorted_goes_on(struct task_struct *prev, struct run_queue *rq, u32 cpu)
{
	struct task_ctx *tctx;
	u64 now = bpf_ktime_get_ns(), slice;
	s32 first;

	if (!is_queued(prev) || rq->left > 0 || rq->nr_waiting <= 0)
		return false;
	tctx = task_of(prev);
	if (!tctx || place_of(tctx) != PLACE_APPLICATION || cpu_of(cpu)->rank != RANK_NORMAL || cpu_of(cpu)->wanted_by)
		return false;
	first = sorted_first(cpu);
	if (first < 0 || rq_key(rq, 0, tctx->counted.traffic) + EXCHANGE_STEP > rq_key(rq, 0, first))
		return false;
	sorted_begin_epoch(rq, cpu, prev->scx.weight, now);
	slice = sorted_turn(rq, prev->scx.weight, now);
	prev->scx.slice = slice;
	tctx->slice += slice;
	count(TANDEM_STAT_SORTED_TURNS);
	return true;
}

/* Gives a CPU its next task; @prev is the one that ran, if it could go on. */
static bool sorted_dispatch(s32 cpu, struct task_struct *prev)
{
	struct run_queue *rq = rq_of(cpu);
	u64 now = bpf_ktime_get_ns();
	bool balance = rq->balance;

	rq->balance = false;
	/*
	 * In some epochs the common queue comes first once: there may be a task for which newcomers_vtime is wrong, because only
	 * this CPU may run it now or because CPUs wrote it at the same time.
	 */
	if (((balance && rq->epoch % NEWCOMERS_EPOCHS == 0) || sorted_newcomers_first(rq, now)) && dsq_move_to_local(QUEUE_NORMAL))
		return true;
	if (balance && balance_queue(cpu, prev, now))
		return true;
	if (sorted_goes_on(prev, rq, cpu))
		return true;
	if (dsq_move_to_local(QUEUE_CPU + (cpu & (MAX_CPUS - 1))) || dsq_move_to_local(QUEUE_NORMAL))
		return true;
	if (nr_sorted_waiting <= 0)
		return false;
	/* A lone task shares with the longest queue; a CPU without any takes what there is. */
	if (is_queued(prev))
		return balance_queue(cpu, prev, now);
	return balance_steal(cpu);
}

/* A task begins to run. */
static void sorted_running(struct task_struct *p, struct task_ctx *tctx)
{
	struct sorted_task *turn = &tctx->sorted;

	if (turn->waits_on)
		sorted_begin_turn(p, tctx, bpf_get_smp_processor_id());
	else if (turn->newcomer)
		newcomers_vtime = p->scx.dsq_vtime;
	turn->newcomer = false;
	turn->over = false;
	tctx->slice = p->scx.slice;
}

/*
 * A task stops. If another CPU made it, it goes on in its turn soon; yielding gives up the rest of it, as the kernel takes the
 * slice then.
 */
static void sorted_stopping(struct task_struct *p, struct task_ctx *tctx, u64 ran, bool runnable)
{
	struct cpu_ctx *cctx = cpu_of(bpf_get_smp_processor_id());
	struct sorted_task *turn = &tctx->sorted;
	bool cut = runnable && cctx->preempted && ran + sorted_slice_ns() / 4 < tctx->slice;

	cctx->preempted = false;
	turn->over = runnable;
	turn->rest = cut ? tctx->slice - ran : 0;
}

/* A waiting task leaves its queue without having run: it changes its affinity, weight or class. */
static void sorted_quiescent(struct task_struct *p, struct task_ctx *tctx)
{
	struct sorted_task *turn = &tctx->sorted;

	if (!turn->waits_on)
		return;
	rq_uncount(turn);
	p->scx.dsq_vtime = turn->vtime;
	turn->over = true;
}

#endif /* __TANDEM_SORTED_H */
