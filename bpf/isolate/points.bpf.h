/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolation's clocks: the highest operating point that each CPU may ask for (Grant & Afsahi, section 6).
 *
 * PS-Sched-1 (dedicated) runs the OS CPU's core slower, PS-Sched-2 (shared) all others. os_mhz and rest_mhz fix these
 * clocks, as the paper's experiments do (sections 4.3 and 7.3). Without them they follow what the noise needs: the rule of
 * thumb of section 2, "as close to 100 %" as possible, and the future work of section 8:
 *
 *	dedicated	the OS CPU gets the lowest clock that noise loads to at most os_load_pct, 90 %
 *	shared		the others lose the share that noise takes of the OS CPU, as far as they wait for it
 *
 * Noise is measured over windows of 100 ms, and the greater of two in a row counts, so that one quiet window slows
 * nothing down. Where noise keeps the OS CPU at work for os_hurry_ms, a quarter of a window, its clock goes up at once. By
 * the paper's letter the load may be 100 % and nothing hurries: what comes in bursts then waits for the end of a window.
 *
 * That share is the whole truth for an application with a thread on every CPU that stays there, as in the paper. Where
 * threads move, or leave the OS CPU alone, slower clocks would cost time: so the others wait for the OS CPU only if
 * that one is busy nearly all the time, and none gets a clock at which it would be.
 *
 * The other hardware thread of the OS CPU's core shares that clock. A fixed clock is the core's, as in the paper; one
 * that follows the noise is lowered by the OS CPU alone, and the core stays fast while the other thread has work.
 */
#ifndef __TANDEM_ISOLATE_POINTS_H
#define __TANDEM_ISOLATE_POINTS_H

#include "isolate.bpf.h"
#include "../clocks/clock.bpf.h"

enum {
	POINTS_WINDOW_NS = 100 * NSEC_PER_MSEC,
	/* A CPU that works more than this much of the time is busy nearly all of it, in 1024ths. */
	POINTS_BUSY = 973,
	/* A shorter pause is none: Linux 6.12 goes to the idle task before a slice that follows another of the same task. */
	POINTS_PAUSE_NS = 10 * NSEC_PER_USEC,
};

/* System tasks on the OS CPU. Written by that CPU only. */
struct noise {
	/* Of this window: its begin, and what system tasks ran, in ns at the OS CPU's highest clock. */
	u64 since;
	u64 work;
	/* Share of the window before, 0..1024. */
	u32 before;
	/* What counts: the greater of the last two. */
	u32 share;
	/* Since when that CPU has had no pause, and when it went idle if it has run nothing since (else 0), ns. */
	u64 busy_since;
	u64 paused;
	/* The most that another CPU worked in a window, 0..1024. */
	u32 most;
	/* The clock went up in this window because work piled up. */
	bool hurry;
};

struct noise noise;

/* Performance that others may have, 0..1024 of their highest; changes with the noise where rest_mhz is not set. */
u32 points_rest = CLOCK_ONE;

/* Most that noise may load the OS CPU at the clock it gets, in 1024ths; a loader refuses less than 1 %. */
static __always_inline u32 points_full(void)
{
	return (os_load_pct * CLOCK_ONE + 50) / 100 ?: 1;
}

static __always_inline bool points_follow_os(void)
{
	return isolate_mode() == TANDEM_ISOLATE_DEDICATED && !os_mhz;
}

static __always_inline bool points_follow_rest(void)
{
	return isolate_mode() == TANDEM_ISOLATE_SHARED && !rest_mhz;
}

/* Whether a CPU shares its clock with the OS CPU and that one's bound moves. */
static __always_inline bool points_os_here(u32 cpu)
{
	return active & ISOLATE && points_follow_os() && facts_of(cpu)->domain == facts_of(place_os_cpu())->domain;
}

/* Whether the bounds of a CPU's clock move: then CPUs ask for nothing before they are loaded. */
static __always_inline bool points_follow_here(u32 cpu)
{
	return points_os_here(cpu) || (active & ISOLATE && points_follow_rest());
}

/* The clock that a CPU begins with, and keeps unless it follows the noise. */
static void points_init_cpu(u32 cpu)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	bool os_core = facts_of(cpu)->core == facts_of(place_os_cpu())->core;
	u32 mhz = !(active & ISOLATE) ? 0 : os_core ? os_mhz : rest_mhz;

	cctx->speed.bound = mhz ? clock_for_mhz(cpu, mhz) : clock_top(cpu);
	/* What there is no noise for yet begins low. */
	if (active & ISOLATE && points_follow_os() && cpu == place_os_cpu())
		cctx->speed.bound = 0;
	cctx->isolate.bound_rest = CLOCK_ONE;
	cctx->isolate.is_rest = !os_core;
}

/* The performance of the OS CPU at the clock that it asks for, of its highest, 0..1024. */
static __always_inline u32 points_speed(u32 cpu)
{
	u32 opp = cpu_of(cpu)->speed.asked - 1, slowness = clocks_of(cpu)->slowness[opp & (MAX_OPPS - 1)];

	return slowness ? CLOCK_ONE * CLOCK_ONE / slowness : CLOCK_ONE;
}

/* What a CPU has worked up to now, ns at its highest clock. */
static __always_inline u64 points_worked(u32 cpu, u64 now)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	u64 since = cctx->speed.loaded_since;

	return cctx->isolate.worked + (since && vtime_before(since, now) ? ((now - since) * points_speed(cpu)) >> 10 : 0);
}

/* A CPU that goes idle notes what it has worked. Others read that at any time: a window may count a little wrong. */
static __always_inline void points_idle(u32 cpu)
{
	u64 now = bpf_ktime_get_ns();

	cpu_of(cpu)->isolate.worked = points_worked(cpu, now);
	if (cpu == place_os_cpu())
		noise.paused = now;
}

/* The share of a window that a CPU has worked, 0..1024 of its highest clock; begins the next one. */
static __always_inline u32 points_work_share(u32 cpu, u64 now, u64 window)
{
	u64 worked = points_worked(cpu, now), before = cpu_of(cpu)->isolate.worked_before;
	u64 work = vtime_before(before, worked) ? worked - before : 0;

	cpu_of(cpu)->isolate.worked_before = worked;
	return work < window ? work * CLOCK_ONE / window : CLOCK_ONE;
}

/* The performance that CPUs off the OS CPU's core need so that none of them is busy nearly all the time. */
static u32 points_rest_needs(u64 now, u64 window)
{
	s32 cpu;

	noise.most = 0;
	for_range(cpu, 0, nr_cpus) {
		u32 share = points_work_share(cpu, now, window);

		if (cpu_of(cpu)->isolate.is_rest && share > noise.most)
			noise.most = share;
	}
	return noise.most * CLOCK_ONE / POINTS_BUSY;
}

/* Makes the others' clocks follow the noise. */
static void points_follow_with_rest(u32 cpu, u64 now, u64 window)
{
	u64 before = cpu_of(cpu)->isolate.worked_before, worked = points_worked(cpu, now);
	bool waited_for = before && (worked - before) * CLOCK_ONE / window > POINTS_BUSY;
	u32 needs = points_rest_needs(now, window), rest = CLOCK_ONE - noise.share;

	rest = rest > needs ? rest : needs;
	rest = waited_for && rest < CLOCK_ONE ? rest : CLOCK_ONE;
	if (rest != points_rest)
		count(TANDEM_STAT_ISOLATE_CLOCK_CHANGED);
	points_rest = rest;
}

/*
 * Makes the OS CPU's clock follow it. What filled a whole window may be more than was measured, which is no more than the
 * clock can take: then the clock goes up by one point, and by another after the next such window.
 */
static void points_follow_with_os(u32 cpu, bool filled)
{
	u32 bound = clock_for_performance(cpu, noise.share * facts_of(cpu)->performance / points_full() + 1);
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (filled && bound <= cctx->speed.bound)
		bound = cctx->speed.bound < clock_top(cpu) ? cctx->speed.bound + 1 : cctx->speed.bound;

	if (bound != cctx->speed.bound)
		count(TANDEM_STAT_ISOLATE_CLOCK_CHANGED);
	cctx->speed.bound = bound;
}

/* A window is over. */
static void points_end_window(u32 cpu, u64 now)
{
	u64 window = now - noise.since, share = noise.work * CLOCK_ONE / window;
	bool filled = !vtime_before(noise.since, noise.busy_since);

	share = share < CLOCK_ONE ? share : CLOCK_ONE;
	noise.share = share > noise.before ? share : noise.before;
	noise.before = share;
	noise.since = now;
	noise.work = 0;
	noise.hurry = false;
	if (points_follow_os())
		points_follow_with_os(cpu, filled);
	if (points_follow_rest())
		points_follow_with_rest(cpu, now, window);
}

/* Counts what a system task ran. */
static void points_stopping(u32 cpu, struct task_ctx *tctx, u64 ran)
{
	u64 now = bpf_ktime_get_ns();

	/* Before an application is known nothing is known to be noise. */
	if (cpu != place_os_cpu() || !applications_known)
		return;
	if (!tctx->isolate.application)
		noise.work += (ran * points_speed(cpu)) >> 10;
	if (!noise.since)
		noise.since = now;
	if (now - noise.since >= POINTS_WINDOW_NS)
		points_end_window(cpu, now);
}

/* The OS CPU begins to run something: its clock goes up at once where noise has kept it at work for long. */
static void points_hurry(u32 cpu)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	u64 now = bpf_ktime_get_ns();

	if (!noise.busy_since || (noise.paused && now - noise.paused > POINTS_PAUSE_NS))
		noise.busy_since = now;
	noise.paused = 0;
	if (!os_hurry_ms || noise.hurry || cctx->speed.bound >= clock_top(cpu) ||
	    now - noise.busy_since <= (u64)os_hurry_ms * NSEC_PER_MSEC)
		return;
	noise.hurry = true;
	cctx->speed.bound = clock_top(cpu);
	count(TANDEM_STAT_ISOLATE_CLOCK_HURRIED);
}

/* Brings a CPU's highest operating point up to date. */
static void points_running(u32 cpu)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	u32 rest = points_rest;

	if (cctx->isolate.is_rest && cctx->isolate.bound_rest != rest) {
		cctx->isolate.bound_rest = rest;
		cctx->speed.bound = clock_for_performance(cpu, (facts_of(cpu)->performance * rest + CLOCK_ONE - 1) >> 10);
	}
	if (cpu == place_os_cpu() && points_follow_os())
		points_hurry(cpu);
}

#endif /* __TANDEM_ISOLATE_POINTS_H */
