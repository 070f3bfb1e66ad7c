/* SPDX-License-Identifier: GPL-2.0-only */
/* How an idle CPU is found: as the kernel finds it, or by idle.bpf.h or pressed.bpf.h. */
#ifndef __TANDEM_PLACE_CHOOSE_H
#define __TANDEM_PLACE_CHOOSE_H

#include "pressed.bpf.h"

/* An idle CPU for a task that wakes; the CPU counts as busy from now on. Negative: no CPU is idle. */
static __always_inline s32 idle_pick(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	if (idle_way == IDLE_UNEQUAL)
		return idle_pick_unequal(p, prev_cpu, wake_flags);
	if (idle_way == IDLE_ANY) {
		cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
		return is_idle ? cpu : -1;
	}
	if (idle_way == IDLE_NEAR)
		return idle_pick_near(p, prev_cpu, wake_flags);
	return pressed_pick(p, prev_cpu, wake_flags);
}

/*
 * An idle CPU for a task that is about to wait after all. Any idle CPU would be the first one. Where CPUs differ, the first one is often
 * the slowest. Where there are several caches, the first one is often at another cache than the task's, and in time all tasks would be
 * near the first CPU.
 */
static __always_inline s32 idle_pick_waiting(struct task_struct *p, struct base_task *task, u32 cpu)
{
	s32 kind, found;

	if (idle_way == IDLE_ANY || !may_run_everywhere(p))
		return scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (idle_way == IDLE_NEAR) {
		found = idle_none() ? -1 : idle_pick_line(line_of(cpu));
		return found >= 0 ? found : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	}
	if (idle_way == IDLE_PRESSED)
		return idle_none() ? -1 : pressed_pick_any(line_of(cpu));
	kind = by_energy() ? energy_kind_for(task, cpu) : -1;
	if (kind >= 0) {
		found = idle_pick_kind(kind, 0);
		/* A task that shares a CPU looks half as busy as it is: it does not wait beside an idle CPU of another kind. */
		if (found >= 0 || !task->ran_on)
			return found;
	}
	found = smt ? idle_pick_fastest(NO_CPU, SCX_PICK_IDLE_CORE) : -1;
	return found >= 0 ? found : idle_pick_fastest(NO_CPU, 0);
}

/* Whether a CPU is in a line and applications may use the CPU. */
static __always_inline bool idle_is_of(u32 cpu, u32 line)
{
	return line_of(cpu) == line && place_likes(cpu);
}

static s32 idle_make_set(u32 line)
{
	return cpu_set_make(bpf_map_lookup_elem(&line_sets, &line), idle_is_of, line);
}

static s32 idle_init(void)
{
	s32 line, err;

	idle_way = idle_way_free = nr_kinds > 1 ? IDLE_UNEQUAL : nr_lines > 1 ? IDLE_NEAR : IDLE_ANY;
	for_range(line, 0, nr_lines) {
		err = idle_make_set(line);
		if (err)
			return err;
	}
	return pressure_init() ?: gather_init();
}

#endif /* __TANDEM_PLACE_CHOOSE_H */
