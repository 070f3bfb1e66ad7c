/* SPDX-License-Identifier: GPL-2.0-only */
/* A task has to wait: for the OS CPU, among the tasks of its rank, for its turn in a sorted queue, or as in the base. */
#ifndef __TANDEM_MECHANISMS_ENQUEUE_H
#define __TANDEM_MECHANISMS_ENQUEUE_H

#include "ranked.bpf.h"
#include "../isolate/confined.bpf.h"
#include "../sorted/sorted.bpf.h"

/*
 * Whether a task that is queued has just come from mechanisms_select_cpu. The kernel does not call that function for a task that may use
 * one CPU only, and seldom for a task that wakes while it is still going to sleep. For the latter, the answers of its previous wakeup are
 * used.
 */
static __always_inline bool mechanisms_was_asked(struct task_struct *p, u64 enq_flags)
{
	return enq_flags & SCX_ENQ_WAKEUP && p->nr_cpus_allowed > 1 && !must_stay(p);
}

/* The mechanism's queue in which a task waits; QUEUE_NONE: the base's. */
static __always_inline u32 mechanisms_queue_of(struct task_struct *p, enum rank rank, enum wish wish)
{
	if (p->nr_cpus_allowed == 1 || must_stay(p))
		return QUEUE_NONE;
	if (rank == RANK_JUNIOR)
		count(TANDEM_STAT_SERIAL_JUNIORS);
	if (rank != RANK_NORMAL)
		return rank == RANK_SERIAL ? QUEUE_SERIAL : QUEUE_JUNIOR;
	return wish == WISH_FAST ? QUEUE_LONG : QUEUE_NONE;
}

/* Queues a task with a rank or a wish; returns whether the task is queued. */
static __noinline int mechanisms_enqueue_as(struct task_struct *p, struct task_ctx *tctx, enum rank rank, enum wish wish, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p), idle;
	bool last = enq_flags & SCX_ENQ_LAST && cpu_of(cpu)->isolate.takes_applications;
	u32 queue;

	/* For a task that was asked as it woke there was no fast CPU. */
	if (wish == WISH_FAST && !mechanisms_was_asked(p, enq_flags) && !(last && !cpu_of(cpu)->kind) &&
	    goes_to_fast(p, tctx, rank, cpu, enq_flags))
		return true;
	queue = last ? QUEUE_NONE : mechanisms_queue_of(p, rank, wish);
	if (queue == QUEUE_NONE)
		return false;
	ranked_insert(p, &tctx->base, queue, enq_flags);
	idle = place_pick_application(p, cpu, wish);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	return true;
}

/* Asks the mechanisms about a task, unless that was done as the task woke; returns whether one of them has queued it. */
static __always_inline bool mechanisms_enqueue_ranked(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	enum rank rank = tctx->rank;
	enum wish wish = tctx->wish;

	if (!mechanisms_was_asked(p, enq_flags)) {
		rank = rank_of(p, tctx);
		wish = wish_of(p, tctx, rank);
	}
	return (rank != RANK_NORMAL || wish == WISH_FAST) && mechanisms_enqueue_as(p, tctx, rank, wish, enq_flags);
}

/* Has a thread wait for its turn at the memory, if it must; whether it does. */
static __noinline int mechanisms_holds(struct task_struct *p, struct task_ctx *tctx)
{
	u32 cpu = scx_bpf_task_cpu(p);

	if (tctx->base.idles || !feed_holds(p, tctx, cpu))
		return false;
	count(TANDEM_STAT_SPEED_HELD);
	home_forget(&tctx->base);
	feed_insert(p, tctx, cpu);
	return true;
}

static __always_inline void mechanisms_enqueue_task(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	struct base_task *task = &tctx->base;

	if (place_to_os(p, tctx)) {
		task->go_to = 0;
		confined_enqueue_noise(p, task, enq_flags);
		return;
	}
	if (task->go_to && base_go_to(p, task, enq_flags))
		return;
	if (active & (SERIAL | LONGEST) && mechanisms_enqueue_ranked(p, tctx, enq_flags))
		return;
	if (feed_is_on() && mechanisms_holds(p, tctx))
		return;
	if (is_on(SORTED) && sorted_enqueue(p, tctx, enq_flags))
		return;
	if (place_is_confined() && p->nr_cpus_allowed > 1 && !must_stay(p))
		confined_enqueue(p, task, enq_flags);
	else
		base_enqueue_task(p, task, enq_flags);
}

static void mechanisms_enqueue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = base_task_to_queue(p, enq_flags);

	if (!tctx)
		return;
	mechanisms_enqueue_task(p, tctx, enq_flags);
	tctx->base.ran_on = false;
}

#endif /* __TANDEM_MECHANISMS_ENQUEUE_H */
