/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks come and go, become ready and wait, for the mechanisms; and which mechanisms can act at all. */
#ifndef __TANDEM_MECHANISMS_TASKS_H
#define __TANDEM_MECHANISMS_TASKS_H

#include "ask.bpf.h"
#include "../base/tasks.bpf.h"
#include "../sorted/sorted.bpf.h"

static void mechanisms_runnable(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = active & (GROUPS | SERIAL | LONGEST) ? task_of(p) : 0;

	if (!tctx)
		return;
	if (active & GROUPS)
		base_counts(&tctx->base);
	group_hears_runnable(p, tctx, enq_flags);
}

static void mechanisms_quiescent(struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *tctx = active & (GROUPS | SERIAL | LONGEST | SORTED) ? task_of(p) : 0;

	if (!tctx)
		return;
	if (is_on(SORTED))
		rq_uncount(&tctx->sorted);
	if (active & GROUPS)
		base_counts_no_more(&tctx->base);
	group_hears_quiescent(p, tctx, deq_flags);
}

/* A task comes. An error would be an error of fork: where there is no room, a task is scheduled without the mechanisms that need room. */
static void mechanisms_init_task(struct task_struct *p, bool fork)
{
	u32 application = isolate_application(p, fork);
	struct task_ctx *tctx = task_of(p);
	struct group *group;

	if (!tctx)
		return;
	tctx->isolate.application = application;
	tctx->isolate.place = isolate_place(p, tctx);
	group = group_join(p, tctx);
	if (!group)
		return;
	if (is_on(SERIAL))
		serial_init_task(p, group);
	if (is_on(LONGEST))
		longest_init_task(p, tctx, group, fork);
}

/* A thread leaves its group; the group's last thread removes it. */
static void mechanisms_leave_group(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	u32 change = phase_quiescent(tctx, group);

	if (is_on(SERIAL) && change)
		serial_phase_changed(p, group, change);
	if (is_on(LONGEST))
		longest_exit_task(p, tctx, group);
	if (is_on(SERIAL) && group->nr_threads <= 1)
		seniority_leave(group, p->tgid);
	/* If the task stays and only the scheduler goes, the next scheduler needs this entry. */
	if (p->flags & PF_EXITING && group->nr_threads <= 1)
		isolate_leave(p);
}

static void mechanisms_exit_task(struct task_struct *p, struct task_ctx *tctx)
{
	struct group *group = tctx ? group_of(p, tctx) : 0;

	if (group) {
		mechanisms_leave_group(p, tctx, group);
		group_leave(p, tctx, group);
	} else if (p->flags & PF_EXITING && p->pid == p->tgid) {
		/*
		 * No group counts these threads: the process's entry goes with its first thread, whose object is freed after all others
		 * have ended.
		 */
		isolate_leave(p);
	}
}

/* Creates the queues of those mechanisms that are on. */
static s32 mechanisms_create_queues(void)
{
	s32 queue, err;

	for_range(queue, QUEUE_LONG, QUEUE_JUNIOR + 1) {
		err = scx_bpf_create_dsq(queue, -1);
		if (err)
			return err;
	}
	return sorted_create_queues();
}

/* Finds out which mechanisms can act on this machine. */
static s32 mechanisms_init(void)
{
	phase_init();
	longest_init();
	serial_init();
	sorted_init();
	return speed_init() ?: mechanisms_create_queues();
}

#endif /* __TANDEM_MECHANISMS_TASKS_H */
