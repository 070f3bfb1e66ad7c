/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With whom: run queues sorted by memory intensity, in synchronised epochs (Merkel & Bellosa, section 4.1).
 *
 * Each CPU has a sorted queue. On the first CPU of a pair intensity falls along the queue, on the second it rises, so that a memory-bound
 * task meets a compute-bound one. The paper's tasks never sleep. Here only tasks that use up their slices have turns in the sorted queue
 * of their CPU. All other tasks wait in the CPU's line.
 *
 * Virtual time is the base's. Virtual time decides between the line and the sorted queue: the first task in the line goes before the next
 * turn if it is due before the average of the tasks that wait for turns. Turns alone are fair by weight among the tasks of one CPU only.
 * So a task that is far from the average as its turn begins waits in the line the next time. There the base gives the task the time that
 * it is owed, on any CPU of the line, or makes it wait.
 */
#ifndef __TANDEM_SORTED_SORTED_H
#define __TANDEM_SORTED_SORTED_H

#include "epochs.bpf.h"
#include "../base/dispatch.bpf.h"
#include "../base/enqueue.bpf.h"
#include "../base/running.bpf.h"

enum {
	/* How far a task may be from the average: the virtual time of this many slices, its own or those of nice 0. */
	SORTED_APART = 4,
	/* The average follows a task that begins a turn by a quarter, and a task that weighs less than others in its queue by less. */
	SORTED_SHIFT = 2,
};

/* By line: the virtual time of tasks that have turns, which is the average of the tasks that began one. */
u64 sorted_vtimes[MAX_LINES];

/* The average, or the line's own clock if the average is out of date. */
static __always_inline u64 sorted_clock(u32 number)
{
	u64 clock = line_at(number)->vtime, average = sorted_vtimes[number & (MAX_LINES - 1)];

	return average - clock + SAME_NS > 2 * SAME_NS ? clock : average;
}

/* Whether a task waits for its turn on a CPU. */
static __always_inline bool sorted_waits(u32 cpu)
{
	return is_on(SORTED) && rq_of(cpu)->nr_waiting > 0;
}

/* When the tasks that wait for turns are due, on the scale of the line's places. */
static __always_inline u64 sorted_due(u32 number)
{
	return sorted_clock(number) + REQUEST_MOST;
}

/* The place of the task that is due first in a CPU's line, or for its turn there; returns whether a task waits. */
static __always_inline bool sorted_first(struct base_cpu *bctx, u64 *place)
{
	bool waits = waiting_first(bctx->number, QUEUE_LINE | bctx->line, place);
	u64 due;

	if (!sorted_waits(bctx->number))
		return waits;
	due = sorted_due(bctx->line);
	if (!waits || vtime_before(due, *place))
		*place = due;
	return true;
}

/*
 * Whether a task may have turns on a CPU: it is an application's, counters have measured it, and it has used up a slice since it woke.
 * Tasks that are pinned, of the idle class or of a rank do not have turns.
 */
static __always_inline bool sorted_suits(struct task_struct *p, struct task_ctx *tctx, u32 cpu)
{
	return tctx->counted.measured && !tctx->sorted.apart && !tctx->base.idles && tctx->base.ran >= SLICE_LONE &&
	       p->nr_cpus_allowed > 1 && !must_stay(p) && rq_of(cpu)->exists && place_of(tctx) == PLACE_APPLICATION &&
	       sorted_is_worth_it(cpu);
}

/* Queues a task for a turn in the next epoch, or, if its turn was cut short, for the rest of the turn in this epoch. */
static __noinline int sorted_insert(struct task_struct *p, struct task_ctx *tctx, u32 cpu, u64 enq_flags)
{
	struct run_queue *rq = rq_of(cpu);
	struct sorted_task *turn = &tctx->sorted;
	u64 epoch = turn->rest ? rq->epoch : rq->epoch + 1;

	/* The kernel moves waiting tasks without a callback when their CPU is no longer allowed. */
	rq_uncount(turn);
	turn->takes_part = true;
	turn->weight = weight_with_group(&tctx->base);
	turn->intensity = tctx->counted.traffic;
	rq_count(rq, turn, cpu, epoch);
	dsq_insert_vtime(p, QUEUE_CPU + (cpu & (MAX_CPUS - 1)), sorted_slice_ns(),
			 turn->rest ? epoch << 16 : rq_key(rq, epoch, turn->intensity), enq_flags);
	base_kick(idle_pick_waiting(p, &tctx->base, cpu), line_of(cpu));
	return 0;
}

/* The virtual time of a slice, the task's own or that of nice 0 if that is longer. */
static __always_inline u64 sorted_slice(struct base_task *task)
{
	u64 pace = task->credit / (CREDIT_NS / 1024);

	return sorted_slice_ns() * (pace > 1024 ? pace : 1024) >> 10;
}

/* Whether a task that has just run has still had less than others, as it slept: it does not wait for a turn. */
static __always_inline bool sorted_is_owed(struct task_ctx *tctx)
{
	return !tctx->sorted.takes_part && vtime_before(tctx->base.vtime, sorted_clock(tctx->base.line));
}

/*
 * Queues a task in the line that is far from the others' virtual time. The task has not slept, so the time that it is behind or ahead is
 * not bounded, as it would be for savings from sleep.
 */
static __noinline int sorted_settle(struct task_struct *p, struct task_ctx *tctx, u32 cpu, u64 enq_flags)
{
	struct base_task *task = &tctx->base;
	u32 number = line_of(cpu);

	line_enter(task, number);
	tctx->sorted.settles = true;
	dsq_insert_vtime(p, QUEUE_LINE | number, task->slice, task->vtime + task->request + base_chance(task), enq_flags);
	base_kick(idle_pick_waiting(p, task, cpu), number);
	return 0;
}

/* Queues a task for its next turn, if it has turns, or in the line if it is far from the others; returns whether the task is queued. */
static __always_inline bool sorted_enqueue(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);

	bool apart = tctx->sorted.apart;

	tctx->sorted.apart = tctx->sorted.settles = false;
	if (tctx->base.ran_on && !(enq_flags & SCX_ENQ_LAST) && sorted_suits(p, tctx, cpu)) {
		if (!apart && !sorted_is_owed(tctx)) {
			sorted_insert(p, tctx, cpu, enq_flags);
			return true;
		}
		if (apart) {
			sorted_settle(p, tctx, cpu, enq_flags);
			return true;
		}
	}
	rq_uncount(&tctx->sorted);
	tctx->sorted.rest = 0;
	count(TANDEM_STAT_SORTED_NEWCOMERS);
	return false;
}

/*
 * The time left of the running task's turn, ns. A turn is cut short only by a tick while a task may be waiting, and by a task that takes
 * the CPU.
 */
static __always_inline u64 sorted_rest(struct task_struct *p, struct sorted_task *turn)
{
	u64 ran = p->se.sum_exec_runtime;

	return turn->until > ran + sorted_slice_ns() / 4 ? turn->until - ran : 0;
}

/* Lets the running task go on for @slice ns of its turn. Its distance to the clock is not bounded, as above. */
static __always_inline void sorted_goes_on(struct task_struct *prev, struct task_ctx *tctx, struct base_cpu *bctx, u64 slice)
{
	line_advance(&tctx->base, line_at(bctx->line), sorted_clock(bctx->line));
	base_keeps(prev, &tctx->base, bctx);
	prev->scx.slice = slice;
	tctx->sorted.until = prev->se.sum_exec_runtime + slice;
}

/* The last task of an epoch goes on if its place in the next one is the first. */
static __noinline int sorted_begins_next(struct task_struct *prev, struct task_ctx *tctx, struct base_cpu *bctx)
{
	struct run_queue *rq = rq_of(bctx->number);
	u64 now = bpf_ktime_get_ns();
	u32 weight;
	s32 first;

	if (rq->left > 0)
		return false;
	first = epoch_first(bctx->number);
	if (first < 0 || rq_key(rq, 0, tctx->counted.traffic) + EXCHANGE_STEP > rq_key(rq, 0, first))
		return false;
	weight = weight_with_group(&tctx->base);
	epoch_begin(rq, bctx->number, weight, now);
	sorted_goes_on(prev, tctx, bctx, epoch_turn(rq, weight, now));
	count(TANDEM_STAT_SORTED_TURNS);
	return true;
}

/* Takes a pinned task that is due before @due and before the line's first task, or a task of the idle class if that class is due. */
static __noinline int sorted_take_unusual(struct base_cpu *bctx, u64 due)
{
	u32 cpu = bctx->number, number = bctx->line;
	u64 pinned, first;

	if (bctx->has_pinned) {
		bool waits = waiting_first(cpu, QUEUE_PINNED | cpu, &pinned);

		if (!waits) {
			bctx->has_pinned = false;
		} else if (vtime_before(pinned, due) &&
			   !(waiting_first(cpu, QUEUE_LINE | number, &first) && vtime_before(first, pinned))) {
			bctx->deadline = pinned;
			bctx->took = dsq_move_to_local(QUEUE_PINNED | cpu);
			return bctx->took;
		}
	}
	return base_idle_class_due(line_at(number), number) && dsq_move_to_local(QUEUE_LINE_IDLE | number);
}

/* Takes a task from the line if it is due before @due. If @task would go on otherwise, its leeway counts. */
static __noinline int sorted_take_line(struct base_cpu *bctx, struct base_task *task, u64 due)
{
	u64 leeway = task ? waiting_leeway(task->slice) : 0;
	struct waiting waiting = {};

	if (!scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line))
		return false;
	waiting_look(bctx->number, &waiting);
	if (!waiting.any)
		return false;
	leeway = waiting_least(waiting.leeway, leeway);
	if (!vtime_before(waiting.place + leeway, due)) {
		if (task)
			base_stays(task, bctx, waiting.place + leeway);
		return false;
	}
	bctx->deadline = waiting.first;
	bctx->took = waiting_take(bctx, &waiting);
	return bctx->took;
}

/* Takes the next task that waits for a turn on this CPU. */
static __always_inline bool sorted_take_turn(struct base_cpu *bctx)
{
	bctx->deadline = sorted_clock(bctx->line);
	bctx->took = dsq_move_to_local(QUEUE_CPU + bctx->number);
	return bctx->took;
}

static __always_inline bool sorted_steal_from(u32 cpu, u32 other)
{
	if (other == cpu || rq_of(other)->nr_waiting <= 0 || !dsq_move_to_local(QUEUE_CPU + (other & (MAX_CPUS - 1))))
		return false;
	count(TANDEM_STAT_SORTED_STOLEN);
	return true;
}

/* Takes a task that waits for a turn on another CPU, of the same line first; for an idle CPU. */
__noinline int sorted_steal(u32 cpu)
{
	struct line *line = line_at(line_of(cpu));
	s32 at;

	for_range(at, 0, line->nr_cpus)
		if (sorted_steal_from(cpu, line_cpus[(line->first + at) & (MAX_CPUS - 1)]))
			return true;
	return nr_lines > 1 && balance_steal(cpu);
}

/* How much a task's lead counts in the average: virtual time of a task of little weight is coarse. */
static __always_inline s64 sorted_counts(struct base_task *task, u32 cpu, s64 ahead)
{
	struct run_queue *rq = rq_of(cpu);
	u64 weight = weight_with_group(task), mean = rq->all_weight / ((rq->nr_waiting > 0 ? (u32)rq->nr_waiting : 0) + 1);
	u64 part = weight < mean ? (weight << 10) / (mean ?: 1) : 1 << 10;

	return (ahead * (s64)part) >> (10 + SORTED_SHIFT);
}

/* Notes how far a task is from those that have turns; the average follows. */
static __noinline int sorted_compare(struct task_ctx *tctx, struct base_cpu *bctx)
{
	struct base_task *task = &tctx->base;
	u64 clock = sorted_clock(bctx->line), most = SORTED_APART * sorted_slice(task);
	s64 ahead = task->vtime - clock;

	tctx->sorted.apart = ahead > (s64)most || -ahead > (s64)most;
	sorted_vtimes[bctx->line] = clock + sorted_counts(task, bctx->number, ahead);
	if (bctx->has_lines && vtime_before(task->vtime + most, line_at(steal_random_line())->vtime))
		tctx->sorted.apart = true;
	return 0;
}

/* Whether the first task of a queue has had less time than @than, which has just run, by more than a slice. */
static __noinline int sorted_is_behind(u32 other, struct task_ctx *than)
{
	struct task_struct *p;

	for_queued(it, p, QUEUE_CPU + (other & (MAX_CPUS - 1))) {
		struct task_ctx *tctx = task_of(p);

		return tctx && vtime_before(tctx->base.vtime + sorted_slice(&tctx->base), than->base.vtime);
	}
	return false;
}

/*
 * Takes the first task of another CPU's queue if that is longer by two than this CPU's with @prev back in it. One is enough if the task
 * has had less time than @prev: where tasks do not divide evenly the longer queue goes around. An idle CPU takes waiting tasks anyway.
 */
static __always_inline bool sorted_take_longer(u32 cpu, u32 other, u32 own, struct task_ctx *prev)
{
	u32 nr = rq_nr(other);

	if (other == cpu || rq_of(other)->nr_waiting <= 0 || nr <= own)
		return false;
	if (nr == own + 1 && !(prev && idle_none() && sorted_is_behind(other, prev)))
		return false;
	if (!dsq_move_to_local(QUEUE_CPU + (other & (MAX_CPUS - 1))))
		return false;
	count(TANDEM_STAT_SORTED_BALANCED);
	return true;
}

/*
 * As an epoch begins, or a lone task's slice is over: evens the lengths of queues, with the chip's and one CPU anywhere, or, if lengths
 * are even, their tasks. Returns whether it took a task to run.
 */
static __noinline int sorted_even(u32 cpu, struct task_ctx *prev)
{
	struct run_queue *rq = rq_of(cpu);
	struct chip *chip = chip_of(cpu);
	u32 own = (u32)rq->nr_waiting + (prev != 0);

	chip_look(cpu, bpf_ktime_get_ns());
	if (sorted_take_longer(cpu, chip->longest, own, prev))
		return true;
	rq->probed = rq->probed + 1 < nr_cpus ? rq->probed + 1 : 0;
	if (sorted_take_longer(cpu, rq->probed, own, prev))
		return true;
	balance_kinds(cpu);
	return false;
}

/* A task waits for its turn on this CPU: chooses between that task, a task from the line, and the task that ran until now. */
static __noinline int sorted_dispatch_turns(struct task_struct *prev, struct task_ctx *tctx, struct base_cpu *bctx)
{
	struct run_queue *rq = rq_of(bctx->number);
	struct base_task *task = tctx ? &tctx->base : 0;
	u64 due = sorted_due(bctx->line);

	if (sorted_take_line(bctx, 0, due))
		return true;
	if (task && base_take_owed(bctx, task, due, waiting_leeway(task->slice)))
		return true;
	if (rq->balance) {
		rq->balance = false;
		if (sorted_even(bctx->number, tctx))
			return true;
	}
	if (task && cpu_of(bctx->number)->rank == RANK_NORMAL) {
		if (sorted_suits(prev, tctx, bctx->number)) {
			if (sorted_begins_next(prev, tctx, bctx))
				return true;
		} else if (!tctx->sorted.apart && vtime_before(task->vtime + task->request, due)) {
			base_goes_on(prev, task, bctx, sorted_clock(bctx->line));
			return true;
		}
	}
	return sorted_take_turn(bctx);
}

/* Gives a CPU its next task, where sorting decides; returns false if the base decides. */
static __noinline int sorted_dispatch(struct task_struct *prev, struct base_cpu *bctx)
{
	struct run_queue *rq = rq_of(bctx->number);
	struct task_ctx *tctx = 0;
	u64 rest = 0;

	if (nr_sorted_waiting <= 0 || !rq->exists)
		return false;
	if (is_queued(prev) && base_could_go_on(prev, bctx, line_at(bctx->line)))
		tctx = task_of(prev);
	if (tctx) {
		if (rq->cut)
			rest = sorted_rest(prev, &tctx->sorted);
		else
			/* The turn is over, also for a task that yields. */
			tctx->sorted.until = 0;
	}
	rq->cut = false;
	if (!rest && rq->nr_waiting <= 0) {
		if (!tctx)
			return !scx_bpf_dsq_nr_queued(QUEUE_LINE | bctx->line) && !bctx->has_pinned && sorted_steal(bctx->number);
		/* The task is alone: its turn is as long as others'. */
		sorted_compare(tctx, bctx);
		if (idle_none() && sorted_even(bctx->number, tctx))
			return true;
		rest = sorted_slice_ns();
		if (base_take_owed(bctx, &tctx->base, tctx->base.vtime + tctx->base.request, waiting_leeway(tctx->base.slice)))
			return true;
	}
	if (bctx->idles)
		base_charge_idle(prev, bctx);
	if ((bctx->unusual || nr_idle_class > 0) &&
	    sorted_take_unusual(bctx, rest ? tctx->base.vtime + tctx->base.request : sorted_due(bctx->line)))
		return true;
	if (!rest)
		return sorted_dispatch_turns(prev, tctx, bctx);
	if (sorted_take_line(bctx, &tctx->base, tctx->base.vtime + tctx->base.request))
		return true;
	sorted_goes_on(prev, tctx, bctx, rest);
	return true;
}

/*
 * A tick; returns whether the base has nothing to do with slices now. A task that has its turn is left alone if no other task waits. Any
 * other task gives the CPU to the tasks that wait for turns after a slice of the base.
 */
static __always_inline bool sorted_tick(struct task_struct *p, struct base_cpu *bctx)
{
	struct run_queue *rq = rq_of(bctx->number);

	if (nr_sorted_waiting <= 0)
		return false;
	if (bctx->idles) {
		p->scx.slice = 0;
		return true;
	}
	if (rq->nr_waiting <= 0)
		return false;
	if (age_is_time(bctx)) {
		p->scx.slice = 0;
		return true;
	}
	if (rq->in_turn)
		return !bctx->crowd && !bctx->has_pinned && !line_idle_waits(bctx->line);
	if (p->se.sum_exec_runtime - bctx->charged >= line_slice(line_at(bctx->line), bctx->crowd))
		p->scx.slice = 0;
	return true;
}

/* A task's turn begins. A task that was taken from another queue is no longer in step with that queue. A wait for a turn is no sleep. */
static __noinline int sorted_begin_turn(struct task_struct *p, struct task_ctx *tctx, struct base_cpu *bctx)
{
	struct run_queue *rq = rq_of(bctx->number);
	struct sorted_task *turn = &tctx->sorted;
	bool here = turn->waits_on == bctx->number + 1;
	u64 now = bpf_ktime_get_ns(), slice = sorted_slice_ns();

	rq_uncount(turn);
	if (here && turn->epoch > rq->epoch)
		epoch_begin(rq, bctx->number, turn->weight, now);
	if (here)
		slice = epoch_turn(rq, turn->weight, now);
	if (turn->rest)
		slice = turn->rest;
	else
		sorted_compare(tctx, bctx);
	turn->rest = 0;
	turn->until = p->se.sum_exec_runtime + slice;
	/* The task's group may have used up its quota: the task then stops at once. */
	if (!bctx->limited)
		p->scx.slice = slice;
	rq->in_turn = true;
	count(TANDEM_STAT_SORTED_TURNS);
	return 0;
}

/* A task begins to run. */
static __always_inline void sorted_begins(struct task_struct *p, struct task_ctx *tctx, struct base_cpu *bctx)
{
	struct run_queue *rq = rq_of(bctx->number);
	struct base_task *task = &tctx->base;
	u64 vtime;

	rq->cut = rq->in_turn = false;
	cpu_of(bctx->number)->idle = false;
	if (!tctx->sorted.waits_on && !tctx->sorted.settles) {
		base_begins(p, task, bctx);
		tctx->sorted.until = 0;
		/* A task that comes from the line has as long a turn as others. */
		if (nr_sorted_waiting > 0 && task->ran >= SLICE_LONE && sorted_suits(p, tctx, bctx->number))
			sorted_begin_turn(p, tctx, bctx);
		return;
	}
	/* The task has not slept: the time that it is behind is not bounded. */
	tctx->sorted.settles = false;
	line_enter(task, bctx->line);
	vtime = task->vtime;
	/* The line's time does not advance to the task's either: tasks wait that are not in the line. */
	bctx->deadline = sorted_clock(bctx->line);
	bctx->took = true;
	base_begins(p, task, bctx);
	task->vtime = vtime;
	/* A task that wakes preempts this task as any other that has turns, however far this task is behind. */
	bctx->deadline = vtime + task->request;
	if (vtime_before(bctx->deadline, sorted_due(bctx->line)))
		bctx->deadline = sorted_due(bctx->line);
	sorted_begin_turn(p, tctx, bctx);
}

/* A task stops. */
static __always_inline void sorted_stopping(struct task_struct *p, struct task_ctx *tctx, struct base_cpu *bctx, bool runnable)
{
	struct sorted_task *turn = &tctx->sorted;

	rq_of(bctx->number)->in_turn = false;
	turn->rest = runnable ? sorted_rest(p, turn) : 0;
	turn->takes_part &= runnable;
	turn->until = 0;
}

#endif /* __TANDEM_SORTED_SORTED_H */
