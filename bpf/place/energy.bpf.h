/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy (modes auto, balanced and powersave), where the power of operating points is known. This file finds the kind of CPU on which a
 * task's work costs least energy, and clocks of each kind: below one clock work costs more, above another clock work costs much more.
 */
#ifndef __TANDEM_PLACE_ENERGY_H
#define __TANDEM_PLACE_ENERGY_H

#include "../clocks/util.bpf.h"

enum {
	/* Utilisations are told apart in steps of 32; ENERGY_STEPS is a power of two with room for all steps. */
	ENERGY_SHIFT = 5,
	ENERGY_LAST = UTIL_ONE >> ENERGY_SHIFT,
	ENERGY_STEPS = 64,
	/* No idle CPU of the kind is fast enough. */
	ENERGY_NEVER = -1,
	/* How often a task keeps its kind without a new search, while its utilisation is about the same. */
	ENERGY_AGAIN = 7,
	/* Where energy is the only aim: the least share of the highest performance that a clock leaves, in eighths. */
	ENERGY_LEAVES = 6,
	/* A running task that needs less CPU time than this at once is worth waiting for, ns. */
	ENERGY_BRIEF_NS = 2 * NSEC_PER_MSEC,
};

/* A kind of CPU. Costs are per work, uW for a performance of 1024, by the utilisation of the busiest CPU. */
struct energy_kind {
	/* The kind's CPUs are those in cpus_by_speed from `first` on. */
	u32 first;
	u32 nr_cpus;
	u32 table;
	/* The highest performance whose step from the one below costs, per work, at most twice the mean cost of work there. */
	u32 dear;
	/* The highest performance where energy is the only aim. */
	u32 most;
	u32 cost[ENERGY_STEPS];
	/* The power that the CPUs draw together while one is awake, as a cost of the work on that one. */
	u32 shared[ENERGY_STEPS];
	/*
	 * By idle state: the shortest sleep for which the state pays, us, and the energy lost if a sleep of this length misses the state,
	 * pJ.
	 */
	u32 pays[MAX_IDLE_STATES];
	u64 nap[MAX_IDLE_STATES];
};

struct energy_kind energy_kinds[MAX_KINDS];

/*
 * Whether a task goes to a slower CPU where its work costs less. The kernel, too, leaves the task there where clocks follow utilisation,
 * or where capacities decide (hybrids without SMT). Elsewhere the kernel prefers the fastest cores (asymmetric packing), and work on
 * slower cores would be done later than users are used to. There only users who wish to save power get slower CPUs.
 */
bool energy_places;

/* Whether power decides. The verifier knows the mode as a constant. */
static __always_inline bool by_energy(void)
{
	return mode != TANDEM_MODE_NONE && energy_known &&
	       (energy_places ? preferred() != TANDEM_PREFERENCE_PERFORMANCE : preferred() == TANDEM_PREFERENCE_POWERSAVE);
}

/* The load of a kind's CPUs. */
struct energy_look {
	u64 now;
	/* The sum of utilisations, the highest, and the lowest of an idle CPU. */
	u32 sum;
	u32 most;
	u32 least_idle;
	bool awake;
};

static __always_inline struct energy_kind *energy_kind_at(u32 kind)
{
	return &energy_kinds[kind & (MAX_KINDS - 1)];
}

static __always_inline u32 energy_step(u32 util)
{
	util >>= ENERGY_SHIFT;
	return util < ENERGY_LAST ? util : ENERGY_LAST;
}

/* The present utilisation of a CPU; less exact if the CPU is idle. */
static __always_inline u32 energy_util(struct base_cpu *bctx, u64 now)
{
	u64 halvings = (now - bctx->util_at) >> HALF_LIFE_SHIFT;

	if (bctx->deadline)
		return bctx->util;
	return halvings < 10 ? bctx->util >> halvings : 0;
}

/* Whether a CPU's running task needs little time at once, and is about to have had that time. */
static __always_inline bool energy_is_brief(struct base_cpu *bctx, u64 now)
{
	return bctx->burst <= ENERGY_BRIEF_NS && now - bctx->began < ENERGY_BRIEF_NS;
}

/*
 * A CPU of a kind that will be idle soon, as its task's earlier bursts tell, and for which no other task waits. To wake another cluster
 * instead would take about as long, and much energy. No task waits for the fastest kind: a slower CPU takes the task, and the fast CPU
 * may ask for it later. Negative: no CPU will be idle soon.
 */
static __noinline s32 energy_soon_idle(u32 kind)
{
	struct energy_kind *about = energy_kind_at(kind);
	u64 now = bpf_ktime_get_ns();
	s32 at;

	if (!kind || scx_bpf_dsq_nr_queued(QUEUE_LINE | line_of(cpus_by_speed[about->first & (MAX_CPUS - 1)])))
		return -1;
	for_range(at, about->first, about->first + about->nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];
		struct base_cpu *bctx = base_cpu_of(cpu);

		if (bctx->deadline && energy_is_brief(bctx, now))
			return cpu;
	}
	return -1;
}

/* Looks at the CPUs of a kind. The task's share @util of its last CPU's utilisation does not count. */
static __noinline int energy_look_at(u32 kind, u32 prev_cpu, u32 util, struct energy_look *look)
{
	struct energy_kind *about = energy_kind_at(kind);
	s32 at;

	if (!look)
		return 0;
	for_range(at, about->first, about->first + about->nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)], of;
		struct base_cpu *bctx = base_cpu_of(cpu);

		of = energy_util(bctx, look->now);
		if (cpu == prev_cpu)
			of = of > util ? of - util : 0;
		look->sum += of;
		if (of > look->most)
			look->most = of;
		if (bctx->deadline)
			look->awake = true;
		else if (of < look->least_idle)
			look->least_idle = of;
	}
	return 0;
}

/*
 * uW that a CPU of a kind draws more because a task wakes the CPU every @every us. For each idle state: if the task wakes the CPU too
 * often for the state, the power that the state would have saved. Otherwise the cost of entering and leaving the state, which is the
 * energy that the state saves in its break-even time.
 */
static __noinline u64 energy_naps(u32 kind, u64 every)
{
	struct energy_kind *about = energy_kind_at(kind);
	u64 draws = 0;
	s32 state;

	for_range(state, 0, MAX_IDLE_STATES) {
		u64 pays = about->pays[state & (MAX_IDLE_STATES - 1)];

		if (!pays)
			break;
		draws += about->nap[state & (MAX_IDLE_STATES - 1)] / (every > pays ? every : pays);
	}
	return draws;
}

/*
 * By how much the power of a kind rises with a task that wakes every @every us, uW with 10 bits of fraction, or ENERGY_NEVER. The
 * function is not static, so that the verifier follows one kind for all.
 */
__noinline u64 energy_rise(u32 kind, u32 prev_cpu, u32 util, u64 every, u64 now)
{
	struct energy_kind *about = energy_kind_at(kind);
	struct energy_look look = { .now = now, .least_idle = TOO_MUCH_NEVER };
	struct base_cpu *first = base_cpu_of(cpus_by_speed[about->first & (MAX_CPUS - 1)]);
	u32 before, after;
	u64 rise;

	energy_look_at(kind, prev_cpu, util, &look);
	if (!util_fits(look.least_idle + util, first)) {
		s32 soon = energy_soon_idle(kind);

		if (soon < 0 || !util_fits(base_cpu_of(soon)->util + util, first))
			return ENERGY_NEVER;
		look.least_idle = base_cpu_of(soon)->util;
	}
	before = energy_step(look.most);
	after = energy_step(look.least_idle + util > look.most ? look.least_idle + util : look.most);
	rise = (u64)(look.sum + util) * about->cost[after & (ENERGY_STEPS - 1)] - (u64)look.sum * about->cost[before & (ENERGY_STEPS - 1)];
	rise += energy_naps(kind, every) << 10;
	return look.awake ? rise : rise + (u64)util * about->shared[after & (ENERGY_STEPS - 1)];
}

/*
 * The kind on which a task that wakes every @every us costs least. The kind of its last CPU stays, unless another kind is better by a
 * sixteenth. Negative: no kind has a CPU that is idle, or will be idle soon. The function is not static, so that the verifier follows it
 * once.
 */
__noinline int energy_find_kind(u32 util, u32 prev_cpu, u64 every, u64 now)
{
	u64 least = ENERGY_NEVER;
	s32 kind, found = -1;

	for_range(kind, 0, MAX_KINDS) {
		u64 rise;

		if (kind >= nr_kinds)
			break;
		rise = energy_rise(kind, prev_cpu, util, every, now);
		if (rise != ENERGY_NEVER && kind == base_cpu_of(prev_cpu)->kind)
			rise -= rise >> 4;
		if (rise < least) {
			least = rise;
			found = kind;
		}
	}
	return found;
}

/* How often a task has woken since its kind was chosen: the mean time between two wakeups, us. */
static __always_inline u64 energy_wakes_every(struct base_task *task, u64 now)
{
	u64 ns = now - task->kind_at, wakes = task->kind < 0 ? 1 : ENERGY_AGAIN + 1 - task->kind_again;

	task->kind_at = now;
	return ns / (wakes * NSEC_PER_USEC);
}

/* The kind on which a task costs least: the kind of the last search, or a new search. */
static __always_inline s32 energy_kind_for(struct base_task *task, u32 prev_cpu)
{
	/* A task with next to no utilisation costs something all the same. */
	u32 util = util_to_place(task) ?: 1, apart = util > task->kind_util ? util - task->kind_util : task->kind_util - util;
	u64 now;

	if (task->kind_again && apart <= util >> ASK_SHIFT) {
		task->kind_again--;
		return task->kind;
	}
	now = bpf_ktime_get_ns();
	task->kind = energy_find_kind(util, prev_cpu, energy_wakes_every(task, now), now);
	task->kind_again = task->kind < 0 ? 0 : ENERGY_AGAIN;
	task->kind_util = util;
	return task->kind;
}

/* Converts mW at a performance to uW for a performance of 1024. */
static __always_inline u64 energy_cost(u32 power, u32 performance)
{
	return (u64)power * 1000 * 1024 / (performance ?: 1);
}

/*
 * mW of one busy CPU at an operating point: from a machine description, else from the kernel. 0: unknown. A device tree knows switching
 * power only, and its coefficients may be far off; power that CPUs draw together comes from the description, too.
 */
static __always_inline u32 energy_power(const volatile struct opp_table *points, u32 opp)
{
	return points->busy_power[opp & (MAX_OPPS - 1)] ?: points->power[opp & (MAX_OPPS - 1)];
}

/* The highest performance of a table. */
static __always_inline u32 energy_top(u32 table)
{
	const volatile struct opp_table *points = &opp_tables[table & (MAX_OPP_TABLES - 1)];

	return points->performance[(points->nr_opps - 1) & (MAX_OPPS - 1)];
}

/*
 * The performance at which work costs least if @busy CPUs of a package are busy. These CPUs bear the power that the package draws while
 * awake. If that power is high, a higher clock costs less, as the whole package is asleep sooner. There is no other reason to hurry.
 */
static __noinline u32 energy_least(u32 table, u32 busy)
{
	const volatile struct opp_table *points = &opp_tables[table & (MAX_OPP_TABLES - 1)];
	u64 least = ENERGY_NEVER;
	u32 found = 0;
	s32 opp;

	for_range(opp, 0, MAX_OPPS) {
		u32 at = opp & (MAX_OPPS - 1);
		u64 cost;

		if (opp >= points->nr_opps)
			break;
		cost = energy_cost(energy_power(points, at) + points->static_power[at] + package_power / busy, points->performance[at]);
		if (cost < least) {
			least = cost;
			found = points->performance[at];
		}
	}
	return found;
}

/*
 * The highest performance where energy is the only aim. Of the operating points that leave most of the performance, the function takes
 * the one with the least product of energy and time. All CPUs are taken to be busy, and bear the rest of the machine's power.
 */
static __noinline u32 energy_most(u32 table)
{
	const volatile struct opp_table *points = &opp_tables[table & (MAX_OPP_TABLES - 1)];
	u32 top = energy_top(table), found = top;
	u32 rest = (package_power * nr_packages + fixed_power) / (nr_cpus ?: 1);
	u64 least = ENERGY_NEVER;
	s32 opp;

	for_range(opp, 0, MAX_OPPS) {
		u32 at = opp & (MAX_OPPS - 1), performance = points->performance[at];
		u64 product;

		if (opp >= points->nr_opps)
			break;
		if (performance * 8 < top * ENERGY_LEAVES)
			continue;
		product = energy_cost(energy_power(points, at) + rest, performance) * 1024 / (performance ?: 1);
		if (product < least) {
			least = product;
			found = performance;
		}
	}
	return found;
}

/* Finds the clocks of a kind; returns whether power is known. */
static bool energy_find_clocks(u32 kind)
{
	struct energy_kind *about = energy_kind_at(kind);
	const volatile struct opp_table *points = &opp_tables[about->table & (MAX_OPP_TABLES - 1)];
	s32 crowd, opp;

	for_range(crowd, 0, UTIL_CROWDS)
		util_floors[kind & (MAX_KINDS - 1)].least[crowd & (UTIL_CROWDS - 1)] = energy_least(about->table, 1 << crowd) * 4 / 5;
	for_range(opp, 0, MAX_OPPS) {
		u32 at = opp & (MAX_OPPS - 1), below = (opp ? opp - 1 : 0) & (MAX_OPPS - 1);
		u32 power = energy_power(points, at), performance = points->performance[at];

		if (opp >= points->nr_opps)
			break;
		if (!power)
			return false;
		if (!opp || energy_cost(power - energy_power(points, below), performance - points->performance[below]) <=
			    2 * energy_cost(power, performance))
			about->dear = performance;
	}
	about->most = energy_most(about->table);
	return points->nr_opps > 0;
}

/* The operating point of a table for a performance: the lowest point that reaches the performance, or the highest point. */
static __noinline int energy_opp(u32 table, u32 performance)
{
	const volatile struct opp_table *points = &opp_tables[table & (MAX_OPP_TABLES - 1)];
	s32 opp;

	for_range(opp, 0, MAX_OPPS) {
		if (opp + 1 >= points->nr_opps || points->performance[opp & (MAX_OPPS - 1)] >= performance)
			return opp;
	}
	return 0;
}

/* Works out the cost of work if few other CPUs are busy, with the quarter that schedutil adds. */
static void energy_find_costs(struct energy_kind *about)
{
	const volatile struct opp_table *points = &opp_tables[about->table & (MAX_OPP_TABLES - 1)];
	u32 least = energy_least(about->table, 1);
	s32 step;

	for_range(step, 0, ENERGY_LAST + 1) {
		u32 wanted = (step << ENERGY_SHIFT) * 5 / 4, opp;

		opp = energy_opp(about->table, wanted > least ? wanted : least) & (MAX_OPPS - 1);
		about->cost[step & (ENERGY_STEPS - 1)] = energy_cost(energy_power(points, opp), points->performance[opp]);
		about->shared[step & (ENERGY_STEPS - 1)] = energy_cost(points->static_power[opp], points->performance[opp]);
	}
}

/* Finds the power that each idle state saves over the state before, and the shortest sleep for which the state pays. */
static void energy_find_naps(struct energy_kind *about)
{
	const volatile struct opp_table *points = &opp_tables[about->table & (MAX_OPP_TABLES - 1)];
	s32 state;

	for_range(state, 1, MAX_IDLE_STATES) {
		u32 at = state & (MAX_IDLE_STATES - 1), before = (state - 1) & (MAX_IDLE_STATES - 1);
		u32 saves = points->idle_power[before] > points->idle_power[at] ? points->idle_power[before] - points->idle_power[at] : 0;

		if (state >= points->nr_idle_states)
			break;
		about->pays[before] = points->idle_residency[at] ?: 1;
		about->nap[before] = (u64)saves * about->pays[before];
	}
}

static void energy_add_cpu(u32 at)
{
	struct energy_kind *about = energy_kind_at(base_cpu_of(cpus_by_speed[at & (MAX_CPUS - 1)])->kind);

	if (!about->nr_cpus++) {
		about->first = at;
		about->table = facts_of(cpus_by_speed[at & (MAX_CPUS - 1)])->opp_table;
	}
}

/*
 * Whether the power that CPUs draw together rises with their clock. They draw that power while idle, too, unless all of them sleep
 * deeply.
 */
static bool energy_idles_dear(u32 table)
{
	const volatile struct opp_table *points = &opp_tables[table & (MAX_OPP_TABLES - 1)];

	return points->nr_opps && points->static_power[(points->nr_opps - 1) & (MAX_OPPS - 1)] > points->static_power[0];
}

/* Call after util_init. */
static void energy_init(void)
{
	s32 at;

	if (mode == TANDEM_MODE_NONE || mode == TANDEM_MODE_PERFORMANCE)
		return;
	for_range(at, 0, nr_cpus)
		energy_add_cpu(at);
	energy_known = true;
	for_range(at, 0, nr_kinds) {
		if (!energy_find_clocks(at))
			energy_known = false;
		energy_find_costs(energy_kind_at(at));
		energy_find_naps(energy_kind_at(at));
	}
	if (!energy_known)
		return;
	energy_places = cpuperf || !smt;
	for_range(at, 0, nr_cpus) {
		struct base_cpu *bctx = base_cpu_of(at);

		bctx->has_util = true;
		bctx->idles_dear = energy_idles_dear(energy_kind_at(bctx->kind)->table);
		/* With mechanisms on, the mechanisms know which thread gains most by the fast CPU. */
		bctx->takes_dear = !is_asked(MECHANISMS) &&
				   (!bctx->has_clock || energy_kind_at(bctx->kind)->dear == energy_top(energy_kind_at(bctx->kind)->table));
		bctx->dear = energy_kind_at(bctx->kind)->dear * 4 / 5;
		bctx->ceiling = energy_kind_at(bctx->kind)->most * 4 / 5;
	}
}

#endif /* __TANDEM_PLACE_ENERGY_H */
