/* SPDX-License-Identifier: GPL-2.0-only */
/* The mechanisms' answers for a task: its rank, its wish, and the CPU where it may run at once. */
#ifndef __TANDEM_MECHANISMS_ASK_H
#define __TANDEM_MECHANISMS_ASK_H

#include "../isolate/isolate.bpf.h"
#include "../longest/longest.bpf.h"
#include "../serial/serial.bpf.h"
#include "../speed/speed.bpf.h"

/* A task's rank. Tasks of the idle class have none: they wait behind all others. */
static __always_inline enum rank rank_of(struct task_struct *p, struct task_ctx *tctx)
{
	if (!is_on(SERIAL) || tctx->base.idles || place_of(tctx) != PLACE_APPLICATION)
		return RANK_NORMAL;
	return serial_rank(p, tctx);
}

/*
 * Which CPU a task should have. Where lengths are known they decide, also when a serial phase begins or ends: the first threads that
 * leave a barrier are not those that need the fastest CPU. A lone thread is long in any case. A task that sleeps so much that a slower
 * CPU is fast enough gains little on a fast CPU, and would have to wake it up each time.
 */
static __always_inline enum wish wish_of(struct task_struct *p, struct task_ctx *tctx, enum rank rank)
{
	enum wish wish = WISH_ANY;

	if (!is_on(SERIAL | LONGEST) || tctx->base.idles)
		return WISH_ANY;
	if (is_on(LONGEST) && place_of(tctx) == PLACE_APPLICATION)
		wish = longest_wish(p, tctx);
	if (wish == WISH_ANY && rank == RANK_SERIAL)
		wish = WISH_FAST;
	return wish == WISH_FAST && light_for_any(tctx) ? WISH_ANY : wish;
}

/* A fast CPU for a task that wishes one. If the CPU is another task's, SCX_ENQ_PREEMPT is added to @flags. Negative: there is none. */
static s32 claim_fast(struct task_struct *p, struct task_ctx *tctx, enum rank rank, s32 prev_cpu, u64 *flags)
{
	return rank == RANK_SERIAL ? serial_place(p, prev_cpu, flags) : longest_place(p, tctx, prev_cpu, flags);
}

/* An idle CPU for a task; negative if there is none. */
static __always_inline s32 pick_idle(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu, enum wish wish)
{
	s32 cpu = -1;

	if (is_on(SPEED) && wish == WISH_ANY && place_of(tctx) == PLACE_APPLICATION)
		cpu = speed_pick_idle(p, tctx, prev_cpu);
	return cpu >= 0 ? cpu : place_pick_application(p, prev_cpu, wish);
}

/* A CPU where a task may run at once: a fast one if the task wishes that, an idle one, or one whose task gives way to a serial phase. */
static __always_inline s32 find_cpu(struct task_struct *p, struct task_ctx *tctx, enum rank rank, enum wish wish, s32 prev_cpu,
				    u64 *flags)
{
	s32 cpu = -1;

	if ((wish == WISH_ANY || nr_kinds == 1) && place_of(tctx) == PLACE_APPLICATION && place_stays(p, tctx, prev_cpu))
		return prev_cpu;
	if (wish == WISH_FAST)
		cpu = claim_fast(p, tctx, rank, prev_cpu, flags);
	if (cpu < 0)
		cpu = pick_idle(p, tctx, prev_cpu, wish);
	if (cpu < 0 && rank == RANK_SERIAL && wish != WISH_FAST)
		cpu = serial_place(p, prev_cpu, flags);
	return cpu;
}

/*
 * Sends a thread that is woken for a lock to its own fast CPU, or makes the thread wait for its turn. A thread that waits stays on the
 * waker's CPU: its own CPU, if idle, would be woken for nothing.
 */
static s32 select_by_turns(struct task_struct *p, s32 prev_cpu)
{
	s32 cpu = locks_pick(p, prev_cpu);

	if (cpu >= 0) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_NS, 0);
		return cpu;
	}
	count(TANDEM_STAT_LONGEST_TURNS);
	dsq_insert(p, QUEUE_TURN, SLICE_NS, 0);
	return bpf_get_smp_processor_id();
}

/* Sends a task that wishes a fast CPU to one at once; returns whether there is one. */
static bool goes_to_fast(struct task_struct *p, struct task_ctx *tctx, enum rank rank, s32 cpu, u64 enq_flags)
{
	u64 flags = enq_flags;
	s32 fast = claim_fast(p, tctx, rank, cpu, &flags);

	if (fast < 0)
		return false;
	insert_on(p, fast, SLICE_NS, flags);
	return true;
}

/* Tells the task's group, and the mechanisms, that a task is runnable. */
static __always_inline void group_hears_runnable(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	struct group *group;
	u32 change;

	if (!(active & (SERIAL | LONGEST)) || !(group = group_of(p, tctx)))
		return;
	change = phase_runnable(tctx, group);
	if (is_on(LONGEST))
		longest_runnable(p, tctx, group, enq_flags);
	if (is_on(SERIAL) && change)
		serial_phase_changed(p, group, change);
}

/* Tells the task's group, and the mechanisms, that a task is no longer runnable. */
static __always_inline void group_hears_quiescent(struct task_struct *p, struct task_ctx *tctx, u64 deq_flags)
{
	struct group *group;
	u32 change;

	if (!(active & (SERIAL | LONGEST)) || !(group = group_of(p, tctx)))
		return;
	change = phase_quiescent(tctx, group);
	if (is_on(SERIAL) && change)
		serial_phase_changed(p, group, change);
	if (is_on(LONGEST) && deq_flags & SCX_DEQ_SLEEP)
		longest_quiescent(p, tctx, group);
}

#endif /* __TANDEM_MECHANISMS_ASK_H */
