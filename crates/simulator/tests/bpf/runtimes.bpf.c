/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that adds up what sched_stat_runtime says of each task. When a task stops, that must be all that it has
 * run, and the tracepoint must have been passed on the task's own CPU. It ends with a message where this does not hold.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} tasks SEC(".maps");

UEI_DEFINE(uei);

SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(runtimes_told, struct task_struct *p, u64 runtime)
{
	u32 pid = p->pid;
	u64 none = 0, *told = bpf_map_lookup_elem(&tasks, &pid);

	if (!told) {
		bpf_map_update_elem(&tasks, &pid, &none, BPF_ANY);
		told = bpf_map_lookup_elem(&tasks, &pid);
	}
	if (told)
		*told += runtime;
	if (scx_bpf_task_cpu(p) != bpf_get_smp_processor_id())
		scx_bpf_error("%s is told of on CPU %d", p->comm, bpf_get_smp_processor_id());
	return 0;
}

void BPF_STRUCT_OPS(runtimes_stopping, struct task_struct *p, bool runnable)
{
	u32 pid = p->pid;
	u64 *told = bpf_map_lookup_elem(&tasks, &pid);
	u64 ran = told ? *told : 0;

	if (ran != p->se.sum_exec_runtime)
		scx_bpf_error("%s ran %llu ns, and %llu were told", p->comm, p->se.sum_exec_runtime, ran);
}

void BPF_STRUCT_OPS(runtimes_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(runtimes_ops,
	       .stopping		= (void *)runtimes_stopping,
	       .exit			= (void *)runtimes_exit,
	       .name			= "runtimes");
