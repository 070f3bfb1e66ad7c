/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolation's clocks: the highest operating point that each CPU may ask for (Grant & Afsahi, section 6).
 *
 * PS-Sched-1 (dedicated) slows down the OS CPU's core, PS-Sched-2 (shared) all other cores. os_mhz and rest_mhz fix these clocks, as in
 * the paper's experiments (sections 4.3 and 7.3). Without them the clocks follow the noise's load: the rule of thumb of section 2, "as
 * close to 100 %" as possible, and the future work of section 8:
 *
 *	dedicated	the OS CPU gets the lowest clock that noise loads to at most os_load_pct, 90 %
 *	shared		the others lose the share that noise takes of the OS CPU, as far as they wait for it
 *
 * Noise is measured over windows of 100 ms. The greater of two windows in a row counts, so that one quiet window slows no CPU down. If
 * noise keeps the OS CPU busy for os_hurry_ms, a quarter of a window, the clock goes up at once. Taken literally, the paper has a load of
 * 100 % and no hurry: a burst of noise then waits for the end of a window.
 *
 * That share is exact for an application with a thread on every CPU that stays there, as in the paper. Where threads move, or leave the
 * OS CPU alone, slower clocks would cost time. So the other CPUs count as waiting for the OS CPU only if it is busy nearly all the time,
 * and none of them gets a clock at which it would be busy nearly all the time itself.
 *
 * The other hardware thread of the OS CPU's core shares that clock. A fixed clock is the core's, as in the paper. A clock that follows
 * the noise is lowered by the OS CPU alone, and the core stays fast while the other thread has work.
 */
#ifndef __TANDEM_ISOLATE_POINTS_H
#define __TANDEM_ISOLATE_POINTS_H

#include "isolate.bpf.h"
#include "../clocks/clock.bpf.h"

enum {
	POINTS_WINDOW_NS = 100 * NSEC_PER_MSEC,
	/* A CPU that works more than this share of the time is busy nearly all of it, in 1024ths. */
	POINTS_BUSY = 973,
	/* A shorter pause does not count: Linux 6.12 goes to the idle task before a slice that follows another of the same task. */
	POINTS_PAUSE_NS = 10 * NSEC_PER_USEC,
};

/* System tasks on the OS CPU. Only that CPU writes this. */
struct noise {
	/* Of this window: its begin, and the run time of system tasks, ns at the OS CPU's highest clock. */
	u64 since;
	u64 work;
	/* Share of the window before, 0..1024. */
	u32 before;
	/* The share that counts: the greater of the last two. */
	u32 share;
	/* Since when that CPU has had no pause, and when it went idle if it has run no task since (else 0), ns. */
	u64 busy_since;
	u64 paused;
	/* The highest share of a window that another CPU worked, 0..1024. */
	u32 most;
	/* The clock went up in this window because work piled up. */
	bool hurry;
};

struct noise noise;

/* Performance that other CPUs may have, 0..1024 of their highest; changes with the noise where rest_mhz is not set. */
u32 points_rest = CLOCK_ONE;

/* The highest load of the OS CPU by noise at the clock it gets, in 1024ths; a loader refuses less than 1 %. */
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

/* Whether a CPU shares its clock with the OS CPU and that CPU's bound moves. */
static __always_inline bool points_os_here(u32 cpu)
{
	return active & ISOLATE && points_follow_os() && facts_of(cpu)->domain == facts_of(place_os_cpu())->domain;
}

/* Whether the bounds of a CPU's clock move: if so, CPUs ask for no clock before they are loaded. */
static __always_inline bool points_follow_here(u32 cpu)
{
	return points_os_here(cpu) || (active & ISOLATE && points_follow_rest());
}

/* The clock that a CPU begins with, and keeps unless the clock follows the noise. */
static void points_init_cpu(u32 cpu)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	bool os_core = facts_of(cpu)->core == facts_of(place_os_cpu())->core;
	u32 mhz = !(active & ISOLATE) ? 0 : os_core ? os_mhz : rest_mhz;

	cctx->speed.bound = mhz ? clock_for_mhz(cpu, mhz) : clock_top(cpu);
	/* There is no noise yet, so the OS CPU begins at its lowest clock. */
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

/* The work of a CPU up to now, ns at its highest clock. */
static __always_inline u64 points_worked(u32 cpu, u64 now)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	u64 since = cctx->speed.loaded_since;

	return cctx->isolate.worked + (since && vtime_before(since, now) ? ((now - since) * points_speed(cpu)) >> 10 : 0);
}

/* A CPU that goes idle notes its work. Other CPUs read that at any time: a window may count a little wrong. */
static __always_inline void points_idle(u32 cpu)
{
	u64 now = bpf_ktime_get_ns();

	cpu_of(cpu)->isolate.worked = points_worked(cpu, now);
	if (cpu == place_os_cpu())
		noise.paused = now;
}

/* The share of a window that a CPU has worked, 0..1024 of its highest clock. Begins the next window. */
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
 * Makes the OS CPU's clock follow the noise. Noise that filled a whole window may need more than was measured, as a measurement is no
 * more than the clock can do. The clock then goes up by one point, and by another after the next full window.
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

/* Counts a system task's run time. */
static void points_stopping(u32 cpu, struct task_ctx *tctx, u64 ran)
{
	u64 now = bpf_ktime_get_ns();

	/* Before an application is known, no task is known to be noise. */
	if (cpu != place_os_cpu() || !applications_known)
		return;
	if (!tctx->isolate.application)
		noise.work += (ran * points_speed(cpu)) >> 10;
	if (!noise.since)
		noise.since = now;
	if (now - noise.since >= POINTS_WINDOW_NS)
		points_end_window(cpu, now);
}

/* The OS CPU begins to run a task: its clock goes up at once if noise has kept the CPU busy for long. */
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

/* Updates a CPU's highest operating point. */
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
