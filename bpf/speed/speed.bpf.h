/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast: clocks follow idle and loaded CPUs (governor.bpf.h), the running tasks' energy-delay factor (edp.bpf.h), and isolation's
 * points (points.bpf.h); work goes where the clock is high (warm.bpf.h).
 *
 * Isolation has its clocks without `speed`, too: a bit of its own, CLOCKS, says that there are clocks to set.
 */
#ifndef __TANDEM_SPEED_SPEED_H
#define __TANDEM_SPEED_SPEED_H

#include "feed.bpf.h"
#include "governor.bpf.h"
#include "light.bpf.h"

/* Turns on the parts that have a clock to change. Isolation has been decided before. */
static s32 speed_init(void)
{
	bool clocks = clock_init();

	if (speed || all)
		speed_state = clocks ? TANDEM_STATE_ACTIVE : TANDEM_STATE_NO_CPUFREQ;
	if (speed_state == TANDEM_STATE_ACTIVE)
		active |= SPEED;
	if (active & SPEED)
		light_init();
	/* Until the first counters come. */
	if (active & SPEED && edp)
		edp_state = TANDEM_STATE_NO_COUNTERS;
	if (clocks && active & (ISOLATE | SPEED))
		active |= CLOCKS;
	if (!(active & CLOCKS))
		return 0;
	return warm_init() ?: feed_init() ?: governor_init();
}

static __always_inline s32 speed_pick_idle(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	s32 cpu;

	if (!concentrate)
		return -1;
	cpu = light_pick_idle(p, tctx, prev_cpu);
	if (cpu >= 0) {
		count(TANDEM_STAT_SPEED_LIGHT);
		return cpu;
	}
	cpu = warm_pick_idle(p, tctx, prev_cpu);
	if (cpu >= 0)
		count(TANDEM_STAT_SPEED_WARM);
	return cpu;
}

/* Asks for this CPU's operating point, perhaps again where CPUs of a clock have different bounds. */
static void speed_ask(u32 cpu, struct domain *domain)
{
	u32 asked = cpu_of(cpu)->speed.asked;

	clock_ask(cpu, domain_opp_of(domain, cpu_of(cpu)));
	if (domain->uneven && cpu_of(cpu)->speed.asked != asked)
		domain_asked_apart(cpu, domain);
}

/* A task begins to run. Without state (@tctx null) the task counts as one that computes. */
static void speed_running(struct task_ctx *tctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct domain *domain = domain_of(cpu);
	struct cpu_ctx *cctx = cpu_of(cpu);

	clock_catch_up(cpu);
	if (active & ISOLATE)
		points_running(cpu);
	domain_loads(domain, cctx, true);
	if (edp && active & SPEED)
		domain_mixes(domain, cctx, 1, tctx ? edp_share_of(tctx, domain->table) : 0);
	domain_follow(cpu, domain);
	speed_ask(cpu, domain);
}

static void speed_stopping(struct task_ctx *tctx, u64 ran)
{
	light_ran(tctx, ran);
	if (active & ISOLATE && !cpu_of(bpf_get_smp_processor_id())->speed.fixed)
		points_stopping(bpf_get_smp_processor_id(), tctx, ran);
}

/*
 * A CPU that becomes loaded may run another class's task, which schedutil handles by itself. So the CPU only keeps up a clock that is up,
 * and our first task raises it. That task is known by then.
 */
static void speed_update_idle(u32 cpu, bool idle)
{
	struct domain *domain = domain_of(cpu);
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (cctx->speed.fixed)
		return;
	if (idle && cctx->speed.loaded && active & ISOLATE)
		points_idle(cpu);
	if (!domain_loads(domain, cctx, !idle))
		return;
	if (!idle) {
		domain_loaded(domain);
		return;
	}
	if (edp && active & SPEED)
		domain_mixes(domain, cctx, 0, 0);
	domain_follow(cpu, domain);
	/* If several CPUs share the clock, this one does not stop asking for it until the timer asks for all of them. */
	if (domain->nr_cpus == 1)
		speed_ask(cpu, domain);
	else
		domain_let_go(cpu, domain);
}

#endif /* __TANDEM_SPEED_SPEED_H */
