/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The energy-delay factor of the tasks that run on the CPUs of a clock, at each of its operating points (Merkel & Bellosa, section 4.2).
 *
 * A factor is energy times run time at an operating point, over the same at the highest. The point with the lowest mean over the running
 * tasks wins. Work may take at most edp_slowdown_pct longer, the slowest task's included, however much energy a lower clock would save:
 * while one of a clock's CPUs computes, the clock stays high. There are two ways to know the factor.
 *
 * First, from the power of the points, where it is known. Take a task that waits for memory during the share m of its time (at the
 * highest clock). Waiting takes as long at any clock, and the rest gets slower with the clock:
 *
 *	t(f) = (1 - m) * f_max / f + m
 *	P(f) = power(f) * (1 - 1/2 * m / t(f)) + (static_power(f) + fixed_power / (clocks in use)) / n
 *	energy times time = P(f) * t(f)^2
 *
 * n is the number of tasks that run on the clock's CPUs, and m / t(f) the share of time that the task waits at f. A waiting core is taken
 * to draw half of a computing core's power. (It is between a fifth and nine tenths, by the kind of core, and few choices depend on it.)
 * The sum over the tasks is compared, not the mean of quotients, so that each task counts by the power that it draws.
 *
 * While the memory is saturated, waiting gets shorter as tasks ask for less: together they move as much as before. A wait of 1 then takes
 * k(f). With M the mean of m, weighted by the tasks' traffic, for which m stands,
 *
 *	k(f) = 1 - (f_max / f - 1) * (1 - M) / M
 *
 * so that four equal streams that fill the bus take as long at any clock. This holds where the bandwidth is known and all tasks on the
 * memory's CPUs share the clock; otherwise other tasks would take the traffic that these tasks give up.
 *
 * Second, by the paper's line, where edp_base_pct is set, or power is not known. With x the task's share of the memory bus, its factor at
 * 1.6 of 2.4 GHz is
 *
 *	1.67 - 0.79 * x		for the paper's microbenchmarks, by which it was calibrated (section 4.2),
 *	1.4  - 0.8  * x		for real programs, which it is said to fit (edp_base_pct=140, edp_slope_pct=80).
 *
 * For compute-bound work that is a power of the ratio of the clocks, 1.5^p: p is ln 1.67 / ln 1.5 = 1.265, of which 2 are time's and
 * -0.735 are power's. The factor at other clocks is derived from that: it is linear in how much longer compute-bound work takes. Between
 * the two clocks this is within 1 % of the power of the ratio, and a little above it. Below two thirds of the highest clock the line was
 * not measured, and such points are not used. (At 0.8 of 2.6 GHz the power of the ratio is 4.4, the paper's 1.4 would be a third of it.)
 * Where the bandwidth of the bus is unknown, x is unknown, and the line tells nothing either. A task of share x takes r - (r - 1) * x
 * times as long where compute-bound work takes r times as long.
 */
#ifndef __TANDEM_SPEED_EDP_H
#define __TANDEM_SPEED_EDP_H

#include "../clocks/clock.bpf.h"

enum {
	/* The number of steps of a share of memory, so that equal tasks have equal shares and no decision is computed twice. */
	EDP_STEPS = 32,
	/* The paper's line, percent. */
	EDP_PAPER_BASE = 167,
	EDP_PAPER_SLOPE = 79,
	/* Another point must be better by 1/64 than the one in force: a change costs time, too. */
	EDP_GAIN_SHIFT = 6,
	/* How many decisions a clock remembers, as bits; bits of an operating point, and of the values that a decision depends on. */
	EDP_MEMO_BITS = 5,
	EDP_MEMOS = 1 << EDP_MEMO_BITS,
	EDP_OPP_BITS = 6,
	EDP_NR_BITS = 6,
	EDP_SUM_BITS = 11,
	EDP_SQUARES_BITS = 16,
	EDP_CLOCKS_BITS = 10,
};

/* 2^64 over the golden ratio: a product with it spreads a value over the highest bits (Knuth's multiplicative hashing). */
#define EDP_SPREADS 0x9e3779b97f4a7c15ULL

/* The tasks that run on the CPUs of a clock: their number, the sum of their shares in steps, and the sum of the squares of these. */
struct edp_mix {
	u32 nr;
	u32 sum;
	u32 squares;
	/* The tasks saturate the memory. */
	bool full;
};

/* How many clocks have a loaded CPU. */
u32 edp_clocks_in_use;

static __always_inline bool edp_by_power(u32 table)
{
	return !edp_base_pct && clock_power_known(table);
}

/* Whether the line would decide, and its x is not known. */
static __always_inline bool edp_is_blind(u32 table)
{
	return !edp_by_power(table) && !counters_capacity();
}

/* A task's share, in steps, to the nearest. A task that is not measured yet is taken to compute. */
static __always_inline u32 edp_share_of(struct task_ctx *tctx, u32 table)
{
	u32 share = edp_by_power(table) ? tctx->counted.stall : tctx->counted.intensity;

	if (!tctx->counted.measured)
		return 0;
	share = (share * EDP_STEPS + CLOCK_ONE / 2) / CLOCK_ONE;
	return share < EDP_STEPS ? share : EDP_STEPS;
}

/* Terms that are the same at all points of a decision. */
struct edp_terms {
	u32 table;
	/* mW of the machine's fixed power that each clock in use bears. */
	u32 fixed;
	/* Power decides. */
	bool by_power;
};

/* The number of clocks in use that a decision depends on: 0 where there is no fixed power for them to share. */
static __always_inline u32 edp_sharers(void)
{
	return fixed_power ? edp_clocks_in_use : 0;
}

static __always_inline struct edp_terms edp_terms_of(u32 table)
{
	return (struct edp_terms){ .table = table, .fixed = fixed_power / (edp_sharers() ?: 1), .by_power = edp_by_power(table) };
}

/* mW at a point that do not depend on how many tasks run. */
static __always_inline u64 edp_shared_power(struct edp_terms *terms, u32 opp)
{
	return opp_tables[terms->table & (MAX_OPP_TABLES - 1)].static_power[opp & (MAX_OPPS - 1)] + terms->fixed;
}

/* How long a wait of 1 at the highest clock takes at a clock that is @slow, k(f) above; at least half as long. */
static __always_inline u64 edp_waiting(struct edp_mix *mix, u64 slow)
{
	u64 computes = (u64)EDP_STEPS * mix->sum - mix->squares, less;

	if (!mix->full || !mix->squares)
		return CLOCK_ONE;
	less = (slow - CLOCK_ONE) * computes / mix->squares;
	return less < CLOCK_ONE / 2 ? CLOCK_ONE - less : CLOCK_ONE / 2;
}

/*
 * Sums over the tasks of power times squared time, in milliwatts times 2^16. In units of 1/EDP_STEPS the time of a task of s steps is
 * time = EDP_STEPS * slow - s * more, with more = slow - wait; half of its waiting time is wait / 2 * s.
 */
static __always_inline u64 edp_by_power_at(struct edp_mix *mix, struct edp_terms *terms, u32 opp)
{
	u64 power = opp_tables[terms->table & (MAX_OPP_TABLES - 1)].power[opp & (MAX_OPPS - 1)];
	u64 slow = clock_tables[terms->table & (MAX_OPP_TABLES - 1)].slowness[opp & (MAX_OPPS - 1)];
	u64 wait = edp_waiting(mix, slow);
	u64 sum = mix->sum, squares = mix->squares, all = EDP_STEPS * slow, more = slow - wait;
	/* The sum of time squared, and the sum of half of the waiting time, times time. */
	u64 times = mix->nr * all * all - 2 * all * more * sum + more * more * squares;
	u64 waits = (all * sum - more * squares) * (wait / 2);

	return (((times - waits) / mix->nr) >> 14) * power * mix->nr +
	       ((times / mix->nr) >> 14) * edp_shared_power(terms, opp);
}

/* The mean of the paper's line over the tasks, in percent times 2^16, within the line's range. */
static __always_inline u64 edp_by_line_at(struct edp_mix *mix, struct edp_terms *terms, u32 opp)
{
	u64 base = edp_base_pct ?: EDP_PAPER_BASE, slope = edp_base_pct ? edp_slope_pct : EDP_PAPER_SLOPE;
	u64 slow = clock_tables[terms->table & (MAX_OPP_TABLES - 1)].slowness[opp & (MAX_OPPS - 1)];
	u64 more = slow - CLOCK_ONE, most = CLOCK_LINE_SLOWNESS - CLOCK_ONE;
	u64 used = (slope << 16) * mix->sum / ((u64)mix->nr * EDP_STEPS);
	u64 there = base << 16, highest = 100 << 16;

	there = there > used ? there - used : 0;
	if (more > most)
		more = most;
	return (there * more + highest * (most - more)) / most;
}

static __always_inline u64 edp_factor(struct edp_mix *mix, struct edp_terms *terms, u32 opp)
{
	return terms->by_power ? edp_by_power_at(mix, terms, opp) : edp_by_line_at(mix, terms, opp);
}

/*
 * Whether no task takes longer than allowed at a point, and, if the line decides, the line reaches there. None of n numbers is further
 * above their mean than sqrt(n - 1) times their standard deviation (Samuelson's inequality). The slowest task is taken to be that slow.
 */
static __always_inline bool edp_allows(struct edp_mix *mix, struct edp_terms *terms, u32 opp)
{
	u64 slow = clock_tables[terms->table & (MAX_OPP_TABLES - 1)].slowness[opp & (MAX_OPPS - 1)];
	u64 wait = edp_waiting(mix, slow);
	u64 more = slow - wait;
	u64 mean = slow * EDP_STEPS - more * mix->sum / mix->nr;
	u64 limit = (100 + edp_slowdown_pct) * CLOCK_ONE * EDP_STEPS / 100;
	u64 variance = ((u64)mix->squares * mix->nr - (u64)mix->sum * mix->sum) * more * more / mix->nr / mix->nr;

	if (!terms->by_power && slow > CLOCK_LINE_SLOWNESS)
		return false;
	return mean <= limit && (limit - mean) * (limit - mean) >= (mix->nr - 1) * variance;
}

/* The operating point for the running tasks, when @now is in force. */
static u32 edp_best(struct edp_mix *mix, u32 table, u32 now)
{
	u32 top = clock_tables[table & (MAX_OPP_TABLES - 1)].top, best = top;
	struct edp_terms terms = edp_terms_of(table);
	u64 least, factor, current;
	s32 opp;

	if (!mix->nr)
		return top;
	least = edp_factor(mix, &terms, top);
	for_range(opp, 0, MAX_OPPS) {
		if (opp >= top)
			break;
		factor = edp_factor(mix, &terms, opp);
		if (factor < least && edp_allows(mix, &terms, opp)) {
			least = factor;
			best = opp;
		}
	}
	if (now > top || !edp_allows(mix, &terms, now))
		return best;
	current = edp_factor(mix, &terms, now);
	return least + (current >> EDP_GAIN_SHIFT) < current ? best : now;
}

/*
 * All values that a decision depends on, in one number; 0 if they have no room in it. CPUs that share a clock come and go, and earlier
 * decisions come back.
 */
static __always_inline u64 edp_key(struct edp_mix *mix, u32 now)
{
	u64 clocks = edp_sharers(), key = mix->nr;

	if (key >> EDP_NR_BITS || mix->sum >> EDP_SUM_BITS || mix->squares >> EDP_SQUARES_BITS || clocks >> EDP_CLOCKS_BITS)
		return 0;
	key = key << EDP_SUM_BITS | mix->sum;
	key = key << EDP_SQUARES_BITS | mix->squares;
	key = key << EDP_CLOCKS_BITS | clocks;
	return (key << 1 | mix->full) << EDP_OPP_BITS | now;
}

/* The operating point of edp_best(), from an earlier decision if possible. A memo is one number, as CPUs write memos at the same time. */
static u32 edp_decide(u64 *memos, struct edp_mix *mix, u32 table, u32 now)
{
	u64 key = edp_key(mix, now), known, *memo = &memos[(key * EDP_SPREADS) >> (64 - EDP_MEMO_BITS)];
	u32 best;

	known = *memo;
	if (key && known >> EDP_OPP_BITS == key)
		return known & (MAX_OPPS - 1);
	best = edp_best(mix, table, now);
	if (key)
		*memo = key << EDP_OPP_BITS | best;
	return best;
}

#endif /* __TANDEM_SPEED_EDP_H */
