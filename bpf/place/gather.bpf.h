/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sleeping packages: while few CPUs are busy, their tasks are gathered on the first package. The other packages need not wake. Their
 * caches, fabric and memory controllers draw much power as long as one of their CPUs is awake. Tasks that compute without a pause are
 * spread over the packages, as two packages have more cache and memory than one.
 */
#ifndef __TANDEM_PLACE_GATHER_H
#define __TANDEM_PLACE_GATHER_H

#include "kind.bpf.h"
#include "energy.bpf.h"

enum {
	/* Of how many wakeups one counts the busy CPUs, and the shift of the mean over these counts. GATHER_SAMPLES is a power of two. */
	GATHER_SAMPLES = 8,
	GATHER_MEAN_SHIFT = 4,
	/*
	 * A task that needs at least this much of a CPU, 0..1024, stays where it is: the task may want another package's memory and
	 * cache.
	 */
	GATHER_LEAVES = UTIL_ONE / 2,
};

/* The first package's CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct cpu_set);
	__uint(max_entries, 1);
} gather_sets SEC(".maps");

static const u32 gather_first;

/* Tasks are gathered on the first package while at most this many CPUs are busy; 0: gathering gains nothing. */
u32 gather_most;

/* The mean number of busy CPUs, in 16ths, and whether tasks are gathered. CPUs may write both at the same time; one write wins. */
u32 gather_busy;
bool gathered;

/* Whether tasks may be gathered: where a sleeping package saves much power, and the highest speed is not the only aim. */
static __always_inline bool gather_may(void)
{
	return mode != TANDEM_MODE_NONE && gather_most && preferred() != TANDEM_PREFERENCE_PERFORMANCE;
}

/* Where energy is the only aim, tasks that compute without a pause are gathered, too. */
static __always_inline bool gather_saves(void)
{
	return preferred() == TANDEM_PREFERENCE_POWERSAVE;
}

/* Whether a CPU is of the first package. */
static __always_inline bool gather_has(u32 cpu)
{
	return !facts_of(cpu)->package;
}

/* Updates the mean of busy CPUs. */
static __noinline int gather_count(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 busy = nr_cpus - bpf_cpumask_weight(idle);

	scx_bpf_put_idle_cpumask(idle);
	gather_busy += busy - (gather_busy >> GATHER_MEAN_SHIFT);
	if (gather_busy >> GATHER_MEAN_SHIFT > gather_most)
		gathered = false;
	else if (gather_busy >> GATHER_MEAN_SHIFT < gather_most / 2)
		gathered = true;
	return 0;
}

/* A gathered task returns to the CPU that it came from, if that CPU is idle: the task's memory may be there. */
static __always_inline s32 gather_home(struct base_task *task)
{
	u32 home = task->gathered_from - 1;

	task->gathered_from = 0;
	return home < nr_cpus && scx_bpf_test_and_clear_cpu_idle(home) ? (s32)home : -1;
}

/*
 * A CPU for a task that wakes: of the first package, if the task's last CPU is on another one and the task is to be gathered. If too many
 * CPUs are busy, or the task needs too much, the CPU that the task came from. Negative: the task may stay where it is.
 */
static __noinline s32 gather_find(struct base_task *task, u32 prev_cpu)
{
	bool gathers;
	s32 cpu;

	if (!task)
		return -1;
	if (!(bpf_get_prandom_u32() % GATHER_SAMPLES))
		gather_count();
	gathers = gathered && (gather_saves() || util_of(task) < GATHER_LEAVES);
	if (!gathers)
		return task->gathered_from ? gather_home(task) : -1;
	if (gather_has(prev_cpu))
		return -1;
	cpu = cpu_set_pick(bpf_map_lookup_elem(&gather_sets, &gather_first), smt ? SCX_PICK_IDLE_CORE : 0);
	if (cpu >= 0)
		task->gathered_from = prev_cpu + 1;
	return cpu;
}

static __always_inline bool gather_is_of(u32 cpu, u32 package)
{
	return facts_of(cpu)->package == package && place_likes(cpu);
}

static s32 gather_init(void)
{
	struct cpu_set *set = bpf_map_lookup_elem(&gather_sets, &gather_first);
	s32 cpu, cpus = 0;

	if (!set)
		return -EINVAL;
	if (mode == TANDEM_MODE_NONE || !package_power || nr_packages < 2 || nr_kinds > 1)
		return 0;
	for_range(cpu, 0, nr_cpus)
		cpus += gather_has(cpu);
	gather_most = cpus / (smt ? 4 : 2);
	/* Until the mean is known, many CPUs are taken to be busy. */
	gather_busy = gather_most << GATHER_MEAN_SHIFT;
	return cpu_set_make(set, gather_is_of, gather_first);
}

#endif /* __TANDEM_PLACE_GATHER_H */
