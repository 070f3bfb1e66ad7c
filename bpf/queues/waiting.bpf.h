/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits in a line: whether a CPU takes the first task, or one behind it that has its data in the CPU's caches.
 *
 * Tasks that use up their slices take turns on the CPUs where they ran. Those of a line that has more for each CPU than others would
 * fall behind: then the first one is taken, wherever it was.
 */
#ifndef __TANDEM_QUEUES_WAITING_H
#define __TANDEM_QUEUES_WAITING_H

#include "home.bpf.h"

enum {
	/* How many tasks are looked at. */
	WAITING_MOST = 12,
	/* How many are passed by that may not run here, until there is one that may: these wait for other CPUs. */
	WAITING_PASSED = 256,
	/* By how much more virtual time what ran here goes before what woke elsewhere, ns. */
	WOKEN_LEEWAY = 2 * NSEC_PER_MSEC,
	/* Or, if that is more, this fraction of either's leeway: as much of its own work. */
	WOKEN_PART = 10,
};

struct waiting {
	/* Where the first one stands, and the one that is taken. */
	u64 first;
	u64 place;
	/* How much later than that another one may be due, ns: 0 if it woke, or ran here last. */
	u64 leeway;
	/* The leeway of the one that is taken; 0 if it woke. */
	u64 own;
	/* The leeway that the first one has if it has not woken. */
	u64 usual;
	/* Until where what woke elsewhere is worth while to look for, behind a first one that has used up its slice elsewhere. */
	u64 until;
	/* Something waits. */
	bool any;
	/* That of the one behind the first that is taken; 0: the first one is. The CPU's note of it, plus 1; 0: there is none. */
	s32 pid;
	u32 home;
};

/* Whether a task that waits may run on a CPU. Most may run on all, and that costs less to see. */
static __always_inline bool waiting_may(struct task_struct *p, u32 cpu)
{
	return may_run_everywhere(p) || may_run_on(p, cpu);
}

/* The place by deadline of the first task that waits in a queue and may run on a CPU; whether there is one among the first few. */
static __always_inline bool waiting_first(u32 cpu, u64 queue, u64 *place)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	struct task_struct *first;
	bool found = false;

	/* The verifier does not follow that it is there if something was found. */
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

/* By how much a task may fall behind others before it changes its CPU, or they; known by its slice, 0 of one that woke. */
static __always_inline u64 waiting_leeway(u64 slice)
{
	return slice < SLICE_LONE ? (SLICE_LONE - 1 - slice) << LEEWAY_SHIFT : 0;
}

/* The same whether it woke or not: a task that woke is given more, by as much as it would be given less. */
static __always_inline u64 waiting_usual(u64 slice)
{
	return slice < SLICE_LONE ? waiting_leeway(slice) : (slice - SLICE_LONE) << LEEWAY_SHIFT;
}

/* By how much more virtual time what ran here goes before what woke elsewhere. */
static __always_inline u64 waiting_woken_leeway(u64 first, u64 home)
{
	u64 leeway = waiting_least(first, home) / WOKEN_PART;

	return leeway > WOKEN_LEEWAY ? leeway : WOKEN_LEEWAY;
}

/* Takes what ran here last, if the first one is not left for it for longer than either may be. Not static, as below. */
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
 * Looks at what waits in a line and may run on a CPU: what ran here last, or what woke, wherever it was, or else the first one. What
 * decides how many more are looked at is in memory, where the verifier does not follow it through every round; and as this is not static,
 * it follows it once, and not with each that asks.
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
		/* What may not run here is for others: it neither comes first nor holds virtual time. */
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

/* Takes what `waiting_look` has found; whether that, or at least the first one, could be had. */
static __always_inline bool waiting_take(struct base_cpu *bctx, struct waiting *waiting)
{
	if (waiting->pid) {
		if (home_take(bctx->number, waiting->pid, waiting->place))
			return true;
		/* It has gone another way, as what another class takes over. */
		if (waiting->home)
			home_at(waiting->home - 1)->pid = 0;
	}
	return dsq_move_to_local(QUEUE_LINE | bctx->line);
}

#endif /* __TANDEM_QUEUES_WAITING_H */
