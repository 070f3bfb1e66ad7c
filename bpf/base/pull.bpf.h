/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running threads move from slower CPUs to faster ones that have nothing to do (Morad et al., section VII, load balancer).
 *
 * The faster CPU marks the slower one and makes it schedule; the thread is then queued, and goes where the mark says.
 */
#ifndef __TANDEM_PULL_H
#define __TANDEM_PULL_H

#include "place.bpf.h"

enum {
	/*
	 * A CPU that is free for less time at a mean does not pull, ns: caches would cost as much. The kernel's balancer has
	 * the same rule and number (sysctl_sched_migration_cost).
	 */
	PULL_WORTH = 500 * NSEC_PER_USEC,
};

static void pull_init(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		cpu_of(cpu)->pull.free_mean = 2 * PULL_WORTH;
}

/* The CPU has work of its own again. One long time counts no more than twice the limit: the mean is to follow. */
static void pull_ends(struct cpu_ctx *cctx)
{
	u64 was_free = bpf_ktime_get_ns() - cctx->pull.free_since;

	cctx->pull.free_since = 0;
	/* A lone task whose slice ends leaves for the idle one, and is back at once: the CPU was not free. */
	if (was_free < NSEC_PER_USEC * 10)
		return;
	if (was_free > 2 * PULL_WORTH)
		was_free = 2 * PULL_WORTH;
	cctx->pull.free_mean = (cctx->pull.free_mean * 7 + was_free) / 8;
}

static void pull_update_idle(struct cpu_ctx *cctx, bool idle)
{
	if (idle) {
		if (!cctx->pull.free_since)
			cctx->pull.free_since = bpf_ktime_get_ns();
	} else if (cctx->pull.is_coming) {
		cctx->pull.is_coming = false;
	} else if (cctx->pull.free_since) {
		pull_ends(cctx);
	}
}

/* What a pulled thread did here counts as free time: had it not come, the CPU would have been idle. */
static __always_inline void pull_stopping(struct cpu_ctx *cctx)
{
	if (cctx->pull.free_since)
		pull_ends(cctx);
}

/*
 * How much a CPU's thread deserves a CPU of performance @performance: by its rank, then by what it gains there. Of
 * its time it waits for memory for the share of `stall`, and gains nothing in that. 0: there is none to take.
 */
static __always_inline u32 pull_merit(struct cpu_ctx *cctx, u32 slower, u32 performance)
{
	u32 class;

	if (!cctx->pid || cctx->idle || cctx->wanted_by || cctx->keeps)
		return 0;
	class = cctx->rank == RANK_SERIAL ? 3 : cctx->longest.is_long ? 2 : 1;
	return class << 24 | ((1024 - (cctx->counted.stall & 1023)) * (performance - slower)) >> 3;
}

/* Makes the most deserving thread of a slower CPU come to @cpu, which is about to be idle. Only where kinds differ. */
__noinline int pull_running(s32 cpu)
{
	u32 kind = cpu_of(cpu)->kind, best = 0, from = 0, performance = facts_of(cpu)->performance;
	s32 other;

	if (kind + 1 >= nr_kinds || cpu_of(cpu)->pull.free_mean < PULL_WORTH || place_shares_core(cpu))
		return 0;
	for_range(other, 0, nr_cpus) {
		u32 merit;

		if (cpu_of(other)->kind <= kind)
			continue;
		merit = pull_merit(cpu_of(other), facts_of(other)->performance, performance);
		if (merit > best) {
			best = merit;
			from = other;
		}
	}
	if (!best)
		return 0;
	cpu_of(from)->wanted_by = cpu + 1;
	cpu_of(from)->preempted = true;
	count(TANDEM_STAT_PULL_ASKED);
	scx_bpf_kick_cpu(from, SCX_KICK_PREEMPT);
	return 0;
}

/* Sends a task to the CPU that wanted it; whether one did, and may have it. */
static bool pull_moves(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	u32 wanted = tctx->go_to, cpu = (wanted & ~WANTED_NOW) - 1;

	if (!wanted)
		return false;
	tctx->go_to = 0;
	if (place_of(tctx) != PLACE_APPLICATION || cpu >= nr_cpus || !may_run_on(p, cpu))
		return false;
	if (wanted & WANTED_NOW)
		enq_flags |= SCX_ENQ_PREEMPT;
	else if (scx_bpf_test_and_clear_cpu_idle(cpu))
		cpu_of(cpu)->pull.is_coming = true;
	else
		/* The CPU has found something else to do since: the task would wait there. */
		return false;
	count(TANDEM_STAT_PULL_MOVED);
	insert_on(p, cpu, slice_ns(), enq_flags);
	return true;
}

/*
 * Sends a task that has used up a slice on a slower CPU to a faster one that is idle: a CPU that has been idle for long does
 * not ask for one. Those that need less than a slice at a time stay where they cost less.
 */
static bool pull_goes_up(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	u32 from = scx_bpf_task_cpu(p), kind = cpu_of(from)->kind;
	s32 faster, cpu;

	if (!kind || enq_flags & SCX_ENQ_WAKEUP || place_of(tctx) != PLACE_APPLICATION)
		return false;
	for_range(faster, 0, MAX_KINDS) {
		if (faster >= kind)
			break;
		cpu = place_pick_kind(p, faster, from);
		if (cpu < 0)
			continue;
		if (place_shares_core(cpu)) {
			/* The CPU was claimed by the search: let it be idle again. */
			scx_bpf_kick_cpu(cpu, 0);
			continue;
		}
		count(TANDEM_STAT_PULL_MOVED);
		dsq_insert(p, SCX_DSQ_LOCAL_ON | (u32)cpu, slice_ns(), enq_flags);
		return true;
	}
	return false;
}

#endif /* __TANDEM_PULL_H */
