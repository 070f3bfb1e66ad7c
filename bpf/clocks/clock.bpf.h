/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking for a clock.
 *
 * schedutil takes what scx_bpf_cpuperf_set says for the CPU's utilisation, on the scale of cpu_facts.capacity, adds a
 * quarter, and rounds the clock for that up to an operating point (kernel/sched/cpufreq_schedutil.c: sugov_get_util,
 * sugov_effective_cpu_perf, get_next_freq). CPUs that share a clock get the highest that one of them asks for. In
 * newer kernels a callback that holds a run queue may speak for that CPU alone: others are spoken for by timers
 * (governor.bpf.h).
 */
#ifndef __TANDEM_CLOCKS_CLOCK_H
#define __TANDEM_CLOCKS_CLOCK_H

#include "../state/state.bpf.h"

enum {
	CLOCK_ONE = 1024,
	/* How much longer compute-bound work takes at the lowest clock of which the paper's line says something (edp.bpf.h). */
	CLOCK_LINE_SLOWNESS = CLOCK_ONE * 3 / 2,
	MAX_DOMAINS = MAX_CPUS,
};

/* What follows from a table of operating points. */
struct clock_table {
	/* Index of the highest. */
	u32 top;
	/* What to ask for to get each. */
	u32 request[MAX_OPPS];
	/* Time that compute-bound work takes there, 1024: as long as at the highest. */
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
 * What to ask for so that the clock is that of @performance. One less than four fifths: a quarter more is then below
 * @performance, which is itself rounded, and above the next lower point's unless these are only two apart.
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
	 * Next to nothing is the lowest, also where schedutil starts from the clock that there is, not from the highest, because
	 * the processor does not say how fast it was (arch_scale_freq_invariant): it would stay up there for anything more. Nothing
	 * at all it takes for what it had before it was first asked (get_next_freq, cached_raw_freq), and changes nothing.
	 */
	table->request[0] = 1;
	/* Limits may have changed since; above all, the highest is what sched_ext begins with. */
	table->request[(nr - 1) & (MAX_OPPS - 1)] = CLOCK_ONE;
}

/* Whether the power of a table's operating points is known. */
static __always_inline bool clock_power_known(u32 table)
{
	return opp_tables[table & (MAX_OPP_TABLES - 1)].power[0];
}

/* Whether there is a clock below a CPU's highest of which the energy-delay factor can be told: by power, or by the line. */
static __always_inline bool clock_has_factor(u32 cpu)
{
	u32 top = clock_top(cpu);

	if (!top)
		return false;
	return (!edp_base_pct && clock_power_known(facts_of(cpu)->opp_table)) ||
	       clocks_of(cpu)->slowness[(top - 1) & (MAX_OPPS - 1)] <= CLOCK_LINE_SLOWNESS;
}

/* Makes the tables; whether there is a clock to change and a governor that listens. */
static bool clock_init(void)
{
	s32 number;

	for_range(number, 0, MAX_OPP_TABLES)
		clock_init_table(number);
	return cpuperf && clock_choice;
}

/* Asks, perhaps again, for the operating point that a CPU has come to. */
static __always_inline void clock_ask_again(u32 cpu)
{
	u32 opp = cpu_of(cpu)->speed.asked - 1, request = clocks_of(cpu)->request[opp & (MAX_OPPS - 1)];

	scx_bpf_cpuperf_set(cpu, request < CLOCK_ONE ? request : CLOCK_ONE);
}

/* Notes which operating point a CPU wants; whether it has not asked for that already. */
static __always_inline bool clock_wants(u32 cpu, u32 opp)
{
	if (cpu_of(cpu)->speed.asked == opp + 1)
		return false;
	cpu_of(cpu)->speed.asked = opp + 1;
	return true;
}

/* Asks for an operating point of the CPU that runs this unless it has asked for that before. */
static __always_inline void clock_ask(u32 cpu, u32 opp)
{
	if (rq_clock_updated() && clock_wants(cpu, opp))
		clock_ask_again(cpu);
}

/*
 * The same where no run queue is locked, perhaps for another CPU. Where the kernel cannot do that the CPU does it itself: an
 * idle one is woken up for it, a busy one comes to it by its next tick.
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

/* A callback of this CPU, whose run queue is locked: it asks for what a timer has come to. */
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

/* The lowest operating point of a CPU whose entry in @column of its table is at least @least, or its highest. */
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

/* The lowest operating point of a CPU that gives at least @performance, or its highest. */
static u32 clock_for_performance(u32 cpu, u32 performance)
{
	return clock_lowest(cpu, opps_of(cpu)->performance, performance);
}

/* The lowest operating point of a CPU at @mhz or above, or its highest. */
static u32 clock_for_mhz(u32 cpu, u32 mhz)
{
	return clock_lowest(cpu, opps_of(cpu)->frequency, mhz * 1000);
}

/*
 * The share of time that work would wait for memory at the highest clock, 0..1024, if it waited during @stalled of
 * @cycles in @ns. Cycles over time is the clock that there was: waiting takes as long at any clock, computing gets
 * shorter with it.
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
	/* Cycles of a slice and 2^10 more fit by far. */
	all = stalled + (((cycles - stalled) * speed) >> 10);
	return all ? stalled * CLOCK_ONE / all : 0;
}

#endif /* __TANDEM_CLOCKS_CLOCK_H */
