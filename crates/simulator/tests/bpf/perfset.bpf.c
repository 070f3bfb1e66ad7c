/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that asks for a performance of each CPU when it is loaded, and never again.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

enum {
	MAX_CPUS = 64,
};

/* By CPU, 0..1024. */
const volatile u32 targets[MAX_CPUS];
const volatile u32 nr_cpus = 1;

UEI_DEFINE(uei);

s32 BPF_STRUCT_OPS_SLEEPABLE(perfset_init)
{
	s32 cpu;

	bpf_for(cpu, 0, nr_cpus)
		scx_bpf_cpuperf_set(cpu, targets[cpu & (MAX_CPUS - 1)]);
	return 0;
}

void BPF_STRUCT_OPS(perfset_exit, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SCX_OPS_DEFINE(perfset_ops,
	       .init		= (void *)perfset_init,
	       .exit		= (void *)perfset_exit,
	       .name		= "perfset");
