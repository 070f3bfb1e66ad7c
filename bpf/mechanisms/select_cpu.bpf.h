/* SPDX-License-Identifier: GPL-2.0-only */
/* A task wakes: isolation, turns at a lock, ranks and wishes, and the clock choose its CPU, in this order; else the base does. */
#ifndef __TANDEM_MECHANISMS_SELECT_CPU_H
#define __TANDEM_MECHANISMS_SELECT_CPU_H

#include "ask.bpf.h"
#include "../base/select_cpu.bpf.h"
#include "../isolate/confined.bpf.h"

static __always_inline s32 mechanisms_found(struct task_struct *p, struct task_ctx *tctx, s32 cpu, s32 prev_cpu, u64 flags)
{
	if (smt && cpu != prev_cpu)
		tctx->moved = bpf_ktime_get_ns();
	count(TANDEM_STAT_BASE_IDLE);
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, flags);
	return cpu;
}

/* Chooses a CPU for a task that wakes as the base does, among the CPUs that the task may use. A task that steps back preempts no other. */
static s32 mechanisms_select_by_base(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu, u64 wake_flags, bool steps_back)
{
	s32 cpu;

	if (!place_is_confined() && !steps_back)
		return base_select_cpu(p, prev_cpu, wake_flags);
	prev_cpu = place_near(p, prev_cpu);
	cpu = place_is_confined() ? confined_pick_idle(p, prev_cpu) : idle_pick(p, prev_cpu, wake_flags);
	if (cpu >= 0) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
		return cpu;
	}
	cpu = steps_back ? -1 : confined_preempt(p, tctx, prev_cpu);
	if (cpu < 0)
		return prev_cpu;
	count(TANDEM_STAT_BASE_PREEMPTED);
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, SCX_ENQ_PREEMPT);
	return cpu;
}

static s32 mechanisms_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *tctx = task_of(p);
	u32 on = mechanisms_on();
	enum rank rank;
	enum wish wish;
	u64 flags = 0;
	s32 cpu;

	if (!tctx)
		return base_select_cpu(p, prev_cpu, wake_flags);
	if (on & ISOLATE && place_to_os(p, tctx))
		return confined_select_noise(p, &tctx->base);
	if (light_works)
		light_wakes(tctx);
	if (on & LONGEST && locks_concern(p, tctx))
		return select_by_turns(p, prev_cpu);
	rank = rank_of(p, tctx);
	wish = wish_of(p, tctx, rank);
	tctx->rank = rank;
	tctx->wish = wish;
	if (rank == RANK_SERIAL || wish != WISH_ANY) {
		cpu = find_cpu(p, tctx, rank, wish, prev_cpu, &flags);
		if (cpu >= 0)
			return mechanisms_found(p, tctx, cpu, prev_cpu, flags);
		if (rank == RANK_SERIAL || wish == WISH_FAST)
			return prev_cpu;
	} else if (feed_is_on() && feed_holds(p, tctx, prev_cpu)) {
		return prev_cpu;
	} else if (on & SPEED) {
		cpu = speed_pick_idle(p, tctx, prev_cpu);
		if (cpu >= 0)
			return mechanisms_found(p, tctx, cpu, prev_cpu, 0);
	}
	return mechanisms_select_by_base(p, tctx, prev_cpu, wake_flags, rank == RANK_JUNIOR);
}

#endif /* __TANDEM_MECHANISMS_SELECT_CPU_H */
