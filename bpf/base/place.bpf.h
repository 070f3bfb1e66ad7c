/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Idle CPUs by kind, for a place and a wish.
 *
 * A kind is a set of CPUs of nearly the same performance: within 5 %, as capacity_greater() of kernel/sched/fair.c has it.
 */
#ifndef __TANDEM_PLACE_H
#define __TANDEM_PLACE_H

#include "base.bpf.h"

struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;

/* CPUs of a kind that applications may use. */
struct cpu_set {
	struct bpf_cpumask __kptr *cpus;
};

enum {
	/* How long a task that changed its CPU stays there, though a core of its own would be faster: long against the cost. */
	PLACE_STAY_NS = 20 * NSEC_PER_MSEC,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct cpu_set);
	__uint(max_entries, MAX_KINDS);
} cpu_sets SEC(".maps");

/* All CPUs, the fastest first. */
u32 cpus_by_speed[MAX_CPUS];

static __always_inline bool much_faster(u32 one, u32 other)
{
	return one * 1024 > other * 1078;
}

/*
 * Where sorting stands. It is in memory because the verifier follows numbers in registers through every round of a loop,
 * and those in memory not at all.
 */
struct sorting {
	/* The performance that is looked at, that of the first CPU of the kind, and the next lower one. */
	u32 performance;
	u32 first;
	u32 next;
	/* How many CPUs have their place. */
	u32 placed;
};

struct sorting sorting;

/* Looks for the performance of the fastest CPU that is slower than those before; 0 if there is none. */
static void place_find_next(void)
{
	s32 cpu;

	sorting.next = 0;
	for_range(cpu, 0, nr_cpus) {
		u32 performance = facts_of(cpu)->performance;

		if (performance < sorting.performance && performance > sorting.next)
			sorting.next = performance;
	}
}

/* Gives all CPUs of one performance their place and the kind @kind. */
static void place_add_equals(u32 kind)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		if (facts_of(cpu)->performance != sorting.performance)
			continue;
		cpu_of(cpu)->kind = kind;
		/* The kernel does not tell of CPUs that are idle when the scheduler comes. */
		cpu_of(cpu)->idle = true;
		cpus_by_speed[sorting.placed++ & (MAX_CPUS - 1)] = cpu;
	}
}

/* Sorts CPUs by performance, and into kinds. With more kinds than MAX_KINDS the slowest are one. */
static void place_find_kinds(void)
{
	s32 step;

	sorting.performance = 0xffffffff;
	nr_kinds = 0;
	for_range(step, 0, MAX_CPUS) {
		place_find_next();
		if (!sorting.next)
			break;
		sorting.performance = sorting.next;
		if (!nr_kinds || (much_faster(sorting.first, sorting.performance) && nr_kinds < MAX_KINDS)) {
			sorting.first = sorting.performance;
			nr_kinds++;
		}
		place_add_equals(nr_kinds - 1);
	}
}

/* isolate: the CPU for operating-system noise. */
static __always_inline u32 place_os_cpu(void)
{
	return os_cpu < 0 ? 0 : os_cpu;
}

/* Whether applications may use some CPUs only. */
static __always_inline bool place_is_confined(void)
{
	return isolate == TANDEM_ISOLATE_DEDICATED && active & ISOLATE;
}

/* Whether a task is noise that goes to the OS CPU: not while it has to stay elsewhere. */
static __always_inline bool place_to_os(struct task_struct *p, struct task_ctx *tctx)
{
	return active & ISOLATE && place_of(tctx) == PLACE_SYSTEM && may_run_on(p, place_os_cpu());
}

/* Whether a CPU takes tasks of applications, and not as a last resort. */
static __always_inline bool place_likes(u32 cpu)
{
	return cpu_of(cpu)->isolate.takes_applications && cpu + 1 != last_resort;
}

/* Gives a set its CPUs. */
static __always_inline void place_fill(struct cpu_set *set, struct bpf_cpumask *cpus)
{
	cpus = bpf_kptr_xchg(&set->cpus, cpus);
	if (cpus)
		bpf_cpumask_release(cpus);
}

/* Puts a CPU into a set, or takes it out. */
static __always_inline void place_change_set(struct cpu_set *set, u32 cpu, bool belongs)
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

/* Makes a set of the CPUs of which @belongs is so, and @number, whatever that is a number of. */
static __always_inline s32 place_make(struct cpu_set *set, bool (*belongs)(u32 cpu, u32 number), u32 number)
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
	place_fill(set, cpus);
	return 0;
}

/* Whether a CPU is of a kind, but for the OS CPU if applications stay off it. */
static __always_inline bool place_is_of(u32 cpu, u32 number)
{
	return cpu_of(cpu)->kind == number && place_likes(cpu);
}

static s32 place_make_set(u32 number)
{
	return place_make(bpf_map_lookup_elem(&cpu_sets, &number), place_is_of, number);
}

/* An idle CPU of a set, of an idle core if @flags say so; it counts as busy from now on. Negative: none. */
static __always_inline s32 place_pick_in(struct cpu_set *set, u64 flags)
{
	/* Callbacks that do not sleep are read sections of RCU. */
	struct bpf_cpumask *cpus = set ? set->cpus : 0;

	return cpus ? scx_bpf_pick_idle_cpu((const cpumask_t *)cpus, flags) : -1;
}

static s32 place_pick_from(u32 number, u64 flags)
{
	return place_pick_in(bpf_map_lookup_elem(&cpu_sets, &number), flags);
}

/* Whether a CPU shares its core with a hardware thread that runs something: then it is no faster than a slower core alone. */
static __always_inline bool place_shares_core(u32 cpu)
{
	u32 sibling = facts_of(cpu)->sibling;

	return smt && sibling < nr_cpus && !cpu_of(sibling)->idle;
}

/*
 * Whether a task goes back to its last CPU although the core's other hardware thread runs something. Threads that a
 * barrier lets go wake one after the other: each would find the core of one that is about to wake idle, and all would
 * change places at every barrier. A thread that really has an idle core to go to goes there a little later.
 */
static __always_inline bool place_stays(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	if (!smt || bpf_ktime_get_ns() - tctx->moved >= PLACE_STAY_NS || !place_shares_core(prev_cpu))
		return false;
	return place_likes(prev_cpu) && may_run_on(p, prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu);
}

/* A CPU in whose line a task of an application may wait: @cpu, or if that takes none, another one that the task may use. */
static __noinline u32 place_near(struct task_struct *p, u32 cpu)
{
	s32 at;

	if (cpu_of(cpu)->isolate.takes_applications)
		return cpu;
	for_range(at, 0, nr_cpus) {
		u32 other = cpus_by_speed[at & (MAX_CPUS - 1)];

		if (cpu_of(other)->isolate.takes_applications && bpf_cpumask_test_cpu(other, p->cpus_ptr))
			return other;
	}
	return cpu;
}

/* An idle CPU for a task that may use some CPUs only: its own affinity counts. */
static s32 place_pick_allowed(struct task_struct *p, u32 kind)
{
	s32 at;

	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];

		if (cpu_of(cpu)->kind == kind && cpu_of(cpu)->isolate.takes_applications && may_run_on(p, cpu) && scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	}
	return -1;
}

/* An idle CPU of one kind for a task: of an idle core first, its last one first. */
static s32 place_pick_kind(struct task_struct *p, u32 kind, s32 prev_cpu)
{
	bool prev_fits = cpu_of(prev_cpu)->kind == kind && place_likes(prev_cpu);
	s32 cpu = -1;

	if (!may_run_everywhere(p))
		return place_pick_allowed(p, kind);
	if (prev_fits && !place_shares_core(prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	if (smt)
		cpu = place_pick_from(kind, SCX_PICK_IDLE_CORE);
	if (cpu >= 0)
		return cpu;
	if (smt && prev_fits && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	return place_pick_from(kind, 0);
}

/*
 * The same for a task that wishes the kind. That is its last CPU, or one where no other hardware thread uses the core: else a slower core serves the task as well, and does not slow down another one.
 */
static s32 place_pick_wished(struct task_struct *p, u32 kind, s32 prev_cpu)
{
	if (!(smt && may_run_everywhere(p)))
		return place_pick_kind(p, kind, prev_cpu);
	if (cpu_of(prev_cpu)->kind == kind && place_likes(prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	return place_pick_from(kind, SCX_PICK_IDLE_CORE);
}

/* The kinds in the order of a wish: from the fastest, or from the slowest. */
static __always_inline u32 place_kind_at(u32 step, enum wish wish)
{
	return wish == WISH_SLOW ? nr_kinds - 1 - step : step;
}

/* An idle CPU of an idle core of whatever kind. Negative: none, or the task may use some CPUs only. */
static s32 place_pick_core(struct task_struct *p, enum wish wish)
{
	s32 step, cpu;

	if (!may_run_everywhere(p))
		return -1;
	for_range(step, 0, MAX_KINDS) {
		if (step >= nr_kinds)
			break;
		cpu = place_pick_from(place_kind_at(step, wish), SCX_PICK_IDLE_CORE);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

/* An idle CPU for a task of an application: of the fastest kind, or the slowest, first. Negative: none. */
static s32 place_pick_application(struct task_struct *p, s32 prev_cpu, enum wish wish)
{
	bool prev_fits = wish == WISH_ANY && place_likes(prev_cpu) && may_run_on(p, prev_cpu);
	s32 step, cpu;

	if (prev_fits && !place_shares_core(prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	if (smt) {
		cpu = place_pick_core(p, wish);
		if (cpu >= 0)
			return cpu;
		if (prev_fits && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
			return prev_cpu;
	}
	for_range(step, 0, MAX_KINDS) {
		if (step >= nr_kinds)
			break;
		cpu = place_pick_kind(p, place_kind_at(step, wish), prev_cpu);
		if (cpu >= 0)
			return cpu;
	}
	if (last_resort && may_run_on(p, last_resort - 1) && scx_bpf_test_and_clear_cpu_idle(last_resort - 1))
		return last_resort - 1;
	return -1;
}

/* Makes all sets; kinds and what CPUs take are known by now. */
static s32 place_init(void)
{
	s32 number, err;

	for_range(number, 0, MAX_KINDS) {
		err = place_make_set(number);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __TANDEM_PLACE_H */
