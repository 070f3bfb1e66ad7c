/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks come and go, and change their weight, their group and the CPUs that they may use.
 */
#ifndef __TANDEM_BASE_TASKS_H
#define __TANDEM_BASE_TASKS_H

#include "../place/choose.bpf.h"
#include "../place/energy.bpf.h"
#include "../queues/age.bpf.h"
#include "../queues/cgroups.bpf.h"
#include "../queues/home.bpf.h"

static __always_inline void base_counts(struct base_task *task)
{
	if (!task->cgroup || task->counted)
		return;
	task->counted = true;
	cgroup_runnable(task->cgroup, task->weight);
	/* The savings of sleep follow the group's present share. */
	weight_request(task);
}

static __always_inline void base_counts_no_more(struct base_task *task)
{
	if (!task->counted)
		return;
	task->counted = false;
	cgroup_quiescent(task->cgroup, task->weight);
}

static __always_inline void base_runnable(struct task_struct *p)
{
	struct task_ctx *tctx = active & GROUPS ? task_of(p) : 0;

	if (tctx)
		base_counts(&tctx->base);
}

static __always_inline void base_quiescent(struct task_struct *p)
{
	struct task_ctx *tctx = active & GROUPS ? task_of(p) : 0;

	if (tctx)
		base_counts_no_more(&tctx->base);
}

static void base_enable(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u32 number = line_of(scx_bpf_task_cpu(p));

	if (!tctx)
		return;
	home_forget(&tctx->base);
	weight_note(p, &tctx->base);
	tctx->base.line = number;
	set_note(p, &tctx->base);
	tctx->base.vtime = *line_clock(&tctx->base, line_at(number));
	tctx->base.charged = p->se.sum_exec_runtime;
	tctx->base.burst = SLICE_MOST / 2;
	weight_request(&tctx->base);
	/* This is 0 until the task first runs. */
	tctx->base.util_at = 0;
}

/* A waiting task keeps its place; the new weight counts from its next turn on. */
static void base_set_weight(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	struct base_task *task;
	u64 clock;

	if (!tctx)
		return;
	task = &tctx->base;
	clock = *line_clock(task, line_at(task->line));
	task->vtime -= clock;
	weight_note(p, task);
	set_note(p, task);
	weight_request(task);
	task->vtime += *line_clock(task, line_at(task->line));
}

static void base_init_task(struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *tctx = task_make(p);

	if (!tctx)
		count(TANDEM_STAT_BASE_UNKNOWN);
	else if (bpf_core_field_exists(args->cgroup))
		tctx->base.cgroup = cgroup_number(args->cgroup);
}

static void base_exit_task(struct task_ctx *tctx)
{
	if (!tctx)
		return;
	home_forget(&tctx->base);
	if (tctx->base.idles)
		weight_change_class(&tctx->base, false);
}

static s32 base_init(void)
{
	line_init();
	age_init();
	util_init();
	energy_init();
	return line_create_queues() ?: idle_init();
}

#endif /* __TANDEM_BASE_TASKS_H */
