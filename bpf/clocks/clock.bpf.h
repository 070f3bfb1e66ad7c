/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests for a clock.
 *
 * schedutil takes the value of scx_bpf_cpuperf_set as the CPU's utilisation, on the scale of cpu_facts.capacity. It adds a quarter, and
 * rounds the resulting clock up to an operating point (kernel/sched/cpufreq_schedutil.c: sugov_get_util, sugov_effective_cpu_perf,
 * get_next_freq). CPUs that share a clock get the highest clock that one of them asks for. In newer kernels a callback that holds a run
 * queue may ask for that run queue's CPU alone; timers ask for other CPUs (governor.bpf.h).
 */
#ifndef __TANDEM_CLOCKS_CLOCK_H
#define __TANDEM_CLOCKS_CLOCK_H

#include "../state/state.bpf.h"

enum {
	CLOCK_ONE = 1024,
	/* How much longer compute-bound work takes at the lowest clock that the paper's line covers (edp.bpf.h). */
	CLOCK_LINE_SLOWNESS = CLOCK_ONE * 3 / 2,
	MAX_DOMAINS = MAX_CPUS,
};

/* Values derived from a table of operating points. */
struct clock_table {
	/* Index of the highest operating point. */
	u32 top;
	/* The request that gives each operating point. */
	u32 request[MAX_OPPS];
	/* Time that compute-bound work takes at each operating point, 1024 at the highest. */
	u32 slowness[MAX_OPPS];
};

struct clock_table clock_tables[MAX_OPP_TABLES];

static __always_inline struct clock_table *clocks_of(u32 cpu)
{
	return &clock_tables[facts_of(cpu)->opp_table & (MAX_OPP_TABLES - 1)];
}

static __always_inline u32 clock_top(u32 cpu)
{
	return clocks_of(cpu)->top;
}

/*
 * The request that gives the clock of @performance: four fifths of it, less one. With schedutil's quarter this is below @performance,
 * which is itself rounded, and above the next lower point's performance, unless the two are only two apart.
 */
static __always_inline u32 clock_request_for(u32 performance)
{
	u32 request = performance ? (performance * 4 - 1) / 5 : 0;

	return request < CLOCK_ONE ? request : CLOCK_ONE;
}

/* Whether any CPU has a choice of clocks. */
bool clock_choice;

static void clock_init_table(u32 number)
{
	const volatile struct opp_table *opps = &opp_tables[number & (MAX_OPP_TABLES - 1)];
	struct clock_table *table = &clock_tables[number & (MAX_OPP_TABLES - 1)];
	u32 nr = opps->nr_opps < MAX_OPPS ? opps->nr_opps : MAX_OPPS;
	u64 highest;
	s32 opp;

	if (!nr)
		return;
	highest = opps->frequency[(nr - 1) & (MAX_OPPS - 1)];
	table->top = nr - 1;
	if (nr > 1)
		clock_choice = true;
	for_range(opp, 0, nr) {
		u32 at = opp & (MAX_OPPS - 1), frequency = opps->frequency[at];

		table->request[at] = clock_request_for(opps->performance[at]);
		table->slowness[at] = frequency ? highest * CLOCK_ONE / frequency : CLOCK_ONE;
	}
	/*
	 * A request of 1 gives the lowest clock. Where the processor does not report how fast it was, schedutil starts from the present
	 * clock instead of the highest (arch_scale_freq_invariant), and a higher request would keep the clock up. schedutil takes a
	 * request of 0 for its state before the first request, and changes nothing (get_next_freq, cached_raw_freq).
	 */
	table->request[0] = 1;
	/* Limits may have changed since the table was made. Above all, sched_ext begins with the highest request. */
	table->request[(nr - 1) & (MAX_OPPS - 1)] = CLOCK_ONE;
}

/* Whether the power of a table's operating points is known. */
static __always_inline bool clock_power_known(u32 table)
{
	return opp_tables[table & (MAX_OPP_TABLES - 1)].power[0];
}

/* Whether the energy-delay factor of a clock below a CPU's highest can be told: by power, or by the paper's line. */
static __always_inline bool clock_has_factor(u32 cpu)
{
	u32 top = clock_top(cpu);

	if (!top)
		return false;
	return (!edp_base_pct && clock_power_known(facts_of(cpu)->opp_table)) ||
	       clocks_of(cpu)->slowness[(top - 1) & (MAX_OPPS - 1)] <= CLOCK_LINE_SLOWNESS;
}

/* Makes the tables; returns whether a clock can change and the governor follows requests. */
static bool clock_init(void)
{
	s32 number;

	for_range(number, 0, MAX_OPP_TABLES)
		clock_init_table(number);
	return cpuperf && clock_choice;
}

/* Asks, perhaps again, for the operating point that is noted for a CPU. */
static __always_inline void clock_ask_again(u32 cpu)
{
	u32 opp = cpu_of(cpu)->speed.asked - 1, request = clocks_of(cpu)->request[opp & (MAX_OPPS - 1)];

	scx_bpf_cpuperf_set(cpu, request < CLOCK_ONE ? request : CLOCK_ONE);
}

/* Notes the operating point that a CPU wants; returns whether that is a new request. */
static __always_inline bool clock_wants(u32 cpu, u32 opp)
{
	if (cpu_of(cpu)->speed.asked == opp + 1)
		return false;
	cpu_of(cpu)->speed.asked = opp + 1;
	return true;
}

/* Asks for an operating point for this CPU, unless this CPU has asked for it before. */
static __always_inline void clock_ask(u32 cpu, u32 opp)
{
	if (rq_clock_updated() && clock_wants(cpu, opp))
		clock_ask_again(cpu);
}

/*
 * Asks for the noted operating point where no run queue is locked, perhaps for another CPU. Where the kernel cannot do that the CPU
 * itself asks: an idle CPU is woken to ask, a busy CPU asks at its next tick.
 */
static __always_inline void clock_have_asked_again(u32 cpu)
{
	if (cpuperf_locks) {
		clock_ask_again(cpu);
		return;
	}
	cpu_of(cpu)->speed.asks = true;
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static __always_inline void clock_have_asked(u32 cpu, u32 opp)
{
	if (clock_wants(cpu, opp))
		clock_have_asked_again(cpu);
}

/* In a callback of this CPU, whose run queue is locked: asks for the operating point that a timer has noted. */
static __always_inline void clock_catch_up(u32 cpu)
{
	if (cpuperf_locks || !cpu_of(cpu)->speed.asks || !rq_clock_updated())
		return;
	cpu_of(cpu)->speed.asks = false;
	if (cpu_of(cpu)->speed.asked)
		clock_ask_again(cpu);
}

static __always_inline const volatile struct opp_table *opps_of(u32 cpu)
{
	return &opp_tables[facts_of(cpu)->opp_table & (MAX_OPP_TABLES - 1)];
}

/* A CPU's lowest operating point whose entry in @column of the table is at least @least, or its highest point. */
static __always_inline u32 clock_lowest(u32 cpu, const volatile u32 *column, u32 least)
{
	u32 top = clock_top(cpu);
	s32 opp;

	for_range(opp, 0, MAX_OPPS) {
		if (opp >= top || column[opp & (MAX_OPPS - 1)] >= least)
			return opp;
	}
	return top;
}

/* A CPU's lowest operating point that gives at least @performance, or its highest point. */
static u32 clock_for_performance(u32 cpu, u32 performance)
{
	return clock_lowest(cpu, opps_of(cpu)->performance, performance);
}

/* A CPU's lowest operating point at @mhz or above, or its highest point. */
static u32 clock_for_mhz(u32 cpu, u32 mhz)
{
	return clock_lowest(cpu, opps_of(cpu)->frequency, mhz * 1000);
}

/*
 * The share of time that work would wait for memory at the highest clock, 0..1024. The work waited during @stalled of @cycles in @ns.
 * Cycles over time give the present clock. Waiting takes as long at any clock; computing takes less time at a higher one.
 */
static __always_inline u32 clock_share_at_top(u32 cpu, u64 stalled, u64 cycles, u64 ns)
{
	u32 table = facts_of(cpu)->opp_table & (MAX_OPP_TABLES - 1);
	u64 khz = opp_tables[table].frequency[clock_tables[table].top & (MAX_OPPS - 1)];
	u64 speed = ns && khz ? cycles * 1000 * CLOCK_ONE / (ns * khz / 1000 ?: 1) : CLOCK_ONE, all;

	if (stalled > cycles)
		stalled = cycles;
	if (speed > CLOCK_ONE)
		speed = CLOCK_ONE;
	/* The cycles of a slice times 2^10 fit by far. */
	all = stalled + (((cycles - stalled) * speed) >> 10);
	return all ? stalled * CLOCK_ONE / all : 0;
}

#endif /* __TANDEM_CLOCKS_CLOCK_H */
