/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * speed, on machines with several kinds of CPU: light work goes where it costs least.
 *
 * A task is light for a CPU that has a quarter more performance than the task needs on average (fits_capacity() of kernel/sched/fair.c).
 * Of the kinds for which the task is light and that cost less than the fastest kind, the slowest gets it. The cost is the power of a busy
 * CPU at its highest clock, which `speed` gives to every task, over its performance there. A task that has used up half of a slice
 * without sleeping is not light.
 *
 * The average forgets as the kernel's does, by half in 32 ms. It counts time at a low clock as if the clock were high: a task is taken to
 * be heavier than it is, if anything.
 */
#ifndef __TANDEM_SPEED_LIGHT_H
#define __TANDEM_SPEED_LIGHT_H

#include "../clocks/clock.bpf.h"
#include "../place/kind.bpf.h"

enum {
	/* A period of this length weighs as much as all periods before it, ns; 32 ms of half-life, as in PELT, are 46 ms. */
	LIGHT_MEMORY = 46 * NSEC_PER_MSEC,
};

/* The cost of work on a kind of CPU, mW of a busy one at the highest clock over its performance, times 1024; 0: unknown. */
u32 kind_costs[MAX_KINDS];
/* Performance of a kind's slowest CPU. */
u32 kind_performances[MAX_KINDS];
/* There are slower kinds that cost less. */
bool light_works;

static u32 light_cost_of(u32 cpu)
{
	u32 table = facts_of(cpu)->opp_table, performance = facts_of(cpu)->performance;
	u32 top = clock_tables[table & (MAX_OPP_TABLES - 1)].top;

	return opp_tables[table & (MAX_OPP_TABLES - 1)].power[top & (MAX_OPPS - 1)] * 1024 / (performance ?: 1);
}

/* Whether work costs less on a kind than on the fastest. */
static __always_inline bool light_costs_less(u32 kind)
{
	return kind_costs[kind] && kind_costs[kind] < kind_costs[0];
}

static void light_init(void)
{
	s32 at;

	if (!concentrate || nr_kinds < 2)
		return;
	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)], kind = cpu_of(cpu)->kind & (MAX_KINDS - 1);

		kind_costs[kind] = light_cost_of(cpu);
		kind_performances[kind] = facts_of(cpu)->performance;
		if (light_costs_less(kind))
			light_works = true;
	}
}

/* Notes that a task wakes: its work since the last wakeup enters the average. A new task counts as heavy as possible. */
static void light_wakes(struct task_ctx *tctx)
{
	u64 now = bpf_ktime_get_ns(), period = now - tctx->speed.woke, part;

	if (!light_works)
		return;
	if (!tctx->speed.woke) {
		tctx->speed.needs = 1024 * 1024;
	} else if (period) {
		part = tctx->speed.did * 1024 * 1024 / period;
		tctx->speed.needs = (tctx->speed.needs * LIGHT_MEMORY + part * period) / (period + LIGHT_MEMORY);
	}
	tctx->speed.woke = now;
	tctx->speed.did = 0;
}

/* Notes that a task has run on this CPU for @ran ns. */
static __always_inline void light_ran(struct task_ctx *tctx, u64 ran)
{
	if (light_works)
		tctx->speed.did += ran * facts_of(bpf_get_smp_processor_id())->performance / 1024;
}

/* Whether a task is light for a CPU of performance @performance. */
static __always_inline bool light_for(struct task_ctx *tctx, u32 performance)
{
	return tctx->speed.woke && tctx->speed.did < SLICE_NS / 2 && tctx->speed.needs / 1024 * 5 / 4 < performance;
}

/* Whether there is a slower kind that a task is light for. */
static bool light_for_any(struct task_ctx *tctx)
{
	s32 step;

	if (!light_works)
		return false;
	for_range(step, 1, MAX_KINDS) {
		u32 kind = step & (MAX_KINDS - 1);

		if (step >= nr_kinds)
			break;
		if (light_costs_less(kind) && light_for(tctx, kind_performances[kind]))
			return true;
	}
	return false;
}

/* An idle CPU of the slowest kind that a task is light for. Negative: there is none. */
static s32 light_pick_idle(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	s32 step, cpu;

	if (!light_works)
		return -1;
	for_range(step, 1, MAX_KINDS) {
		u32 kind = (nr_kinds - step) & (MAX_KINDS - 1);

		if (step >= nr_kinds)
			break;
		if (!light_costs_less(kind) || !light_for(tctx, kind_performances[kind]))
			continue;
		cpu = place_pick_kind(p, kind, prev_cpu);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

#endif /* __TANDEM_SPEED_LIGHT_H */
