/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mechanisms over the base of several queues: what the callbacks do where some are on.
 *
 * A task of which no mechanism says anything goes the base's way. Virtual time, weights and utilisation of all tasks are the base's,
 * so that what a mechanism places is charged as any other.
 */
#ifndef __TANDEM_OVER_H
#define __TANDEM_OVER_H

#include "confined.bpf.h"
#include "ranked.bpf.h"
#include "../queues/tick.bpf.h"

/* A task's rank; the idle class has none: it waits behind all others. */
static __always_inline enum rank over_rank(struct task_struct *p, struct task_ctx *tctx)
{
	return active & SERIAL && !tctx->queues.idles ? rank_of(p, tctx) : RANK_NORMAL;
}

/* Which CPU a task should have; pinned tasks have no choice. */
static __always_inline enum wish over_wish(struct task_struct *p, struct task_ctx *tctx, enum rank rank)
{
	return active & (SERIAL | LONGEST) && !tctx->queues.idles ? wish_of(p, tctx, rank) : WISH_ANY;
}

static __always_inline s32 over_found(struct task_struct *p, struct task_ctx *tctx, s32 cpu, s32 prev_cpu, u64 flags)
{
	if (smt && cpu != prev_cpu)
		tctx->moved = bpf_ktime_get_ns();
	count(TANDEM_STAT_BASE_IDLE);
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, flags);
	return cpu;
}

/* The base's way for a task that wakes, on the CPUs that it may use, perhaps without taking another one's. */
static s32 over_select_by_base(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu, u64 wake_flags, bool steps_back)
{
	s32 cpu;

	if (!is_confined() && !steps_back)
		return queues_select_cpu(p, prev_cpu, wake_flags);
	prev_cpu = confined_cpu(p, prev_cpu);
	cpu = is_confined() ? confined_pick_idle(p, prev_cpu) : idle_pick(p, prev_cpu, wake_flags);
	if (cpu >= 0) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
		return cpu;
	}
	cpu = steps_back ? -1 : confined_preempt(p, tctx, prev_cpu);
	if (cpu < 0)
		return prev_cpu;
	count(TANDEM_STAT_BASE_PREEMPTED);
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, SCX_ENQ_PREEMPT);
	return cpu;
}

static s32 over_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *tctx = task_of(p);
	u32 on = mechanisms_on();
	enum rank rank;
	enum wish wish;
	u64 flags = 0;
	s32 cpu;

	if (!tctx)
		return queues_select_cpu(p, prev_cpu, wake_flags);
	if (on & ISOLATE && confined_to_os(p, tctx))
		return confined_select_noise(p, &tctx->queues);
	if (light_works)
		light_wakes(tctx);
	if (on & LONGEST && turns_concern(p, tctx))
		return select_by_turns(p, prev_cpu);
	rank = over_rank(p, tctx);
	wish = over_wish(p, tctx, rank);
	tctx->rank = rank;
	tctx->wish = wish;
	if (rank == RANK_SERIAL || wish != WISH_ANY) {
		cpu = find_cpu(p, tctx, rank, wish, prev_cpu, &flags);
		if (cpu >= 0)
			return over_found(p, tctx, cpu, prev_cpu, flags);
		if (rank == RANK_SERIAL || wish == WISH_FAST)
			return prev_cpu;
	} else if (on & SPEED) {
		cpu = speed_pick_idle(p, tctx, prev_cpu);
		if (cpu >= 0)
			return over_found(p, tctx, cpu, prev_cpu, 0);
	}
	return over_select_by_base(p, tctx, prev_cpu, wake_flags, rank == RANK_JUNIOR);
}

/*
 * Whether a task that is queued has just come from over_select_cpu: the kernel does not call it for what has no choice, and seldom for
 * what wakes while it still goes to sleep. Of that the answer is that of the time before.
 */
static __always_inline bool over_was_asked(struct task_struct *p, u64 enq_flags)
{
	return enq_flags & SCX_ENQ_WAKEUP && p->nr_cpus_allowed > 1 && !must_stay(p);
}

/* The mechanism's queue in which a task waits; QUEUE_NORMAL: the base's. */
static __always_inline u32 over_queue_of(struct task_struct *p, enum rank rank, enum wish wish)
{
	if (p->nr_cpus_allowed == 1 || must_stay(p))
		return QUEUE_NORMAL;
	if (rank == RANK_JUNIOR)
		count(TANDEM_STAT_SERIAL_JUNIORS);
	if (rank != RANK_NORMAL)
		return rank == RANK_SERIAL ? QUEUE_SERIAL : QUEUE_JUNIOR;
	return wish == WISH_FAST ? QUEUE_LONG : QUEUE_NORMAL;
}

/* Queues a task of which a mechanism says something; whether it is queued. */
static __noinline int over_enqueue_as(struct task_struct *p, struct task_ctx *tctx, enum rank rank, enum wish wish, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p), idle;
	bool last = enq_flags & SCX_ENQ_LAST && place_fits(PLACE_APPLICATION, cpu);
	u32 queue;

	/* As it woke there was none for it. */
	if (wish == WISH_FAST && !over_was_asked(p, enq_flags) && !(last && !cpu_of(cpu)->kind) &&
	    goes_to_fast(p, tctx, rank, cpu, enq_flags))
		return true;
	queue = last ? QUEUE_NORMAL : over_queue_of(p, rank, wish);
	if (queue == QUEUE_NORMAL)
		return false;
	ranked_insert(p, &tctx->queues, queue, enq_flags);
	idle = place_pick_idle(p, PLACE_APPLICATION, cpu, wish);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	return true;
}

/* Asks the mechanisms of a task, if that was not done as it woke; whether one of them has queued it. */
static __always_inline bool over_enqueue_ranked(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	enum rank rank = tctx->rank;
	enum wish wish = tctx->wish;

	if (!over_was_asked(p, enq_flags)) {
		rank = over_rank(p, tctx);
		wish = over_wish(p, tctx, rank);
	}
	return (rank != RANK_NORMAL || wish == WISH_FAST) && over_enqueue_as(p, tctx, rank, wish, enq_flags);
}

static __always_inline void over_enqueue_task(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	struct queues_task *task = &tctx->queues;

	if (confined_to_os(p, tctx)) {
		task->go_to = 0;
		confined_enqueue_noise(p, tctx, enq_flags);
		return;
	}
	if (task->go_to && queues_go_to(p, task, enq_flags))
		return;
	if (active & (SERIAL | LONGEST) && over_enqueue_ranked(p, tctx, enq_flags))
		return;
	if (is_on(SORTED) && paired_enqueue(p, tctx, enq_flags))
		return;
	if (is_confined() && p->nr_cpus_allowed > 1 && !must_stay(p))
		confined_enqueue(p, task, enq_flags);
	else
		queues_enqueue_task(p, task, enq_flags);
}

static void over_enqueue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = queues_task_to_queue(p, enq_flags);

	if (!tctx)
		return;
	over_enqueue_task(p, tctx, enq_flags);
	tctx->queues.ran_on = false;
}

/* What a mechanism wants of a CPU's thread is what the base wants from now on: it is queued, and goes there. */
static __always_inline void over_hand_over(struct cpu_ctx *cctx, struct queues_cpu *queues)
{
	if (!cctx->wanted_by)
		return;
	queues->wanted_by = cctx->wanted_by;
	cctx->wanted_by = 0;
}

/*
 * A task runs, or runs on: its CPU's clock. Isolation's clocks without `speed` stay at the highest that the CPU may have, once they are
 * there; without @tctx nothing is known of the task.
 */
static __always_inline void over_clock(struct task_ctx *tctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_ctx *cctx = cpu_of(cpu);
	struct domain *domain;

	if (cctx->speed.fixed) {
		clock_catch_up(cpu);
		return;
	}
	domain = domain_of(cpu);
	if (is_on(SPEED) || domain->opp != clock_top(cpu) || !cctx->speed.loaded) {
		speed_running(tctx);
		return;
	}
	clock_catch_up(cpu);
	points_running(cpu);
	speed_ask(cpu, domain);
}

/* A task goes on where nothing else waits, so that it neither stops nor begins: noise is counted, and clocks follow what is known now. */
static __noinline void over_goes_on(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!tctx)
		return;
	if (!tctx->isolate.application && (active & ISOLATE || light_works)) {
		speed_stopping(tctx, tctx->started ? now - tctx->started : 0);
		tctx->started = now;
	}
	over_clock(tctx);
}

/*
 * A CPU to which the base has given nothing: all that the base has for it may run elsewhere only, and so it takes what has stepped back, or
 * waits for a turn anywhere.
 */
static __noinline int over_dispatch_rest(u32 cpu)
{
	if (active & (SERIAL | LONGEST) && cpu_of(cpu)->isolate.takes_applications && ranked_dispatch_rest())
		return true;
	return is_on(SORTED) && nr_sorted_waiting > 0 && rq_of(cpu)->exists && paired_steal(cpu);
}

static void over_dispatch(s32 cpu, struct task_struct *prev)
{
	struct queues_cpu *queues = queues_cpu_of(cpu);
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (active & CLOCKS)
		clock_catch_up(cpu);
	if (active & (SERIAL | LONGEST | SORTED)) {
		over_hand_over(cctx, queues);
		if (queues->looks_for_aged && age_take(queues))
			return;
		if (active & (SERIAL | LONGEST) && ranked_dispatch(prev, cctx, queues))
			return;
	}
	if (!(is_on(SORTED) && paired_dispatch(prev, queues)))
		queues_dispatch(cpu, prev);
	if (active & (SERIAL | LONGEST | SORTED) && !is_queued(prev) && !scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL))
		over_dispatch_rest(cpu);
	if (is_on(CLOCKS) && is_queued(prev) && prev->scx.slice && !queues->took)
		over_goes_on(prev);
}

/* What runs gives its CPU to what waits in a mechanism's queue. */
static void over_tick(struct task_struct *p)
{
	struct queues_cpu *queues = queues_cpu_of(bpf_get_smp_processor_id());
	struct cpu_ctx *cctx = cpu_of(queues->number);
	u64 slice = p->scx.slice;
	u32 on = mechanisms_on();

	queues_tick_clock(p, queues);
	if (on & SERIAL)
		serial_tick(p);
	if (ranked_stays(cctx, queues, on)) {
		/* What waits behind a serial phase runs elsewhere: nobody else tells the other lines. */
		if (queues->has_lines && queues->crowd)
			steal_note_owing(queues);
		if (serial_turns && queues->lags && !queues->crowd && !queues->wanted_by && turns_take(queues->number))
			p->scx.slice = 0;
		return;
	}
	if (!(on & SORTED && paired_tick(p, queues)))
		queues_tick_slice(p, queues);
	if (on & (SERIAL | LONGEST) && ranked_waiting(on) &&
	    (age_is_time(queues) || p->se.sum_exec_runtime - queues->charged >= SLICE_MOST))
		p->scx.slice = 0;
	if (on & SORTED && slice && !p->scx.slice)
		rq_of(queues->number)->cut = true;
}

static void over_runnable(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = active & (QUEUES_GROUPS | SERIAL | LONGEST) ? task_of(p) : 0;

	if (!tctx)
		return;
	if (active & QUEUES_GROUPS)
		queues_counts(&tctx->queues);
	group_hears_runnable(p, tctx, enq_flags);
}

static void over_quiescent(struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *tctx = active & (QUEUES_GROUPS | SERIAL | LONGEST | SORTED) ? task_of(p) : 0;

	if (!tctx)
		return;
	if (is_on(SORTED))
		rq_uncount(&tctx->sorted);
	if (active & QUEUES_GROUPS)
		queues_counts_no_more(&tctx->queues);
	group_hears_quiescent(p, tctx, deq_flags);
}

/* What mechanisms have to do where a task begins to run, on its own CPU. */
static __always_inline void over_begins(struct task_struct *p, struct task_ctx *tctx, enum rank rank, struct queues_cpu *queues)
{
	u32 on = mechanisms_on();

	if (on & (SERIAL | LONGEST))
		ranked_running(p, tctx, rank, queues, on);
	else if (on & CLOCKS && (on & ISOLATE || light_works))
		tctx->started = bpf_ktime_get_ns();
	if (counters_work)
		counters_running(tctx);
	if (on & CLOCKS)
		over_clock(tctx);
}

static void over_running(struct task_struct *p)
{
	struct queues_cpu *queues = queues_cpu_under(p);
	struct task_ctx *tctx = task_of(p);
	/* Another CPU that changes a task's class or weight takes it off and puts it back: that is no begin. */
	bool here = queues->number == bpf_get_smp_processor_id();
	enum rank rank;

	if (!tctx) {
		if (here && is_on(CLOCKS))
			over_clock(0);
		return;
	}
	if (active & ISOLATE)
		isolate_running(tctx, cpu_of(queues->number));
	rank = over_rank(p, tctx);
	if (rank == RANK_SERIAL)
		ranked_holds_clock(queues, &tctx->queues);
	if (here && is_on(SORTED))
		paired_begins(p, tctx, queues);
	else
		queues_begins(p, &tctx->queues, queues);
	if (here)
		over_begins(p, tctx, rank, queues);
}

static void over_stopping(struct task_struct *p, bool runnable)
{
	struct queues_cpu *queues = queues_cpu_under(p);
	struct cpu_ctx *cctx = cpu_of(queues->number);
	struct task_ctx *tctx = task_of(p);
	u32 on = mechanisms_on();
	u64 ran = 0;

	if (!tctx)
		return;
	if (!(on & (SERIAL | LONGEST | SORTED | CLOCKS)) || queues->number != bpf_get_smp_processor_id()) {
		queues_stops(p, &tctx->queues, queues, runnable);
		return;
	}
	over_hand_over(cctx, queues);
	if (on & (SERIAL | LONGEST | ISOLATE) || light_works)
		ran = cpu_stops(cctx, tctx);
	if (on & SORTED)
		paired_stopping(p, tctx, queues, runnable);
	queues_stops(p, &tctx->queues, queues, runnable);
	if (queues->held) {
		clocks_bound(&tctx->queues, queues);
		ranked_hold(queues, false);
	}
	if (on & (SERIAL | LONGEST))
		ranked_stopping(p, tctx, cctx, ran, on);
	if (on & CLOCKS)
		speed_stopping(tctx, ran);
}

#endif /* __TANDEM_OVER_H */
