/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling in space (Richling et al. name it as future work): wake tasks on CPUs whose clock is high already.
 *
 * A CPU is warm while its clock is high. If each CPU has a clock of its own, a CPU is warm while it is loaded and for the delay after
 * that, so that a little work stays on few CPUs. The search does not leave the cache of the task's last CPU: a raised clock saves less
 * than a cold cache costs. Of hardware threads only those of wholly idle cores count. Work that waits for memory for half of its time is
 * not gathered, as more caches and paths to memory serve it better. Work on CPUs that are not of the fastest kind is not gathered, as an
 * idle CPU of that kind serves it better.
 */
#ifndef __TANDEM_SPEED_WARM_H
#define __TANDEM_SPEED_WARM_H

#include "../clocks/clock.bpf.h"
#include "../place/kind.bpf.h"

/* Warm CPUs that applications may use, by last-level cache. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct cpu_set);
	__uint(max_entries, MAX_CPUS);
} warm_sets SEC(".maps");

static __always_inline struct cpu_set *warm_set_of(u32 cpu)
{
	u32 llc = facts_of(cpu)->llc;

	return bpf_map_lookup_elem(&warm_sets, &llc);
}

static void warm_mark(u32 cpu, bool warm)
{
	if (cpu_of(cpu)->isolate.takes_applications)
		cpu_set_change(warm_set_of(cpu), cpu, warm);
}

/* Notes that the clock of @nr CPUs, the first of which is @cpu, has become high or low. */
static void warm_mark_all(u32 cpu, u32 nr, bool warm)
{
	s32 step;

	if (!concentrate)
		return;
	for_range(step, 0, nr) {
		cpu &= MAX_CPUS - 1;
		warm_mark(cpu, warm);
		cpu_of(cpu)->speed.warm = warm;
		cpu = cpu_of(cpu)->speed.next;
	}
}

/* Whether a warm CPU suits a task: no other thread uses its core. */
static __always_inline bool warm_fits(struct task_struct *p, u32 cpu)
{
	return cpu_of(cpu)->speed.warm && cpu_of(cpu)->isolate.takes_applications && may_run_on(p, cpu) && !place_shares_core(cpu);
}

/* An idle warm CPU for a task; negative if there is none. */
static s32 warm_pick_idle(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	if (warm_fits(p, prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	if (cpu_of(prev_cpu)->kind || !may_run_everywhere(p))
		return -1;
	if (tctx->counted.measured && tctx->counted.stall > CLOCK_ONE / 2)
		return -1;
	return cpu_set_pick(warm_set_of(prev_cpu), smt ? SCX_PICK_IDLE_CORE : 0);
}

/* Makes the set of one cache. */
static s32 warm_init_set(u32 cpu)
{
	struct cpu_set *set = warm_set_of(cpu);
	struct bpf_cpumask *cpus;

	if (!set || set->cpus)
		return 0;
	cpus = bpf_cpumask_create();
	if (!cpus)
		return -ENOMEM;
	cpu_set_fill(set, cpus);
	return 0;
}

static s32 warm_init(void)
{
	s32 cpu, err;

	if (!concentrate)
		return 0;
	for_range(cpu, 0, nr_cpus) {
		err = warm_init_set(cpu);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __TANDEM_SPEED_WARM_H */
