/* SPDX-License-Identifier: GPL-2.0-only */
/* A task begins to run, and stops: its run time is charged by its weight, and its utilisation follows. */
#ifndef __TANDEM_BASE_RUNNING_H
#define __TANDEM_BASE_RUNNING_H

#include "idle_class.bpf.h"
#include "../clocks/util.bpf.h"
#include "../place/faster.bpf.h"
#include "../place/preempt.bpf.h"
#include "../queues/home.bpf.h"
#include "../queues/limits.bpf.h"

/*
 * The CPU that a task begins to run on, or stops on. This may be another CPU than the current one: a CPU that changes a running task's
 * class or weight takes the task off and puts it back.
 */
static __always_inline struct base_cpu *base_cpu_under(struct task_struct *p)
{
	return base_cpu_of(scx_bpf_task_cpu(p));
}

static __always_inline void base_begins(struct task_struct *p, struct base_task *task, struct base_cpu *bctx)
{
	bool idle = !bctx->deadline;

	task->charged = bctx->charged = p->se.sum_exec_runtime;
	bctx->stays_until = 0;
	home_forget(task);
	if (bctx->has_lines)
		line_hears_begin(task, bctx);
	line_enter(task, bctx->line);
	vclock_begin(task, line_at(bctx->line), idle, bctx->took ? bctx->deadline : task->vtime);
	bctx->took = false;
	if (bctx->idles != task->idles)
		preempt_change_class(bctx, task->idles);
	bctx->deadline = task->vtime + task->request;
	if (bctx->wants_util)
		util_running(p, task, bctx);
	if (active & LIMITS)
		limit_begins(p, task, bctx);
}

static __always_inline void base_running(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);

	if (tctx)
		base_begins(p, &tctx->base, base_cpu_under(p));
}

/* A task stops that could go on: its burst is at least its run time since it woke. */
static __always_inline void base_has_run(struct base_task *task, u64 ran)
{
	u32 run = line_run(task, ran);

	task->ran = run;
	task->ran_on = true;
	if (run > task->burst)
		task->burst = run;
	else if (!task->cgroup)
		return;
	weight_request(task);
}

/* A task goes to sleep. */
static __always_inline void base_sleeps(struct base_task *task, struct base_cpu *bctx, u64 ran)
{
	task->burst = task->burst - task->burst / 4 + line_run(task, ran) / 4;
	task->ran = 0;
	task->ran_on = false;
	task->pulled = false;
	weight_request(task);
	if (bctx->wants_util)
		util_sleeps(task);
}

static __always_inline void base_stops(struct task_struct *p, struct base_task *task, struct base_cpu *bctx, bool runnable)
{
	u64 ran = vclock_charge(p, task);
	u32 wanted;

	if (task->idles)
		base_charge_idle_class(bctx, ran, base_wanted(bctx));
	if (bctx->wants_util)
		util_ran(task, bctx);
	if (active & LIMITS)
		limit_ran(p, task, bctx);
	wanted = bctx->wanted_by;
	if (wanted) {
		bctx->wanted_by = 0;
		if (!runnable)
			faster_let_go(wanted);
	}
	if (bctx->misfit)
		util_change_misfit(bctx, false);
	if (runnable) {
		task->go_to = wanted;
		task->pulled = bctx->pulled;
		base_has_run(task, ran);
	} else {
		base_sleeps(task, bctx, ran);
	}
}

static __always_inline void base_stopping(struct task_struct *p, bool runnable)
{
	struct task_ctx *tctx = task_of(p);

	if (tctx)
		base_stops(p, &tctx->base, base_cpu_under(p), runnable);
}

#endif /* __TANDEM_BASE_RUNNING_H */
