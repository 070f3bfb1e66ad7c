/* SPDX-License-Identifier: GPL-2.0-only */
/* An idle CPU while some CPUs are under pressure (pressure.bpf.h): these come after the others of their kind. */
#ifndef __TANDEM_PLACE_PRESSED_H
#define __TANDEM_PLACE_PRESSED_H

#include "idle.bpf.h"

/* An idle CPU of a kind, one under pressure last. Negative: no CPU is idle. */
static __noinline s32 pressed_pick_kind(u32 kind)
{
	s32 cpu = place_pick_from(kind, 0);

	return cpu >= 0 ? cpu : cpu_set_pick(bpf_map_lookup_elem(&pressed_sets, &kind), 0);
}

/*
 * An idle CPU for a task that may run everywhere: in @line where CPUs are equal, of an idle core first, and of the fastest kind.
 * Negative: no CPU is idle.
 */
static __noinline s32 pressed_pick_any(u32 line)
{
	s32 kind, cpu = -1;

	if (nr_kinds < 2) {
		struct cpu_set *cpus = bpf_map_lookup_elem(&line_sets, &line);

		cpu = smt ? cpu_set_pick(cpus, SCX_PICK_IDLE_CORE) : -1;
		if (cpu < 0)
			cpu = cpu_set_pick(cpus, 0);
	}
	for_range(kind, 0, smt ? MAX_KINDS : 0) {
		if (cpu >= 0 || kind >= nr_kinds)
			break;
		cpu = place_pick_from(kind, SCX_PICK_IDLE_CORE);
	}
	for_range(kind, 0, MAX_KINDS) {
		if (cpu >= 0 || kind >= nr_kinds)
			break;
		cpu = pressed_pick_kind(kind);
	}
	return cpu;
}

/* An idle CPU for a task that may use some CPUs only: one under pressure if a second search finds no other. Negative: no CPU is idle. */
static __always_inline s32 pressed_pick_allowed(struct task_struct *p)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0), other;

	if (cpu < 0 || !base_cpu_of(cpu)->pressed)
		return cpu;
	other = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (other < 0)
		return cpu;
	/* The first CPU counts as busy by now. The kick makes that CPU go idle anew. */
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return other;
}

/* Whether a task stays on its last CPU, if that is idle, as the task would with no CPU under pressure. */
static __always_inline bool pressed_stays(struct task_struct *p, struct base_cpu *prev)
{
	if (prev->pressed || idle_shares_core(prev->number))
		return false;
	return idle_suits(p, prev);
}

/* An idle CPU of a package or a kind where a task costs little energy. Negative: there is none, or power does not decide. */
static __noinline s32 pressed_pick_by_energy(struct task_struct *p, s32 prev_cpu)
{
	struct task_ctx *tctx = task_of(p);
	s32 kind;

	if (!tctx)
		return -1;
	if (gather_may())
		return gather_find(&tctx->base, prev_cpu);
	kind = by_energy() ? energy_kind_for(&tctx->base, prev_cpu) : -1;
	if (kind < 0)
		return -1;
	if (base_cpu_of(prev_cpu)->kind == kind && !base_cpu_of(prev_cpu)->pressed && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	return place_pick_from(kind, 0);
}

/* An idle CPU for a task that wakes. Negative: there is none. */
static __noinline s32 pressed_pick(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct base_cpu *prev = base_cpu_of(prev_cpu);
	s32 cpu = -1;

	if (bpf_ktime_get_ns() - pressure_looked_at > PRESSURE_NEXT_NS)
		pressure_look_around();
	if (may_run_everywhere(p)) {
		if (!(wake_flags & SCX_WAKE_FORK))
			cpu = mode != TANDEM_MODE_NONE ? pressed_pick_by_energy(p, prev_cpu) : -1;
		else if (idle_way_free == IDLE_NEAR)
			cpu = idle_pick_spread();
		if (cpu >= 0)
			return cpu;
	}
	if (pressed_stays(p, prev) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	if (idle_none())
		return -1;
	return may_run_everywhere(p) ? pressed_pick_any(prev->line) : pressed_pick_allowed(p);
}

#endif /* __TANDEM_PLACE_PRESSED_H */
