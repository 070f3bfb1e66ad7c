/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that wait in a line and ran on a CPU last: each CPU keeps notes of a few, and finds these without a walk through the line.
 *
 * A note is a hint: the task waits in the line, where every CPU finds it. Notes are written while the run queue of the task's CPU is
 * locked. A note is erased as its task begins to run, on any CPU.
 */
#ifndef __TANDEM_QUEUES_HOME_H
#define __TANDEM_QUEUES_HOME_H

#include "line.bpf.h"

enum {
	/* The notes of a CPU: one cache line. */
	HOMES = 4,
};

struct home {
	/* The task's place by deadline, and its slice, which tells its leeway (weight.bpf.h). */
	u64 place;
	u32 slice;
	/* 0: this note is free. */
	s32 pid;
} __attribute__((aligned(16)));

struct home homes[MAX_CPUS * HOMES] __attribute__((aligned(64)));

static __always_inline struct home *home_at(u32 number)
{
	return &homes[number & (MAX_CPUS * HOMES - 1)];
}

/* Notes a task that waits in the line of its CPU, if there is a free note. */
static __always_inline void home_note(struct task_struct *p, struct base_task *task, u32 cpu, u64 place, u32 slice)
{
	struct home *home = home_at(cpu * HOMES);
	u32 step;

#pragma unroll
	for (step = 0; step < HOMES; step++, home++) {
		if (home->pid)
			continue;
		home->place = place;
		home->slice = slice;
		home->pid = p->pid;
		task->home = cpu * HOMES + step + 1;
		return;
	}
}

/* Counts a task as one that woke and waits in its line, or ceases to count it. */
static __always_inline void home_count_woken(struct base_task *task, bool woken)
{
	if (task->woken == woken)
		return;
	task->woken = woken;
	__sync_fetch_and_add(&line_at(task->line)->nr_woken, woken ? 1 : -1);
}

/* A task no longer waits: erases its note and its count, if it has them. */
static __always_inline void home_forget(struct base_task *task)
{
	if (!task->waits)
		return;
	home_count_woken(task, false);
	if (!task->home)
		return;
	home_at(task->home - 1)->pid = 0;
	task->home = 0;
}

/* The number, plus 1, of the CPU's note whose task is due first; 0: the CPU has no note. */
static __always_inline u32 home_first(u32 cpu)
{
	struct home *of_cpu = home_at(cpu * HOMES);
	u32 first = 0, step;
	u64 place = 0;

#pragma unroll
	for (step = 0; step < HOMES; step++) {
		if (!of_cpu[step].pid || (first && !vtime_before(of_cpu[step].place, place)))
			continue;
		first = cpu * HOMES + step + 1;
		place = of_cpu[step].place;
	}
	return first;
}

/* Takes the task @pid that waits at @place out of a CPU's line, to run there next; returns whether the task was still there. */
static __noinline int home_take(u32 cpu, s32 pid, u64 place)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	int taken = false;

	p = bpf_ksym_exists(bpf_task_from_pid) ? bpf_task_from_pid(pid) : 0;
	if (!p)
		return false;
	if (p->scx.dsq_vtime == place && may_run_on(p, cpu)) {
		bpf_iter_scx_dsq_new(&it, QUEUE_LINE | line_of(cpu), 0);
		taken = dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
		bpf_iter_scx_dsq_destroy(&it);
	}
	bpf_task_release(p);
	return taken;
}

#endif /* __TANDEM_QUEUES_HOME_H */
