/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits in a line: whether a CPU takes the first task, or one behind it that has its data in the CPU's caches.
 *
 * Tasks that use up their slices take turns on the CPUs where they ran. Those of a line that has more for each CPU than others would
 * fall behind: then the first one is taken, wherever it was.
 */
#ifndef __TANDEM_QUEUES_WAITING_H
#define __TANDEM_QUEUES_WAITING_H

#include "line.bpf.h"

enum {
	/* How many tasks are looked at. */
	WAITING_MOST = 12,
	/* By how much more virtual time what ran here goes before what woke elsewhere, ns. */
	WOKEN_LEEWAY = 2 * NSEC_PER_MSEC,
};

struct waiting {
	/* Where the first one stands, and the one that is taken. */
	u64 first;
	u64 place;
	/* How much later than that another one may be due, ns: 0 if it woke, or ran here last. */
	u64 leeway;
	/* The leeway of the one that is taken; 0 if it woke. */
	u64 own;
	/* Something waits. */
	bool any;
	/* That of the one behind the first that ran here last, and is taken; 0: the first one is. */
	s32 pid;
};

/* Whether a task that waits may run on a CPU. Most may run on all, and that costs less to see. */
static __always_inline bool waiting_may(struct task_struct *p, u32 cpu)
{
	return may_run_everywhere(p) || may_run_on(p, cpu);
}

/* The place by deadline of the first task that waits in a queue and may run on a CPU; whether there is one among the first few. */
static __always_inline bool waiting_first(u32 cpu, u64 queue, u64 *place)
{
	struct task_struct *first;
	bool found = false;
	u32 step = 0;

	/* The verifier does not follow that it is there if something was found. */
	*place = 0;
	bpf_rcu_read_lock();
	for_queued(it, first, queue) {
		if (waiting_may(first, cpu)) {
			*place = first->scx.dsq_vtime;
			found = true;
			break;
		}
		if (++step >= WAITING_MOST)
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

/* Takes a task of those that wait, if the first one is not left for longer than this one may be; whether it does. */
static __always_inline bool waiting_settle(struct waiting *waiting, struct task_struct *p, u32 step)
{
	u64 leeway = waiting_leeway(p->scx.slice);

	if (step && leeway && vtime_before(waiting->first + leeway, p->scx.dsq_vtime))
		return false;
	waiting->place = p->scx.dsq_vtime;
	waiting->own = leeway;
	waiting->leeway = 0;
	waiting->pid = step ? p->pid : 0;
	return true;
}

/* Until where it is worth while to look for what ran here, behind the first one: that has @leeway. */
static __always_inline u64 waiting_until(u64 place, u64 leeway)
{
	return place + (leeway > WOKEN_LEEWAY ? leeway : WOKEN_LEEWAY);
}

/*
 * Looks at what waits in a line and may run on a CPU: what ran here last, or what woke, wherever it was, or else the first one. How many
 * are still to look at is in memory, where the verifier does not follow it through every round; and as this is not static, it follows
 * it once, and not with each that asks.
 */
__noinline int waiting_look(s32 cpu, struct waiting *waiting __arg_nonnull)
{
	struct queues_cpu *cctx = queues_cpu_of(cpu);
	struct task_struct *p;
	bool woken = false;
	u64 latest = 0;

	cctx->looks_left = WAITING_MOST;
	for_queued(it, p, QUEUE_LINE | cctx->line) {
		u64 place = p->scx.dsq_vtime, slice = p->scx.slice;
		bool here = scx_bpf_task_cpu(p) == cpu;

		if (!cctx->looks_left--)
			break;
		if (waiting->any) {
			if (vtime_before(latest, place))
				break;
			if (!here && (woken || slice < SLICE_LONE))
				continue;
		}
		/* What may not run here is for others: it neither comes first nor holds virtual time. */
		if (!waiting_may(p, cpu))
			continue;
		if (!waiting->any) {
			waiting->any = true;
			waiting->first = waiting->place = place;
			waiting->own = waiting->leeway = waiting_leeway(slice);
			latest = waiting_until(place, waiting->leeway);
		}
		if ((here || slice >= SLICE_LONE) && waiting_settle(waiting, p, waiting->first != place)) {
			if (here)
				break;
			woken = true;
			latest = place + WOKEN_LEEWAY;
		}
	}
	return 0;
}

/* Takes what `waiting_look` has found; whether that, or at least the first one, could be had. */
static __always_inline bool waiting_take(u32 number, struct waiting *waiting)
{
	struct task_struct *p;
	bool taken = false;

	if (waiting->pid) {
		bpf_rcu_read_lock();
		for_queued(it, p, QUEUE_LINE | number) {
			if (p->pid != waiting->pid)
				continue;
			taken = dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
			break;
		}
		bpf_rcu_read_unlock();
	}
	return taken || dsq_move_to_local(QUEUE_LINE | number);
}

#endif /* __TANDEM_QUEUES_WAITING_H */
