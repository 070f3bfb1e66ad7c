/* SPDX-License-Identifier: GPL-2.0-only */
/* Queues, and the way to another CPU. */
#ifndef __TANDEM_STATE_QUEUE_H
#define __TANDEM_STATE_QUEUE_H

#include "vtime.bpf.h"

/* Queues of the mechanisms (queues/line.bpf.h has those of the base), ordered by virtual time unless a comment says otherwise. */
enum queue {
	/* None of these: the base queues the task. */
	QUEUE_NONE,
	/* longest: tasks that fast CPUs take first and slow ones last. */
	QUEUE_LONG,
	/* longest: threads that wait for their turn at a lock, in order of arrival. */
	QUEUE_TURN,
	/* serial: threads in serial phases; and threads of parallel applications other than the senior. */
	QUEUE_SERIAL,
	QUEUE_JUNIOR,
	/* speed: one queue for each node, of threads that wait for a turn at its memory, in order of arrival. */
	QUEUE_FED = 1 << 15,
	/* sorted: one queue for each CPU, by epoch and intensity. */
	QUEUE_CPU = 1 << 16,
};

/* Tasks that wait in all queues of `sorted`. */
s32 nr_sorted_waiting;

/*
 * Sends a task to another CPU; with SCX_ENQ_PREEMPT the task runs there at once. Linux 6.12 loses that flag on the way to another CPU
 * (enqueue_task_scx takes flags as an int), and the CPU has to be kicked.
 */
static __always_inline void insert_on(struct task_struct *p, s32 cpu, u64 slice, u64 enq_flags)
{
	dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, slice, enq_flags);
	if (enq_flags & SCX_ENQ_PREEMPT)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

#endif /* __TANDEM_STATE_QUEUE_H */
