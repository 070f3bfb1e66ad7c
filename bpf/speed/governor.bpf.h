/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event-driven governor (Richling et al.), one for each clock.
 *
 * A clock is low when all its CPUs are idle and high while one is loaded; events tell this, not samples. Delays and shortest times at a
 * level damp the changes. High is the highest operating point, or the point of the running tasks' energy-delay factor (edp.bpf.h). In the
 * latter case the point changes without delays, but not before the shortest time has passed. No CPU asks for more than its own bound
 * (points.bpf.h).
 *
 * The clock's timer makes a change that has to wait, and a change that concerns several CPUs: callbacks may ask for their own CPU only.
 * One CPU's request raises the clock for all of its CPUs. No code waits for a timer to be cancelled, which could deadlock with run queues
 * locked: a timer that is no longer needed finds no work. While no change is pending no timer runs.
 *
 * schedutil ignores requests that follow a change of its clock too closely (rate_limit_us) and does not come back to them. So a request
 * within SETTLE_NS of a change is repeated, in growing intervals. The paper has no limit of this kind.
 *
 * Any of a clock's CPUs writes the clock's members without a lock. The worst result is a level that is wrong until the next event: the
 * timer checks the count of loaded CPUs, which is exact, and so does each task that begins to run.
 */
#ifndef __TANDEM_SPEED_GOVERNOR_H
#define __TANDEM_SPEED_GOVERNOR_H

#include "../clocks/counters.bpf.h"
#include "../isolate/points.bpf.h"
#include "edp.bpf.h"
#include "warm.bpf.h"

enum {
	SETTLE_NS = 10 * NSEC_PER_MSEC,
	/* The first repetition comes no sooner. */
	REPEAT_NS = 100 * NSEC_PER_USEC,
};

/* A clock: the CPUs of a performance domain. */
struct domain {
	/* Its first CPU, from which cpu_ctx.speed.next leads to the others. */
	u32 first;
	u32 nr_cpus;
	u32 table;
	/* Its CPUs' bounds differ or move: idle CPUs must not hold the clock up then. */
	bool uneven;
	s32 nr_loaded;
	/* The operating point that its CPUs ask for, when that last changed, and when it changed before that. */
	u32 opp;
	u64 changed;
	u64 changed_before;
	/* When a pending change is due, and when to ask again; 0: no change is pending, or no request is repeated. */
	u64 due;
	u64 repeat;
	/* The running tasks, and the decision for the tasks in `decided`. */
	struct edp_mix mix;
	struct edp_mix decided;
	u32 decision;
	/* Decisions for earlier mixes of tasks (edp.bpf.h). */
	u64 memos[EDP_MEMOS];
};

struct domain domains[MAX_DOMAINS];

struct domain_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct domain_timer);
	__uint(max_entries, MAX_DOMAINS);
} domain_timers SEC(".maps");

static __always_inline struct domain *domain_of(u32 cpu)
{
	return &domains[facts_of(cpu)->domain & (MAX_DOMAINS - 1)];
}

static __always_inline bool domain_is_high(struct domain *domain)
{
	return domain->opp > 0;
}

/*
 * The operating point for the tasks noted in `decided`. The function is not static, so that the verifier follows it once, not for each
 * caller.
 */
__noinline int domain_decide(u32 number)
{
	struct domain *domain = &domains[number & (MAX_DOMAINS - 1)];
	struct edp_mix mix = domain->decided;

	return edp_decide(domain->memos, &mix, domain->table, domain->decision);
}

/* The operating point of a loaded clock. The running tasks may have changed, or be the same as before. */
static __always_inline u32 domain_loaded_opp(struct domain *domain)
{
	struct edp_mix mix = domain->mix;

	if (!edp || !(active & SPEED) || edp_is_blind(domain->table))
		return clock_tables[domain->table & (MAX_OPP_TABLES - 1)].top;
	mix.full = counters_memory_full(domain->first, mix.nr, domain->decided.full);
	if (mix.nr && (mix.nr != domain->decided.nr || mix.sum != domain->decided.sum ||
		       mix.squares != domain->decided.squares || mix.full != domain->decided.full)) {
		domain->decided = mix;
		domain->decision = domain_decide(facts_of(domain->first)->domain);
	}
	return domain->decision;
}

/* The operating point that a clock should have. Without the governor, isolation's clocks stay where they are when CPUs are idle. */
static __always_inline u32 domain_wanted_opp(struct domain *domain)
{
	return domain->nr_loaded > 0 || !(active & SPEED) ? domain_loaded_opp(domain) : 0;
}

/* When a change that is wanted from now on may be made ("next()" of the paper's slide). */
static __always_inline u64 domain_earliest(struct domain *domain, u32 wanted, u64 now)
{
	bool idles = wanted < domain->opp && domain->nr_loaded <= 0;
	bool wakes = wanted > domain->opp && !domain_is_high(domain);
	u64 wait = idles ? down_delay_us : wakes ? up_delay_us : 0;
	u64 stay = wanted < domain->opp ? min_high_us : wakes ? min_low_us : 0;
	u64 at = now + wait * NSEC_PER_USEC, dwelt = domain->changed + stay * NSEC_PER_USEC;

	return vtime_before(at, dwelt) ? dwelt : at;
}

/* The operating point that a CPU is to ask for. */
static __always_inline u32 domain_opp_of(struct domain *domain, struct cpu_ctx *cctx)
{
	u32 opp = domain->uneven && !cctx->speed.loaded ? 0 : domain->opp;

	return opp < cctx->speed.bound ? opp : cctx->speed.bound;
}

/* Starts the timer for the first of its two tasks. */
static void domain_arm(u32 number, u64 now)
{
	struct domain *domain = &domains[number & (MAX_DOMAINS - 1)];
	struct domain_timer *timer = bpf_map_lookup_elem(&domain_timers, &number);
	u64 at = domain->due;

	if (domain->repeat && (!at || vtime_before(domain->repeat, at)))
		at = domain->repeat;
	if (timer && at)
		bpf_timer_start(&timer->timer, vtime_before(now, at) ? at - now : 0, BPF_F_TIMER_CPU_PIN);
}

/* Notes a change that is made now; returns whether the request has to be repeated later. */
static bool domain_change(struct domain *domain, u32 wanted, u64 now)
{
	u64 since = now - domain->changed;

	if (wanted > domain->opp)
		count(TANDEM_STAT_SPEED_RAISED);
	else if (domain->nr_loaded > 0)
		count(TANDEM_STAT_SPEED_EDP_LOWERED);
	else
		count(TANDEM_STAT_SPEED_LOWERED);
	if (domain_is_high(domain) != (wanted > 0))
		warm_mark_all(domain->first, domain->nr_cpus, wanted > 0);
	domain->changed_before = domain->changed;
	domain->changed = now;
	domain->due = 0;
	/* The barrier is for the timer, which looks at the loaded CPUs afterwards. */
	__sync_lock_test_and_set(&domain->opp, wanted);
	if (since < SETTLE_NS)
		domain->repeat = now + (since > REPEAT_NS ? since : REPEAT_NS);
	return since < SETTLE_NS;
}

/* A pending change is no longer wanted: the present level is the wanted one. */
static __always_inline void domain_keep(struct domain *domain)
{
	if (!domain->due)
		return;
	domain->due = 0;
	count(TANDEM_STAT_SPEED_KEPT);
}

/*
 * A CPU has become loaded. If its clock is up, it is not to go down. If its clock is down, a pending rise is another CPU's, and goes on:
 * the paper's governor deletes its timer only when level and load agree.
 */
static __always_inline void domain_loaded(struct domain *domain)
{
	if (domain_is_high(domain))
		domain_keep(domain);
}

/* Updates a clock from one of its CPUs, which runs this. */
static void domain_follow(u32 cpu, struct domain *domain)
{
	u32 wanted = domain_wanted_opp(domain);
	bool later = false;
	u64 now, at;

	if (wanted == domain->opp) {
		domain_keep(domain);
		return;
	}
	now = bpf_ktime_get_ns();
	at = domain_earliest(domain, wanted, now);
	if (!vtime_before(now, at) && (wanted > domain->opp || domain->nr_cpus == 1)) {
		later = domain_change(domain, wanted, now);
	} else if (!domain->due || vtime_before(at, domain->due) || domain->nr_loaded <= 0) {
		domain->due = at;
		later = true;
	}
	if (later)
		domain_arm(facts_of(cpu)->domain, now);
}

/* One of several CPUs with different bounds is idle and may hold the clock up: after the delay it no longer may. */
static void domain_let_go(u32 cpu, struct domain *domain)
{
	u64 now = bpf_ktime_get_ns();

	if (!domain->uneven || domain->nr_loaded <= 0 || domain->due)
		return;
	domain->due = now + (u64)down_delay_us * NSEC_PER_USEC;
	domain_arm(facts_of(cpu)->domain, now);
}

/* One of several CPUs with different bounds has asked for another point: that request may be lost as well. */
static void domain_asked_apart(u32 cpu, struct domain *domain)
{
	u64 now = bpf_ktime_get_ns();

	domain->changed_before = now;
	domain->repeat = now + REPEAT_NS;
	domain_arm(facts_of(cpu)->domain, now);
}

/* Makes all CPUs of a clock ask for its operating point. No run queue is locked. */
static void domain_ask(struct domain *domain)
{
	u32 cpu = domain->first;
	s32 step;

	for_range(step, 0, domain->nr_cpus) {
		struct cpu_ctx *cctx = cpu_of(cpu);

		clock_have_asked(cpu & (MAX_CPUS - 1), domain_opp_of(domain, cctx));
		cpu = cctx->speed.next;
	}
}

/* Repeats a request that schedutil may have ignored. */
static void domain_repeat(u32 number, struct domain *domain, u64 now)
{
	u32 cpu = bpf_get_smp_processor_id();
	u64 since = now - domain->changed_before;

	/* Timers of a CPU that goes offline move to another CPU. */
	if (facts_of(cpu)->domain != number)
		cpu = domain->first;
	clock_have_asked_again(cpu);
	domain->repeat = since < SETTLE_NS ? now + since : 0;
	count(TANDEM_STAT_SPEED_REPEATED);
}

static int domain_timer_fires(void *map, u32 *key, struct domain_timer *timer)
{
	u32 number = *key;
	struct domain *domain = &domains[number & (MAX_DOMAINS - 1)];
	u64 now = bpf_ktime_get_ns();
	u32 wanted;

	if (domain->due && !vtime_before(now, domain->due)) {
		wanted = domain_wanted_opp(domain);
		domain->due = 0;
		if (wanted != domain->opp)
			domain_change(domain, wanted, now);
		domain_ask(domain);
		/* The last CPU may have gone idle meanwhile, and have seen no clock to lower. */
		if (domain_wanted_opp(domain) != domain->opp)
			domain->due = domain_earliest(domain, domain_wanted_opp(domain), now);
	}
	if (domain->repeat && !vtime_before(now, domain->repeat))
		domain_repeat(number, domain, now);
	domain_arm(number, now);
	return 0;
}

/* Notes whether a CPU is loaded; returns whether that is new. */
static bool domain_loads(struct domain *domain, struct cpu_ctx *cctx, bool loaded)
{
	s32 before;

	if (cctx->speed.loaded == loaded)
		return false;
	cctx->speed.loaded = loaded;
	cctx->speed.loaded_since = loaded ? bpf_ktime_get_ns() : 0;
	before = __sync_fetch_and_add(&domain->nr_loaded, loaded ? 1 : -1);
	if (before == (loaded ? 0 : 1))
		__sync_fetch_and_add(&edp_clocks_in_use, loaded ? 1 : -1);
	return true;
}

/* Counts a CPU's present task in the mix, in place of its last one; @nr is 0 if the CPU runs no task. */
static void domain_mixes(struct domain *domain, struct cpu_ctx *cctx, u32 nr, u32 share)
{
	u32 old_nr = cctx->speed.mixed, old = cctx->speed.share;

	if (nr != old_nr)
		__sync_fetch_and_add(&domain->mix.nr, nr - old_nr);
	if (share != old) {
		__sync_fetch_and_add(&domain->mix.sum, share - old);
		__sync_fetch_and_add(&domain->mix.squares, share * share - old * old);
	}
	cctx->speed.mixed = nr;
	cctx->speed.share = share;
}

/* Puts a CPU into its clock's domain. */
static void governor_init_cpu(u32 cpu)
{
	struct domain *domain = domain_of(cpu);
	struct cpu_ctx *cctx = cpu_of(cpu);

	points_init_cpu(cpu);
	if (domain->nr_cpus && (cctx->speed.bound != cpu_of(domain->first)->speed.bound || points_os_here(cpu)))
		domain->uneven = true;
	cctx->speed.next = domain->nr_cpus ? domain->first : cpu;
	domain->first = cpu;
	domain->nr_cpus++;
	domain->table = facts_of(cpu)->opp_table;
	domain->opp = active & SPEED || points_follow_here(cpu) ? 0 : clock_top(cpu);
	domain->decision = clock_top(cpu);
	cctx->speed.fixed = !(active & SPEED) && !points_follow_here(cpu);
}

static s32 governor_init_domain(u32 number)
{
	struct domain_timer *timer = bpf_map_lookup_elem(&domain_timers, &number);
	struct domain *domain = &domains[number & (MAX_DOMAINS - 1)];
	s32 err;

	if (!timer || !domain->nr_cpus)
		return 0;
	err = bpf_timer_init(&timer->timer, &domain_timers, CLOCK_MONOTONIC);
	if (err)
		return err;
	err = bpf_timer_set_callback(&timer->timer, domain_timer_fires);
	if (err)
		return err;
	domain_ask(domain);
	return 0;
}

static s32 governor_init(void)
{
	s32 number, err;

	for_range(number, 0, nr_cpus)
		governor_init_cpu(number);
	for_range(number, 0, MAX_DOMAINS) {
		err = governor_init_domain(number);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __TANDEM_SPEED_GOVERNOR_H */
