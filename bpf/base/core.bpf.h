/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Core scheduling (prctl PR_SCHED_CORE): the hardware threads of a core run only tasks that trust each other. Where two tasks cannot run
 * together, the kernel asks the scheduler which is due first.
 *
 * By default the kernel compares when the tasks' slices last ran out. Here a tick ends slices, which the kernel does not count: a task
 * that has waited would lose to a task that has just run, for ever.
 */
#ifndef __TANDEM_BASE_CORE_H
#define __TANDEM_BASE_CORE_H

#include "../queues/line.bpf.h"

/* A task's deadline as of now, less the virtual clock of its line: the two tasks may be in different lines. */
static s64 core_due(struct task_struct *p, struct base_task *task)
{
	u64 ran = p->se.sum_exec_runtime - task->charged;

	return task->vtime + weight_charge(task, ran) + task->request - *line_clock(task, line_at(task->line));
}

/* Whether a task is due before another one. A task without state, or of the idle class, is due last. */
static __noinline bool core_before(struct task_struct *a, struct task_struct *b)
{
	struct task_ctx *one = task_of(a), *other = task_of(b);

	if (!one || !other)
		return one;
	if (one->base.idles != other->base.idles)
		return other->base.idles;
	return core_due(a, &one->base) < core_due(b, &other->base);
}

#endif /* __TANDEM_BASE_CORE_H */
