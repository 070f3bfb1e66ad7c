/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds of CPU, and sets of CPUs.
 *
 * CPUs of a kind have nearly the same performance: within 5 %, as in capacity_greater() of kernel/sched/fair.c.
 */
#ifndef __TANDEM_STATE_KINDS_H
#define __TANDEM_STATE_KINDS_H

#include "state.bpf.h"

struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;

struct cpu_set {
	struct bpf_cpumask __kptr *cpus;
};

/* All CPUs, the fastest first. */
u32 cpus_by_speed[MAX_CPUS];

static __always_inline bool much_faster(u32 one, u32 other)
{
	return one * 1024 > other * 1078;
}

/*
 * The state of the sort. It is in memory, which the verifier does not follow; it follows numbers in registers through every round of a
 * loop.
 */
struct sorting {
	/* The present performance, that of the kind's first CPU, and the next lower performance. */
	u32 performance;
	u32 first;
	u32 next;
	/* How many CPUs have their place. */
	u32 placed;
};

struct sorting sorting;

/* Finds the highest performance below the present one; 0 if there is none. */
static void kinds_find_next(void)
{
	s32 cpu;

	sorting.next = 0;
	for_range(cpu, 0, nr_cpus) {
		u32 performance = facts_of(cpu)->performance;

		if (performance < sorting.performance && performance > sorting.next)
			sorting.next = performance;
	}
}

/* Gives all CPUs of the present performance their place and the kind @kind. */
static void kinds_add_equals(u32 kind)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		if (facts_of(cpu)->performance != sorting.performance)
			continue;
		cpu_of(cpu)->kind = kind;
		/* The kernel does not report CPUs that are idle when the scheduler is loaded. */
		cpu_of(cpu)->idle = true;
		cpus_by_speed[sorting.placed++ & (MAX_CPUS - 1)] = cpu;
	}
}

/* Sorts CPUs by performance, and into kinds. With more kinds than MAX_KINDS the slowest ones count as one. */
static void kinds_find(void)
{
	s32 step;

	sorting.performance = 0xffffffff;
	nr_kinds = 0;
	for_range(step, 0, MAX_CPUS) {
		kinds_find_next();
		if (!sorting.next)
			break;
		sorting.performance = sorting.next;
		if (!nr_kinds || (much_faster(sorting.first, sorting.performance) && nr_kinds < MAX_KINDS)) {
			sorting.first = sorting.performance;
			nr_kinds++;
		}
		kinds_add_equals(nr_kinds - 1);
	}
}

/* Gives a set its CPUs. */
static __always_inline void cpu_set_fill(struct cpu_set *set, struct bpf_cpumask *cpus)
{
	cpus = bpf_kptr_xchg(&set->cpus, cpus);
	if (cpus)
		bpf_cpumask_release(cpus);
}

/* Puts a CPU into a set, or takes the CPU out. */
static __always_inline void cpu_set_change(struct cpu_set *set, u32 cpu, bool belongs)
{
	struct bpf_cpumask *cpus;

	if (!set)
		return;
	bpf_rcu_read_lock();
	cpus = set->cpus;
	if (cpus && belongs)
		bpf_cpumask_set_cpu(cpu, cpus);
	else if (cpus)
		bpf_cpumask_clear_cpu(cpu, cpus);
	bpf_rcu_read_unlock();
}

/* Makes a set of the CPUs for which @belongs is true with @number, which @belongs interprets. */
static __always_inline s32 cpu_set_make(struct cpu_set *set, bool (*belongs)(u32 cpu, u32 number), u32 number)
{
	struct bpf_cpumask *cpus;
	s32 cpu;

	if (!set)
		return -EINVAL;
	cpus = bpf_cpumask_create();
	if (!cpus)
		return -ENOMEM;
	for_range(cpu, 0, nr_cpus)
		if (belongs(cpu, number))
			bpf_cpumask_set_cpu(cpu, cpus);
	cpu_set_fill(set, cpus);
	return 0;
}

/* An idle CPU of a set, of an idle core if @flags ask for that; the CPU counts as busy from now on. Negative: there is none. */
static __always_inline s32 cpu_set_pick(struct cpu_set *set, u64 flags)
{
	/* No RCU lock is needed here: callbacks that do not sleep are RCU read sections. */
	struct bpf_cpumask *cpus = set ? set->cpus : 0;

	return cpus ? scx_bpf_pick_idle_cpu((const cpumask_t *)cpus, flags) : -1;
}

#endif /* __TANDEM_STATE_KINDS_H */
