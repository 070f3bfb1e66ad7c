/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler for what changed after 6.12: the setting `mode` chooses how tasks are queued. What it saw is printed when
 * it is unloaded, one counter a line.
 */
#include "include/either.bpf.h"

char _license[] SEC("license") = "GPL";

enum mode {
	/* Through a queue of the scheduler. */
	MODE_SHARED,
	/* Directly to the local queue. */
	MODE_LOCAL,
	/* Directly, to run at once or be given back; then through the queue. */
	MODE_IMMED,
	/* Directly, to run at once or be given back, each time. */
	MODE_IMMED_FOREVER,
	/* To run at once, where that cannot be asked for. */
	MODE_IMMED_SHARED,
	/* Through the queue, which is given back whenever a task begins to run. */
	MODE_REENQ,
};

enum {
	SHARED_DSQ = 0,
	/* Of 7.1. */
	ENQ_IMMED = 33,
	DEQ_SCHED_CHANGE = 33,
	REENQ_REASON_SHIFT = 12,
	REENQ_REASON_MASK = 3,
};

const volatile enum mode mode;

u64 nr_enqueued, nr_reenqueued, nr_dispatched, nr_elsewhere;
u64 nr_dequeued, nr_dequeued_sleep, nr_dequeued_change, nr_dequeued_picked;
u64 reasons[4];

s32 BPF_STRUCT_OPS(newer_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(newer_enqueue, struct task_struct *p, u64 enq_flags)
{
	bool again = enq_flags & SCX_ENQ_REENQ;

	nr_enqueued++;
	if (bpf_get_smp_processor_id() != scx_bpf_task_cpu(p))
		nr_elsewhere++;
	if (again) {
		nr_reenqueued++;
		reasons[(p->scx.flags >> REENQ_REASON_SHIFT) & REENQ_REASON_MASK]++;
	}

	switch (mode) {
	case MODE_LOCAL:
		insert(p, SCX_DSQ_LOCAL, 0);
		return;
	case MODE_IMMED:
		if (!again) {
			insert(p, SCX_DSQ_LOCAL, 1ULL << ENQ_IMMED);
			return;
		}
		break;
	case MODE_IMMED_FOREVER:
		insert(p, SCX_DSQ_LOCAL, 1ULL << ENQ_IMMED);
		return;
	case MODE_IMMED_SHARED:
		insert(p, SHARED_DSQ, 1ULL << ENQ_IMMED);
		return;
	default:
		break;
	}
	insert(p, SHARED_DSQ, 0);
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(newer_dequeue, struct task_struct *p, u64 deq_flags)
{
	nr_dequeued++;
	if (deq_flags & SCX_DEQ_SLEEP)
		nr_dequeued_sleep++;
	if (deq_flags & (1ULL << DEQ_SCHED_CHANGE))
		nr_dequeued_change++;
	if (deq_flags & SCX_DEQ_CORE_SCHED_EXEC)
		nr_dequeued_picked++;
}

void BPF_STRUCT_OPS(newer_dispatch, s32 cpu, struct task_struct *prev)
{
	nr_dispatched++;
	move_to_local(SHARED_DSQ);
}

void BPF_STRUCT_OPS(newer_running, struct task_struct *p)
{
	if (mode == MODE_REENQ && bpf_ksym_exists(scx_bpf_dsq_reenq))
		scx_bpf_dsq_reenq(SHARED_DSQ, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(newer_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

void BPF_STRUCT_OPS(newer_exit, struct scx_exit_info *ei)
{
	bpf_printk("enqueued %llu", nr_enqueued);
	bpf_printk("reenqueued %llu", nr_reenqueued);
	bpf_printk("because asked %llu", reasons[1]);
	bpf_printk("because late %llu", reasons[2]);
	bpf_printk("because preempted %llu", reasons[3]);
	bpf_printk("enqueued elsewhere %llu", nr_elsewhere);
	bpf_printk("dispatched %llu", nr_dispatched);
	bpf_printk("dequeued %llu", nr_dequeued);
	bpf_printk("dequeued to sleep %llu", nr_dequeued_sleep);
	bpf_printk("dequeued for a change %llu", nr_dequeued_change);
	bpf_printk("dequeued by a pick %llu", nr_dequeued_picked);
}

SCX_OPS_DEFINE(newer_ops,
	       .select_cpu		= (void *)newer_select_cpu,
	       .enqueue			= (void *)newer_enqueue,
	       .dequeue			= (void *)newer_dequeue,
	       .dispatch		= (void *)newer_dispatch,
	       .running			= (void *)newer_running,
	       .init			= (void *)newer_init,
	       .exit			= (void *)newer_exit,
	       .name			= "newer");
