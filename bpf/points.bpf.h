/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolation's clocks: the highest operating point that each CPU may ask for (Grant & Afsahi, section 3).
 *
 * PS-Sched-1 (dedicated) runs the OS CPU's core slower, PS-Sched-2 (shared) all others. os_mhz and rest_mhz fix these clocks,
 * as the paper has it. Without them they follow what the noise needs, the paper's rule of thumb and its future work:
 *
 *	dedicated	the OS CPU gets the lowest clock that noise loads to less than 90 %
 *	shared		the others lose the share of their clock that noise takes of the OS CPU
 *
 * Noise is measured over windows of 100 ms, and the greater of two in a row counts, so that one quiet window slows nothing
 * down. Where noise keeps the OS CPU at work for a quarter of a window its clock goes up at once.
 *
 * The other hardware thread of the OS CPU's core shares that clock. A fixed clock is the core's, as in the paper; one that
 * follows the noise is lowered by the OS CPU alone, and the core stays fast while the other thread has work.
 */
#ifndef __TANDEM_POINTS_H
#define __TANDEM_POINTS_H

#include "isolate.bpf.h"
#include "clock.bpf.h"

enum {
	POINTS_WINDOW_NS = 100 * NSEC_PER_MSEC,
	/* Most that noise may load the OS CPU at the clock it gets, in 1024ths. */
	POINTS_FULL = 922,
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
	/* The clock went up in this window because work piled up. */
	bool hurry;
};

struct noise noise;

/* Performance that others may have, 0..1024 of their highest; changes with the noise where rest_mhz is not set. */
u32 points_rest = CLOCK_ONE;

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
	return active & ISOLATE && points_follow_os() && facts_of(cpu)->domain == facts_of(isolate_os_cpu())->domain;
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
	bool os_core = facts_of(cpu)->core == facts_of(isolate_os_cpu())->core;
	u32 mhz = !(active & ISOLATE) ? 0 : os_core ? os_mhz : rest_mhz;

	cctx->bound = mhz ? clock_for_mhz(cpu, mhz) : clock_top(cpu);
	/* What there is no noise for yet begins low. */
	if (active & ISOLATE && points_follow_os() && cpu == isolate_os_cpu())
		cctx->bound = 0;
	cctx->bound_rest = CLOCK_ONE;
	cctx->is_rest = !os_core;
}

/* The performance of the OS CPU at the clock that it asks for, of its highest, 0..1024. */
static __always_inline u32 points_speed(u32 cpu)
{
	u32 opp = cpu_of(cpu)->asked - 1, slowness = clocks_of(cpu)->slowness[opp & (MAX_OPPS - 1)];

	return slowness ? CLOCK_ONE * CLOCK_ONE / slowness : CLOCK_ONE;
}

/* Makes clocks follow what noise took in a window that is over. */
static void points_end_window(u32 cpu, u64 now)
{
	u32 share = noise.work * CLOCK_ONE / (now - noise.since), capacity = facts_of(cpu)->performance, bound;
	struct cpu_ctx *cctx = cpu_of(cpu);

	share = share < CLOCK_ONE ? share : CLOCK_ONE;
	noise.share = share > noise.before ? share : noise.before;
	noise.before = share;
	noise.since = now;
	noise.work = 0;
	noise.hurry = false;
	if (points_follow_os()) {
		bound = clock_for_performance(cpu, noise.share * capacity / POINTS_FULL + 1);
		if (bound != cctx->bound)
			count(TANDEM_STAT_ISOLATE_CLOCK_CHANGED);
		cctx->bound = bound;
	}
	if (points_follow_rest())
		/* Application threads leave a CPU of which noise takes more than half: the others do not wait for that one then. */
		points_rest = noise.share <= CLOCK_ONE / 2 ? CLOCK_ONE - noise.share : CLOCK_ONE;
}

/* Counts what a system task ran. */
static void points_stopping(u32 cpu, struct task_ctx *tctx, u64 ran)
{
	u64 now = bpf_ktime_get_ns();

	/* Before an application is known nothing is known to be noise. */
	if (cpu != isolate_os_cpu() || !applications_known)
		return;
	if (!tctx->application)
		noise.work += (ran * points_speed(cpu)) >> 10;
	if (!noise.since)
		noise.since = now;
	if (now - noise.since >= POINTS_WINDOW_NS)
		points_end_window(cpu, now);
}

/* Brings a CPU's highest operating point up to date. */
static void points_running(u32 cpu)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	u32 rest = points_rest;

	if (cctx->is_rest && cctx->bound_rest != rest) {
		cctx->bound_rest = rest;
		cctx->bound = clock_for_performance(cpu, (facts_of(cpu)->performance * rest + CLOCK_ONE - 1) / CLOCK_ONE);
	}
	if (cpu != isolate_os_cpu() || !points_follow_os() || noise.hurry || !cctx->loaded_since)
		return;
	if (bpf_ktime_get_ns() - cctx->loaded_since > POINTS_WINDOW_NS / 4 && cctx->bound < clock_top(cpu)) {
		noise.hurry = true;
		cctx->bound = clock_top(cpu);
		count(TANDEM_STAT_ISOLATE_CLOCK_HURRIED);
	}
}

#endif /* __TANDEM_POINTS_H */
