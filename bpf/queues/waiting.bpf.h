/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that wait in a line: a CPU takes the first task, or a later task whose data are in the CPU's caches.
 *
 * Tasks that use up their slices take turns on the CPUs where they ran. Tasks whose CPU has more of them than other CPUs would fall
 * behind: then a CPU takes the first task, wherever it ran.
 */
#ifndef __TANDEM_QUEUES_WAITING_H
#define __TANDEM_QUEUES_WAITING_H

#include "home.bpf.h"

enum {
	/* How many tasks are looked at. */
	WAITING_MOST = 12,
	/*
	 * How many tasks that may not run on the CPU are passed by, until there is one that may. The CPU's own wait does not depend on
	 * these.
	 */
	WAITING_PASSED = 256,
	/* By how much more virtual time a task that ran here precedes a task that woke elsewhere, ns. */
	WOKEN_LEEWAY = 2 * NSEC_PER_MSEC,
	/*
	 * The same as a fraction of either task's leeway, if that is more. The time then stands for the same amount of the task's own
	 * work.
	 */
	WOKEN_PART = 10,
};

struct waiting {
	/* The place of the first task, and the place of the task to take. */
	u64 first;
	u64 place;
	/*
	 * How much later another task may be due than the first one and be taken before it, ns. 0 if the first task woke, or ran here
	 * last.
	 */
	u64 leeway;
	/* The leeway of the task to take; 0 if it woke. */
	u64 own;
	/* The leeway of the first task as if it had not woken. */
	u64 usual;
	/* Up to this place a task that woke elsewhere is worth a search, behind a first task that used up its slice elsewhere. */
	u64 until;
	/* A task waits. */
	bool any;
	/*
	 * The pid of the task to take, if that is not the first one; 0: the first one. The CPU's note of the task, plus 1; 0: there is no
	 * note.
	 */
	s32 pid;
	u32 home;
};

/* Whether a waiting task may run on a CPU. Most tasks may run on all CPUs, which is cheaper to test. */
static __always_inline bool waiting_may(struct task_struct *p, u32 cpu)
{
	return may_run_everywhere(p) || may_run_on(p, cpu);
}

/* The place by deadline of the first task in a queue that may run on a CPU; returns whether there is one among the first few. */
static __always_inline bool waiting_first(u32 cpu, u64 queue, u64 *place)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	struct task_struct *first;
	bool found = false;

	/* The verifier does not follow that a found task implies a place. */
	*place = 0;
	bctx->looks_left = WAITING_PASSED;
	bpf_rcu_read_lock();
	for_queued(it, first, queue) {
		if (waiting_may(first, cpu)) {
			*place = first->scx.dsq_vtime;
			found = true;
			break;
		}
		if (!bctx->looks_left--)
			break;
	}
	bpf_rcu_read_unlock();
	return found;
}

static __always_inline u64 waiting_least(u64 one, u64 other)
{
	return one < other ? one : other;
}

/* By how much a task may fall behind others before it or they change their CPUs. The slice tells it; 0 for a task that woke. */
static __always_inline u64 waiting_leeway(u64 slice)
{
	return slice < SLICE_LONE ? (SLICE_LONE - 1 - slice) << LEEWAY_SHIFT : 0;
}

/* The leeway whether the task woke or not. A task that woke has a longer slice, by as much as the slice would be shorter otherwise. */
static __always_inline u64 waiting_usual(u64 slice)
{
	return slice < SLICE_LONE ? waiting_leeway(slice) : (slice - SLICE_LONE) << LEEWAY_SHIFT;
}

/* By how much more virtual time a task that ran here precedes a task that woke elsewhere. */
static __always_inline u64 waiting_woken_leeway(u64 first, u64 home)
{
	u64 leeway = waiting_least(first, home) / WOKEN_PART;

	return leeway > WOKEN_LEEWAY ? leeway : WOKEN_LEEWAY;
}

/*
 * Takes the task that ran here last, unless the first task would have to wait longer for it than either task's leeway allows. The
 * function is not static, as below.
 */
__noinline int waiting_home(s32 cpu, struct waiting *waiting __arg_nonnull)
{
	u32 number = home_first(cpu);
	struct home *home = home_at(number - 1);
	u64 woken, most, own;

	waiting->until = waiting->first + waiting->leeway;
	if (!number)
		return 0;
	woken = waiting_woken_leeway(waiting->usual, waiting_usual(home->slice));
	most = waiting->leeway > woken ? waiting->leeway : woken;
	own = waiting_leeway(home->slice);
	if (own && own < most)
		most = own;
	if (vtime_before(waiting->first + most, home->place))
		return 0;
	waiting->place = home->place;
	waiting->until = home->place - woken;
	waiting->own = own;
	waiting->leeway = 0;
	waiting->pid = home->pid;
	waiting->home = number;
	return 0;
}

/*
 * Looks for the next task in a CPU's line: the task that ran here last, or a task that woke, wherever it ran, or else the first one. The
 * count of tasks still to look at is in memory, where the verifier does not follow it through every round. The function is not static, so
 * that the verifier follows it once, and not once for each caller.
 */
__noinline int waiting_look(s32 cpu, struct waiting *waiting __arg_nonnull)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	struct task_struct *p;

	bctx->looks_left = WAITING_PASSED;
	for_queued(it, p, QUEUE_LINE | bctx->line) {
		if (!bctx->looks_left--)
			break;
		if (waiting->any) {
			if (vtime_before(waiting->until, p->scx.dsq_vtime))
				break;
			if (p->scx.slice < SLICE_LONE || !waiting_may(p, cpu))
				continue;
			waiting->place = p->scx.dsq_vtime;
			waiting->own = waiting->leeway = 0;
			waiting->pid = p->pid;
			waiting->home = 0;
			break;
		}
		/* A task that may not run here is for other CPUs: it does not come first here, and does not hold virtual time. */
		if (!waiting_may(p, cpu))
			continue;
		waiting->any = true;
		bctx->looks_left = WAITING_MOST;
		waiting->first = waiting->place = p->scx.dsq_vtime;
		waiting->own = waiting_leeway(p->scx.slice);
		waiting->usual = waiting_usual(p->scx.slice);
		if (scx_bpf_task_cpu(p) == cpu)
			break;
		waiting->leeway = waiting->own;
		waiting_home(cpu, waiting);
		if (p->scx.slice >= SLICE_LONE || line_at(bctx->line)->nr_woken <= 0)
			break;
	}
	return 0;
}

/* Takes the task that `waiting_look` has found, or else the first one; returns whether there was a task. */
static __always_inline bool waiting_take(struct base_cpu *bctx, struct waiting *waiting)
{
	if (waiting->pid) {
		if (home_take(bctx->number, waiting->pid, waiting->place))
			return true;
		/* The task has left the line another way, as when it changes to another scheduling class. */
		if (waiting->home)
			home_at(waiting->home - 1)->pid = 0;
	}
	return dsq_move_to_local(QUEUE_LINE | bctx->line);
}

#endif /* __TANDEM_QUEUES_WAITING_H */
