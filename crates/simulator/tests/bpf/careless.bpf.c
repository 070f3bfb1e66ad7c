/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler with a queue per CPU that chooses CPUs without looking at them. `tandem why` must find out.
 */
#include "include/either.bpf.h"

char _license[] SEC("license") = "GPL";

enum mode {
	/* A task stays where it is, whoever else is there. */
	MODE_STAY,
	/* A task wakes on the next CPU each time. */
	MODE_WANDER,
};

const volatile enum mode mode;
const volatile u32 nr_cpus = 2;

UEI_DEFINE(uei);

s32 BPF_STRUCT_OPS(careless_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return mode == MODE_WANDER ? (u32)(prev_cpu + 1) % nr_cpus : prev_cpu;
}

void BPF_STRUCT_OPS(careless_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, SCX_DSQ_LOCAL, enq_flags);
}

void BPF_STRUCT_OPS(careless_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(careless_ops,
	       .select_cpu	= (void *)careless_select_cpu,
	       .enqueue		= (void *)careless_enqueue,
	       .exit		= (void *)careless_exit,
	       .name		= "careless");
