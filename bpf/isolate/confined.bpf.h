/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolation in the base's terms, as affinity. Noise may run on the OS CPU only, and waits there as tasks that are pinned to it do. If the
 * OS CPU is dedicated, applications may run on all other CPUs.
 *
 * A dedicated OS CPU has a line of its own. No other CPU takes tasks from this line, and no application's thread waits in it.
 */
#ifndef __TANDEM_ISOLATE_CONFINED_H
#define __TANDEM_ISOLATE_CONFINED_H

#include "isolate.bpf.h"
#include "../base/enqueue.bpf.h"

/* An idle CPU for an application's task that has @prev_cpu, as the base would find it. Negative: there is none. */
static __noinline s32 confined_pick_idle(struct task_struct *p, s32 prev_cpu)
{
	s32 cpu = -1;

	if (idle_none())
		return -1;
	if (may_run_everywhere(p) && place_likes(prev_cpu)) {
		if (idle_way == IDLE_UNEQUAL)
			cpu = idle_pick_unequal(p, prev_cpu, 0);
		else if (scx_bpf_test_and_clear_cpu_idle(prev_cpu))
			cpu = prev_cpu;
		else
			cpu = idle_pick_line(line_of(prev_cpu));
	}
	return cpu >= 0 ? cpu : place_pick_application(p, prev_cpu, WISH_ANY);
}

/* The CPU that an application's task preempts as it wakes. Negative: there is none. */
static __always_inline s32 confined_preempt(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	s32 cpu = preempt_pick(p, &tctx->base, prev_cpu);

	return cpu >= 0 && cpu_of(cpu)->isolate.takes_applications ? cpu : -1;
}

/*
 * Whether noise that wakes preempts the OS CPU's task. Other noise is preempted if it is due later. An application is preempted at once,
 * or, if noise_preempts is off, never, as slices then end at ticks.
 */
static __always_inline bool confined_takes(struct task_struct *p, struct base_task *task, u64 deadline)
{
	u32 cpu = place_os_cpu();

	if (!cpu_of(cpu)->isolate.runs_application) {
		if (preempt_never(p, task) || !preempt_may(deadline, cpu, PREEMPT_MARGIN))
			return false;
		count(TANDEM_STAT_BASE_PREEMPTED);
		return true;
	}
	if (!noise_preempts)
		return false;
	count(TANDEM_STAT_ISOLATE_PREEMPTED);
	return true;
}

/* Sends noise that wakes to the OS CPU. The noise runs there at once if the CPU is idle, or if its running task is due later. */
static __noinline s32 confined_select_noise(struct task_struct *p, struct base_task *task)
{
	u32 cpu = place_os_cpu();
	u64 deadline;

	if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
		return cpu;
	}
	line_enter(task, line_of(cpu));
	line_bound(task, line_at(line_of(cpu)));
	deadline = task->vtime + task->request;
	if (confined_takes(p, task, deadline)) {
		base_cpu_of(cpu)->deadline = deadline;
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, SCX_ENQ_PREEMPT);
	}
	return cpu;
}

/* Queues noise for the OS CPU. */
static __noinline void confined_enqueue_noise(struct task_struct *p, struct base_task *task, u64 enq_flags)
{
	u32 cpu = place_os_cpu(), here = scx_bpf_task_cpu(p);
	struct base_cpu *bctx = base_cpu_of(cpu);

	if (here == cpu && enq_flags & SCX_ENQ_LAST) {
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, enq_flags);
		return;
	}
	if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
		dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_LONE, enq_flags);
	} else {
		line_enter(task, bctx->line);
		line_bound(task, line_at(bctx->line));
		bctx->has_pinned = true;
		dsq_insert_vtime(p, QUEUE_PINNED | cpu, SLICE_LONE, base_place_pinned(task, cpu), enq_flags);
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		isolate_preempt();
	}
}

/* Queues a task that may run on several of the CPUs that applications may use. */
static __noinline void confined_enqueue(struct task_struct *p, struct base_task *task, u64 enq_flags)
{
	u32 here = scx_bpf_task_cpu(p), cpu = place_near(p, here), number = line_of(cpu);

	if (cpu == here && enq_flags & SCX_ENQ_LAST) {
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, enq_flags);
		return;
	}
	number = nr_lines > 1 ? steal_line_for(p, number) : number;
	base_insert_in_line(p, task, base_cpu_of(here), number, enq_flags);
	base_kick(confined_pick_idle(p, cpu), number);
}

#endif /* __TANDEM_ISOLATE_CONFINED_H */
