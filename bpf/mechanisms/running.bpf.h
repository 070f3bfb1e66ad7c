/* SPDX-License-Identifier: GPL-2.0-only */
/* A task begins to run, and stops: the mechanisms and the clock follow; the run time is charged as in the base. */
#ifndef __TANDEM_MECHANISMS_RUNNING_H
#define __TANDEM_MECHANISMS_RUNNING_H

#include "ranked.bpf.h"
#include "../base/running.bpf.h"
#include "../sorted/sorted.bpf.h"

/*
 * Sets a CPU's clock as a task begins to run, or goes on. Without `speed`, isolation's clocks stay at the highest that the CPU may have,
 * once they are there. @tctx is null for a task without state.
 */
static __always_inline void mechanisms_clock(struct task_ctx *tctx)
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

/* A task goes on where no other task waits: it does not stop and begin anew. Noise is counted, and the clock follows the present state. */
static __noinline void mechanisms_goes_on(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!tctx)
		return;
	if (!tctx->isolate.application && (active & ISOLATE || light_works)) {
		speed_stopping(tctx, tctx->started ? now - tctx->started : 0);
		tctx->started = now;
	}
	mechanisms_clock(tctx);
}

/* The mechanisms' work when a task begins to run, on its own CPU. */
static __always_inline void mechanisms_begins(struct task_struct *p, struct task_ctx *tctx, enum rank rank, struct base_cpu *bctx)
{
	u32 on = mechanisms_on();

	if (on & (SERIAL | LONGEST))
		ranked_running(p, tctx, rank, bctx, on);
	else if (on & CLOCKS && (on & ISOLATE || light_works))
		tctx->started = bpf_ktime_get_ns();
	if (counters_work)
		counters_running(tctx);
	if (feed_is_on())
		feed_begins(p, tctx, cpu_of(bctx->number), bctx->number);
	if (on & CLOCKS)
		mechanisms_clock(tctx);
}

static void mechanisms_running(struct task_struct *p)
{
	struct base_cpu *bctx = base_cpu_under(p);
	struct task_ctx *tctx = task_of(p);
	/* A CPU that changes a running task's class or weight takes the task off and puts it back. That is no begin. */
	bool here = bctx->number == bpf_get_smp_processor_id();
	enum rank rank;

	if (!tctx) {
		if (here && is_on(CLOCKS))
			mechanisms_clock(0);
		return;
	}
	if (active & ISOLATE)
		isolate_running(tctx, cpu_of(bctx->number));
	rank = rank_of(p, tctx);
	if (rank == RANK_SERIAL)
		ranked_holds_clock(bctx, &tctx->base);
	if (here && is_on(SORTED))
		sorted_begins(p, tctx, bctx);
	else
		base_begins(p, &tctx->base, bctx);
	if (here)
		mechanisms_begins(p, tctx, rank, bctx);
}

static void mechanisms_stopping(struct task_struct *p, bool runnable)
{
	struct base_cpu *bctx = base_cpu_under(p);
	struct cpu_ctx *cctx = cpu_of(bctx->number);
	struct task_ctx *tctx = task_of(p);
	u32 on = mechanisms_on();
	u64 ran = 0;

	if (!tctx)
		return;
	if (!(on & (SERIAL | LONGEST | SORTED | CLOCKS)) || bctx->number != bpf_get_smp_processor_id()) {
		base_stops(p, &tctx->base, bctx, runnable);
		return;
	}
	if (on & (SERIAL | LONGEST | ISOLATE) || light_works)
		ran = cpu_stops(cctx, tctx);
	if (on & SORTED)
		sorted_stopping(p, tctx, bctx, runnable);
	base_stops(p, &tctx->base, bctx, runnable);
	if (bctx->held) {
		vclock_bound(&tctx->base, bctx);
		ranked_hold(bctx, false);
	}
	if (on & (SERIAL | LONGEST))
		ranked_stopping(p, tctx, cctx, ran, on);
	if (on & CLOCKS)
		speed_stopping(tctx, ran);
	if (feed_is_on())
		feed_stops(p, tctx, cctx, bctx->number);
}

static void mechanisms_update_idle(s32 cpu, bool idle)
{
	u32 on = mechanisms_on();

	/* Hardware threads of a core, and pairs, read each other's state. */
	if (smt || on & SORTED)
		cpu_of(cpu)->idle = idle;
	if (idle && counters_work)
		counters_idle(cpu);
	if (idle && feed_is_on()) {
		cpu_of(cpu)->speed.takes_turn = false;
		feed_ends(cpu_of(cpu), cpu);
	}
	if (on & CLOCKS)
		speed_update_idle(cpu, idle);
}

/* The running task has run for @ran ns since the last count. The gain of the CPU's counters since then is the task's. */
static __always_inline void mechanisms_count(struct task_struct *p, u64 ran)
{
	u32 cpu = bpf_get_smp_processor_id() & (MAX_CPUS - 1);

	if ((!counters_wanted && cpuperf_locks) || scx_bpf_task_cpu(p) != cpu)
		return;
	clock_catch_up(cpu);
	if (counters_wanted && counters_count(p, cpu, ran) && is_on(SORTED))
		pair_count_mix(cpu);
}

#endif /* __TANDEM_MECHANISMS_RUNNING_H */
