/* SPDX-License-Identifier: GPL-2.0-only */
/* Idle CPUs by kind, for a task's place and wish. */
#ifndef __TANDEM_PLACE_KIND_H
#define __TANDEM_PLACE_KIND_H

#include "../state/kinds.bpf.h"

enum {
	/*
	 * How long a task that changed its CPU stays there, although a core of its own would be faster: long against the cost of a
	 * change, ns.
	 */
	PLACE_STAY_NS = 20 * NSEC_PER_MSEC,
};

/* The CPUs of each kind that applications may use. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct cpu_set);
	__uint(max_entries, MAX_KINDS);
} kind_sets SEC(".maps");

/* isolate: the CPU that takes operating-system noise. */
static __always_inline u32 place_os_cpu(void)
{
	return os_cpu < 0 ? 0 : os_cpu;
}

/* Whether there are CPUs that applications may not use. */
static __always_inline bool place_is_confined(void)
{
	return isolate == TANDEM_ISOLATE_DEDICATED && active & ISOLATE;
}

/* Whether a task is noise that goes to the OS CPU. A task that has to stay on another CPU does not go. */
static __always_inline bool place_to_os(struct task_struct *p, struct task_ctx *tctx)
{
	return active & ISOLATE && place_of(tctx) == PLACE_SYSTEM && may_run_on(p, place_os_cpu());
}

/* Whether a CPU takes tasks of applications, and not only as a last resort. */
static __always_inline bool place_likes(u32 cpu)
{
	return cpu_of(cpu)->isolate.takes_applications && cpu + 1 != last_resort;
}

/* Whether a CPU is of a kind and takes applications. The OS CPU does not count while applications stay off it. */
static __always_inline bool place_is_of(u32 cpu, u32 number)
{
	return cpu_of(cpu)->kind == number && place_likes(cpu);
}

static s32 place_make_set(u32 number)
{
	return cpu_set_make(bpf_map_lookup_elem(&kind_sets, &number), place_is_of, number);
}

static s32 place_pick_from(u32 number, u64 flags)
{
	return cpu_set_pick(bpf_map_lookup_elem(&kind_sets, &number), flags);
}

/* Whether a CPU shares its core with a busy hardware thread. If so, the CPU is no faster than a slower core alone. */
static __always_inline bool place_shares_core(u32 cpu)
{
	u32 sibling = facts_of(cpu)->sibling;

	return smt && sibling < nr_cpus && !cpu_of(sibling)->idle;
}

/*
 * Whether a task goes back to its last CPU although the core's other hardware thread is busy. A barrier wakes its threads one after the
 * other. Each would find the core of a thread that is about to wake idle, and all threads would change places at every barrier. A thread
 * that really has an idle core to go to goes there a little later.
 */
static __always_inline bool place_stays(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	if (!smt || bpf_ktime_get_ns() - tctx->moved >= PLACE_STAY_NS || !place_shares_core(prev_cpu))
		return false;
	return place_likes(prev_cpu) && may_run_on(p, prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu);
}

/* A CPU in whose line an application's task may wait: @cpu, or another CPU that the task may use if @cpu takes no applications. */
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

/* An idle CPU for a task that may use some CPUs only: the CPU must be in the task's affinity. */
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

/* An idle CPU of one kind for a task: of an idle core first, the task's last CPU first. */
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
 * An idle CPU for a task that wishes this kind: its last CPU, or one whose core has no other busy hardware thread. Otherwise a slower
 * core serves the task as well, and slows no other task down.
 */
static s32 place_pick_wished(struct task_struct *p, u32 kind, s32 prev_cpu)
{
	if (!(smt && may_run_everywhere(p)))
		return place_pick_kind(p, kind, prev_cpu);
	if (cpu_of(prev_cpu)->kind == kind && place_likes(prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	return place_pick_from(kind, SCX_PICK_IDLE_CORE);
}

/* The kind at a step in the order of a wish: from the fastest, or from the slowest. */
static __always_inline u32 place_kind_at(u32 step, enum wish wish)
{
	return wish == WISH_SLOW ? nr_kinds - 1 - step : step;
}

/* An idle CPU of an idle core, of any kind. Negative: no core is idle, or the task may use some CPUs only. */
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

/* An idle CPU for an application's task: of the fastest kind first, or of the slowest. Negative: no CPU is idle. */
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

/* Makes all sets. Call it once CPUs have their kinds, and isolate has said which CPUs take applications. */
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

#endif /* __TANDEM_PLACE_KIND_H */
