/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The base: what the callbacks do where no mechanism is on.
 *
 * Tasks that find no idle CPU wait in the line of a last-level cache, by virtual deadline; those that may run on one CPU only in
 * that CPU's queue; those of the idle class behind all others, but for their share. A tick ends the slice of a task when something
 * waits; then whichever is due first goes on.
 */
#ifndef __TANDEM_QUEUES_H
#define __TANDEM_QUEUES_H

#include "../base/queue.bpf.h"
#include "preempt.bpf.h"
#include "waiting.bpf.h"
#include "age.bpf.h"
#include "turns.bpf.h"
#include "limits.bpf.h"
#include "clocks.bpf.h"

static __always_inline s32 queues_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *tctx;
	s32 cpu = idle_pick(p, prev_cpu, wake_flags);

	if (cpu >= 0) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
		return cpu;
	}
	if (cpu <= IDLE_WAITS)
		return IDLE_WAITS - cpu;
	tctx = task_of(p);
	cpu = tctx ? preempt_pick(p, &tctx->queues, prev_cpu) : -1;
	if (cpu < 0)
		return idle_way_free == IDLE_NEAR && wake_flags & SCX_WAKE_FORK && may_run_everywhere(p) ? idle_spread_waiting() : prev_cpu;
	count(TANDEM_STAT_BASE_PREEMPTED);
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, SCX_ENQ_PREEMPT);
	return cpu;
}

/*
 * Where a task stands that may run on one CPU only. What is of the idle class waits among those of other classes, behind them, and so
 * goes by their clock.
 */
static __always_inline u64 queues_place_pinned(struct queues_task *task, u32 cpu)
{
	return (task->idles ? line_at(line_of(cpu))->vtime : task->vtime) + task->request;
}

/* Queues what may run on one CPU only: at once if that is idle. */
static __noinline void queues_enqueue_pinned(struct task_struct *p, struct queues_task *task, struct queues_cpu *cctx, u64 enq_flags)
{
	u32 cpu = cctx->number;
	u64 deadline;

	line_enter(task, cctx->line);
	clocks_bound(task, cctx);
	if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, enq_flags);
		return;
	}
	deadline = queues_place_pinned(task, cpu);
	cctx->has_pinned = true;
	dsq_insert_vtime(p, QUEUE_PINNED | cpu, SLICE_LONE, deadline, enq_flags);
	if (!task->ran_on && !preempt_never(p, task) && preempt_may(deadline, cpu, PREEMPT_MARGIN)) {
		cctx->deadline = deadline;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

/* Sends a task to the CPU that wanted it, if that still may have it; whether it goes. */
static __always_inline bool queues_go_to(struct task_struct *p, struct queues_task *task, u64 enq_flags)
{
	u32 wanted = task->go_to, cpu = turns_wanting(wanted);

	task->go_to = 0;
	if (cpu >= nr_cpus || !may_run_on(p, cpu)) {
		turns_let_go(wanted);
		return false;
	}
	if (wanted & WANTED_IN_TURN) {
		count(TANDEM_STAT_PULL_TURNS);
		insert_on(p, cpu, SLICE_LONE, enq_flags | SCX_ENQ_PREEMPT);
		return true;
	}
	if (!(wanted & WANTED_CLAIMED) && !scx_bpf_test_and_clear_cpu_idle(cpu))
		return false;
	count(TANDEM_STAT_PULL_MOVED);
	/* What has only just woken on a slower CPU, as no faster one was idle, is where it would have begun. */
	task->pulled = by_energy() && !(wanted & WANTED_CLAIMED) && task->ran > task->burst / 4;
	insert_on(p, cpu, SLICE_LONE, enq_flags);
	return true;
}

/* Wakes a CPU that is idle after all, if there is one, to look into a line. */
static __always_inline void queues_kick(s32 idle, u32 number)
{
	if (idle < 0)
		return;
	if (line_of(idle) != number)
		queues_cpu_of(idle)->look_at = number + 1;
	scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

/*
 * By how much later than its turn what has used up its slice is put into its line, by chance, ns: ticks come at the same time on all
 * CPUs, and what once began together would run together for ever. If that were all threads that use the memory, and then all others,
 * the memory would be too slow for the ones and of no use to the others.
 */
static __always_inline u64 queues_chance(struct queues_task *task)
{
	return (task->request / 2) * (bpf_get_prandom_u32() & 1023) >> 10;
}

/* Puts what may run on several CPUs, and ran on @cctx last, into a line. */
static __always_inline void queues_insert_in_line(struct task_struct *p, struct queues_task *task, struct queues_cpu *cctx, u32 number,
						  u64 enq_flags)
{
	struct line *line = line_at(number);
	u64 slice = SLICE_LONE, place;

	/* It may have left its line without a turn, as its affinity changed. */
	home_forget(task);
	line_enter(task, number);
	clocks_bound(task, cctx);
	place = task->vtime + task->request;
	if (task->ran_on) {
		place += queues_chance(task);
		slice = task->slice;
	} else {
		line->arrivals++;
		slice = weight_woken_slice(task);
		home_count_woken(task, true);
	}
	if (!task->idles && cctx->line == number)
		home_note(p, task, cctx->number, place, slice);
	dsq_insert_vtime(p, (task->idles ? QUEUE_LINE_IDLE : QUEUE_LINE) | number, slice, place, enq_flags);
}

/* Queues what may run on several CPUs. */
static __always_inline void queues_enqueue_in_line(struct task_struct *p, struct queues_task *task, struct queues_cpu *cctx, u32 number,
						   u64 enq_flags)
{
	queues_insert_in_line(p, task, cctx, number, enq_flags);
	queues_kick(idle_pick_waiting(p, task, cctx->number), number);
}

static __always_inline void queues_enqueue_task(struct task_struct *p, struct queues_task *task, u64 enq_flags)
{
	struct queues_cpu *cctx = queues_cpu_of(scx_bpf_task_cpu(p));

	if (task->go_to && queues_go_to(p, task, enq_flags))
		return;
	if (enq_flags & SCX_ENQ_LAST) {
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, enq_flags);
		return;
	}
	if (p->nr_cpus_allowed == 1 || must_stay(p)) {
		queues_enqueue_pinned(p, task, cctx, enq_flags);
		return;
	}
	queues_enqueue_in_line(p, task, cctx, cctx->has_lines && !task->ran_on ? steal_line_for(p, cctx->line) : cctx->line, enq_flags);
}

/* What is kept of a task that is to be queued, and is counted. None: no memory was left to keep anything, and it waits where all such do. */
static __always_inline struct task_ctx *queues_task_to_queue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = task_of(p);

	count(TANDEM_STAT_BASE_QUEUED);
	if (!tctx)
		dsq_insert(p, SCX_DSQ_GLOBAL, SLICE_MOST, enq_flags);
	return tctx;
}

static void queues_enqueue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = queues_task_to_queue(p, enq_flags);

	if (!tctx)
		return;
	queues_enqueue_task(p, &tctx->queues, enq_flags);
	tctx->queues.ran_on = false;
}

/* A task that could go on, charged for what it has run; none if it is to leave, or goes on only where nothing else can. */
static __always_inline struct queues_task *queues_could_go_on(struct task_struct *prev, struct queues_cpu *cctx, struct line *line)
{
	struct task_ctx *tctx;

	if (!is_queued(prev) || cctx->wanted_by || cctx->limited || !(tctx = task_of(prev)) || tctx->queues.idles)
		return 0;
	tctx->queues.ran = line_run(&tctx->queues, clocks_charge(prev, &tctx->queues));
	return &tctx->queues;
}

/* Notes that it goes on, and gives it a slice. */
static __always_inline void queues_keeps(struct task_struct *prev, struct queues_task *task, struct queues_cpu *cctx)
{
	cctx->deadline = task->vtime + task->request;
	cctx->charged = task->charged;
	/* What weighs little is charged often: it would owe much for a long slice that nobody else wanted. */
	prev->scx.slice = task->pace > LIGHT_PACE ? SLICE_MOST : SLICE_LONE;
}

/* Lets it go on, while what is due first of those that wait is due at @latest. */
static __always_inline void queues_goes_on(struct task_struct *prev, struct queues_task *task, struct queues_cpu *cctx, u64 latest)
{
	clocks_begin(task, line_at(cctx->line), false, latest);
	queues_keeps(prev, task, cctx);
}

/*
 * Notes for how long what goes on will go on, unless something wakes: until it is due after @latest, as whatever waits is then. There is no
 * need to look at each tick.
 */
static __always_inline void queues_stays(struct queues_task *task, struct queues_cpu *cctx, u64 latest)
{
	u64 spare = latest - (task->vtime + task->request), ns = (spare << WEIGHT_SHIFT) / (task->pace ?: 1);

	if (task->cgroup || ns < SLICE_MOST)
		return;
	cctx->stays_until = task->charged + (ns < STAYS_NS ? ns : STAYS_NS);
	cctx->arrivals = line_at(cctx->line)->arrivals;
}

/* Charges the idle class for what one of it has run while @wanted: a share of the weights of all that wait. It owes a slice a CPU at most. */
static __noinline int queues_charge_idle_class(struct queues_cpu *cctx, u64 ran, bool wanted)
{
	struct line *line = line_at(cctx->line);
	u32 idle = scx_bpf_dsq_nr_queued(QUEUE_LINE_IDLE | cctx->line) + 1;
	u64 least = line->vtime - SLICE_MOST, most = line->vtime + (u64)SLICE_MOST * (WEIGHT_NICE_0 / WEIGHT_IDLE) * line->nr_cpus;

	if (vtime_before(line->idle_class_vtime, least))
		line->idle_class_vtime = least;
	if (wanted)
		line->idle_class_vtime += ran * (WEIGHT_NICE_0 / WEIGHT_IDLE) / idle;
	if (vtime_before(most, line->idle_class_vtime))
		line->idle_class_vtime = most;
	return 0;
}

/* Whether something waits that the idle class keeps from running: in its line, or for its turn in a sorted queue. */
static __always_inline bool queues_wanted(struct queues_cpu *cctx)
{
	return scx_bpf_dsq_nr_queued(QUEUE_LINE | cctx->line) > 0 || (is_on(SORTED) && nr_sorted_waiting > 0);
}

/* Charges one of the idle class that could go on, before what waits is taken: that tells whether it was wanted. */
static __noinline int queues_charge_idle(struct task_struct *prev, struct queues_cpu *cctx)
{
	struct task_ctx *tctx = is_queued(prev) ? task_of(prev) : 0;

	if (tctx)
		queues_charge_idle_class(cctx, clocks_charge(prev, &tctx->queues), queues_wanted(cctx));
	return 0;
}

/* Whether the idle class has had less than its share. */
static __always_inline bool queues_idle_class_due(struct line *line, u32 number)
{
	return nr_idle_class > 0 && vtime_before(line->idle_class_vtime, line->vtime) && line_idle_waits(number);
}

/* Takes what may run here only, if that is due before what waits in the line and what ran until now. */
static __noinline int queues_take_pinned(struct task_struct *prev, struct queues_cpu *cctx)
{
	u32 cpu = cctx->number, number = cctx->line;
	struct queues_task *task;
	u64 pinned, first;

	if (!waiting_first(cpu, QUEUE_PINNED | cpu, &pinned)) {
		cctx->has_pinned = false;
		return false;
	}
	if (waiting_first(cpu, QUEUE_LINE | number, &first) && vtime_before(first, pinned))
		return false;
	task = queues_could_go_on(prev, cctx, line_at(number));
	if (task && vtime_before(task->vtime + task->request, pinned))
		return false;
	cctx->deadline = pinned;
	cctx->took = dsq_move_to_local(QUEUE_PINNED | cpu);
	return cctx->took;
}

/* Nothing waits in the CPU's line: it takes from others, or something of the idle class. */
static __always_inline bool queues_take_other(struct queues_cpu *cctx)
{
	if (cctx->has_lines && steal_from_lines(cctx))
		return true;
	if (nr_idle_class > 0 && dsq_move_to_local(QUEUE_LINE_IDLE | cctx->line))
		return true;
	return cctx->has_lines && steal_idle_class(cctx);
}

/*
 * A CPU that has nothing to do lets its clock go, and takes over what is too much for a slower one. By energy, without mechanisms, it does so
 * only if that may have a lower clock here: at the highest one the work costs more than the time is worth, and what computes on comes at its
 * next tick.
 */
static __always_inline void queues_goes_idle(struct queues_cpu *cctx)
{
	if (cctx->wants_util)
		util_goes_idle(cctx);
	cctx->deadline = 0;
	if (cctx->has_lines)
		line_goes_idle(cctx);
	if (cctx->has_slower && nr_misfits > 0 && !(cctx->takes_dear && by_energy()))
		steal_misfit(cctx->number);
}

/* What ran until now does not go on, and nothing waits in the CPU's line. */
static __always_inline void queues_looks_elsewhere(struct queues_cpu *cctx)
{
	if (cctx->has_pinned && dsq_move_to_local(QUEUE_PINNED | cctx->number))
		return;
	if (!queues_take_other(cctx))
		queues_goes_idle(cctx);
}

/*
 * Takes what another line owes so much that it has the turn of what is due here at @place, and has @leeway; whether there was something.
 * Only @task, which could go on, tells how far the other line must be behind. Faster CPUs give the turn only to a task that weighs more:
 * tasks that weigh the same are spread by performance, and do as much there.
 */
static __always_inline bool queues_take_owed(struct queues_cpu *cctx, struct queues_task *task, u64 place, u64 leeway)
{
	u32 other;

	if (!cctx->has_lines)
		return false;
	other = steal_behind(cctx, task);
	if (other == cctx->line)
		return false;
	return steal_due(cctx, other, place, leeway - steal_is_as_much(cctx, other));
}

/* Something waits in the CPU's line: that, or what ran until now, if it is due before; whether it was one of them. */
static __noinline int queues_dispatch_waiting(struct task_struct *prev, struct queues_cpu *cctx)
{
	u32 number = cctx->line;
	struct waiting waiting = {};
	struct queues_task *task;

	waiting_look(cctx->number, &waiting);
	task = queues_could_go_on(prev, cctx, line_at(number));
	if (task) {
		u64 place = task->vtime + task->request, leeway = waiting_leeway(task->slice);
		bool sooner = waiting.any && vtime_before(waiting.place + waiting_least(waiting.leeway, leeway), place);

		if (queues_take_owed(cctx, task, sooner ? waiting.place : place, sooner ? waiting.own : leeway))
			return 1;
		if (waiting.any && !sooner) {
			queues_stays(task, cctx, waiting.place + waiting_least(waiting.leeway, leeway));
			queues_goes_on(prev, task, cctx, waiting.first);
			return 1;
		}
	}
	cctx->deadline = waiting.any ? waiting.first : line_at(number)->vtime;
	cctx->took = waiting_take(cctx, &waiting);
	if (cctx->took || !task)
		return cctx->took;
	queues_goes_on(prev, task, cctx, task->vtime);
	return 1;
}

/* Nothing waits there: what ran until now goes on; whether it does. */
static __always_inline bool queues_dispatch_alone(struct task_struct *prev, struct queues_cpu *cctx, struct line *line)
{
	struct queues_task *task = queues_could_go_on(prev, cctx, line);

	if (!task)
		return cctx->idles && cctx->has_lines && steal_from_lines(cctx);
	if (queues_take_owed(cctx, task, task->vtime + task->request, waiting_leeway(task->slice)))
		return true;
	queues_goes_on(prev, task, cctx, task->vtime);
	return true;
}

/* What runs has used up its group's quota: whatever else there is runs, and it is queued (SCX_ENQ_LAST), to wait for the next period. */
static __noinline int queues_dispatch_limited(struct task_struct *prev, struct queues_cpu *cctx)
{
	cctx->limited = false;
	if (is_queued(prev))
		prev->scx.slice = 0;
	if (cctx->has_pinned && dsq_move_to_local(QUEUE_PINNED | cctx->number))
		return 0;
	if (!dsq_move_to_local(QUEUE_LINE | cctx->line))
		queues_looks_elsewhere(cctx);
	return 0;
}

/* There is something of the idle class, or something pinned waits, or it is time to look for what is of age. */
static __noinline int queues_dispatch_unusual(struct task_struct *prev, struct queues_cpu *cctx)
{
	struct line *line = line_at(cctx->line);
	bool waits;

	if (cctx->limited)
		return queues_dispatch_limited(prev, cctx);
	if (cctx->idles)
		queues_charge_idle(prev, cctx);
	if (cctx->looks_for_aged && age_take(cctx))
		return 0;
	if (cctx->has_pinned && queues_take_pinned(prev, cctx))
		return 0;
	if (queues_idle_class_due(line, cctx->line) && dsq_move_to_local(QUEUE_LINE_IDLE | cctx->line))
		return 0;
	waits = scx_bpf_dsq_nr_queued(QUEUE_LINE | cctx->line);
	if (waits ? queues_dispatch_waiting(prev, cctx) : queues_dispatch_alone(prev, cctx, line))
		return 0;
	if (!is_queued(prev))
		queues_looks_elsewhere(cctx);
	else if (!(cctx->idles && dsq_move_to_local(QUEUE_LINE_IDLE | cctx->line)) &&
		 (!cctx->has_pinned || !dsq_move_to_local(QUEUE_PINNED | cctx->number)))
		/* What a faster CPU wants is queued as the last one (SCX_ENQ_LAST), and goes there. */
		prev->scx.slice = cctx->wanted_by ? 0 : SLICE_LONE;
	return 0;
}

/* What ran until now leaves the CPU: the same as below, where nothing is unusual. */
static __always_inline void queues_dispatch_next(struct queues_cpu *cctx, struct task_struct *prev, u32 waiting)
{
	/* What waits alone is taken without a look; nothing that is due before it holds virtual time. */
	if (waiting == 1 ? dsq_move_to_local(QUEUE_LINE | cctx->line) : waiting && queues_dispatch_waiting(prev, cctx))
		return;
	if (cctx->has_lines) {
		if (steal_from_lines(cctx))
			return;
		cctx->look_at = 0;
	}
	queues_goes_idle(cctx);
}

static __always_inline void queues_dispatch(s32 cpu, struct task_struct *prev)
{
	struct queues_cpu *cctx = queues_cpu_of(cpu);
	u32 waiting;

	if (cctx->unusual || nr_idle_class > 0) {
		queues_dispatch_unusual(prev, cctx);
		return;
	}
	waiting = scx_bpf_dsq_nr_queued(QUEUE_LINE | cctx->line);
	if (!is_queued(prev))
		queues_dispatch_next(cctx, prev, waiting);
	else if (!(waiting ? queues_dispatch_waiting(prev, cctx) : queues_dispatch_alone(prev, cctx, line_at(cctx->line))))
		/* What a faster CPU wants is queued as the last one (SCX_ENQ_LAST), and goes there. */
		prev->scx.slice = cctx->wanted_by ? 0 : SLICE_LONE;
}

/* The CPU that a task begins to run on, or stops on: another one that changes a task's class or weight takes it off and puts it back. */
static __always_inline struct queues_cpu *queues_cpu_under(struct task_struct *p)
{
	return queues_cpu_of(scx_bpf_task_cpu(p));
}

static __always_inline void queues_begins(struct task_struct *p, struct queues_task *task, struct queues_cpu *cctx)
{
	bool idle = !cctx->deadline;

	task->charged = cctx->charged = p->se.sum_exec_runtime;
	cctx->stays_until = 0;
	home_forget(task);
	if (cctx->has_lines)
		line_hears_begin(task, cctx);
	line_enter(task, cctx->line);
	clocks_begin(task, line_at(cctx->line), idle, cctx->took ? cctx->deadline : task->vtime);
	cctx->took = false;
	if (cctx->idles != task->idles)
		preempt_change_class(cctx, task->idles);
	cctx->deadline = task->vtime + task->request;
	if (cctx->wants_util)
		util_running(p, task, cctx);
	if (active & LIMITS)
		limit_begins(p, task, cctx);
}

static __always_inline void queues_running(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);

	if (tctx)
		queues_begins(p, &tctx->queues, queues_cpu_under(p));
}

/* A task stops that could go on: what it takes at once is at least what it has taken since it woke. */
static __always_inline void queues_has_run(struct queues_task *task, u64 ran)
{
	u32 run = line_run(task, ran);

	task->ran = run;
	task->ran_on = true;
	if (run > task->burst)
		task->burst = run;
	else if (!task->cgroup)
		return;
	weight_request(task);
}

/* A task goes to sleep. */
static __always_inline void queues_sleeps(struct queues_task *task, struct queues_cpu *cctx, u64 ran)
{
	task->burst = task->burst - task->burst / 4 + line_run(task, ran) / 4;
	task->ran = 0;
	task->ran_on = false;
	task->pulled = false;
	weight_request(task);
	if (cctx->wants_util)
		util_sleeps(task);
}

static __always_inline void queues_stops(struct task_struct *p, struct queues_task *task, struct queues_cpu *cctx, bool runnable)
{
	u64 ran = clocks_charge(p, task);
	u32 wanted;

	if (task->idles)
		queues_charge_idle_class(cctx, ran, queues_wanted(cctx));
	if (cctx->wants_util)
		util_ran(task, cctx);
	if (active & LIMITS)
		limit_ran(p, task, cctx);
	wanted = cctx->wanted_by;
	if (wanted) {
		cctx->wanted_by = 0;
		if (!runnable)
			turns_let_go(wanted);
	}
	if (cctx->misfit)
		util_change_misfit(cctx, false);
	if (runnable) {
		task->go_to = wanted;
		task->pulled = cctx->pulled;
		queues_has_run(task, ran);
	} else {
		queues_sleeps(task, cctx, ran);
	}
}

static __always_inline void queues_stopping(struct task_struct *p, bool runnable)
{
	struct task_ctx *tctx = task_of(p);

	if (tctx)
		queues_stops(p, &tctx->queues, queues_cpu_under(p), runnable);
}

static __always_inline void queues_counts(struct queues_task *task)
{
	if (!task->cgroup || task->counted)
		return;
	task->counted = true;
	cgroup_runnable(task->cgroup, task->weight);
	/* What sleep has saved up is as much as the group's share is now. */
	weight_request(task);
}

static __always_inline void queues_counts_no_more(struct queues_task *task)
{
	if (!task->counted)
		return;
	task->counted = false;
	cgroup_quiescent(task->cgroup, task->weight);
}

static __always_inline void queues_runnable(struct task_struct *p)
{
	struct task_ctx *tctx = active & GROUPS ? task_of(p) : 0;

	if (tctx)
		queues_counts(&tctx->queues);
}

static __always_inline void queues_quiescent(struct task_struct *p)
{
	struct task_ctx *tctx = active & GROUPS ? task_of(p) : 0;

	if (tctx)
		queues_counts_no_more(&tctx->queues);
}

static void queues_enable(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u32 number = line_of(scx_bpf_task_cpu(p));

	if (!tctx)
		return;
	home_forget(&tctx->queues);
	weight_note(p, &tctx->queues);
	tctx->queues.line = number;
	set_note(p, &tctx->queues);
	tctx->queues.vtime = *line_clock(&tctx->queues, line_at(number));
	tctx->queues.charged = p->se.sum_exec_runtime;
	tctx->queues.burst = SLICE_MOST / 2;
	weight_request(&tctx->queues);
	/* Until it runs. */
	tctx->queues.util_at = 0;
}

/* What waits keeps its place; from the next time on the new weight counts. */
static void queues_set_weight(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	struct queues_task *task;
	u64 clock;

	if (!tctx)
		return;
	task = &tctx->queues;
	clock = *line_clock(task, line_at(task->line));
	task->vtime -= clock;
	weight_note(p, task);
	set_note(p, task);
	weight_request(task);
	task->vtime += *line_clock(task, line_at(task->line));
}

static void queues_init_task(struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *tctx = task_make(p);

	if (!tctx)
		count(TANDEM_STAT_BASE_UNKNOWN);
	else if (bpf_core_field_exists(args->cgroup))
		tctx->queues.cgroup = cgroup_number(args->cgroup);
}

static void queues_exit_task(struct task_ctx *tctx)
{
	if (!tctx)
		return;
	home_forget(&tctx->queues);
	if (tctx->queues.idles)
		weight_change_class(&tctx->queues, false);
}

static s32 queues_init(void)
{
	line_init();
	age_init();
	util_init();
	energy_init();
	return line_create_queues() ?: idle_init();
}

#endif /* __TANDEM_QUEUES_H */
