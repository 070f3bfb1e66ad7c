/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that compares the clocks of run queues: from when a task comes to when it goes, that of tasks advances
 * by what the task has run, and that of load by no more. It ends with a message where one does not.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct rq___clocks {
	u64 clock_task;
	u64 clock_pelt;
	unsigned long lost_idle_time;
} __attribute__((preserve_access_index));

struct since {
	u64 ran;
	u64 task;
	u64 pelt;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, struct since);
} cpus SEC(".maps");

UEI_DEFINE(uei);

static struct since *now(struct task_struct *p, struct since *at)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct rq___clocks *rq = (void *)scx_bpf_cpu_rq(cpu);

	if (rq) {
		at->ran = p->se.sum_exec_runtime;
		at->task = rq->clock_task;
		at->pelt = rq->clock_pelt - rq->lost_idle_time;
	}
	return bpf_map_lookup_elem(&cpus, &cpu);
}

void BPF_STRUCT_OPS(clocks_running, struct task_struct *p)
{
	struct since at = {}, *since = now(p, &at);

	if (since)
		*since = at;
}

void BPF_STRUCT_OPS(clocks_stopping, struct task_struct *p, bool runnable)
{
	struct since at = {}, *since = now(p, &at);

	if (!since)
		return;
	at.ran -= since->ran;
	at.task -= since->task;
	at.pelt -= since->pelt;
	if (!since->task || at.ran != at.task || at.pelt > at.task)
		scx_bpf_error("ran %llu ns, by the clock %llu, by that of load %llu", at.ran, at.task, at.pelt);
}

void BPF_STRUCT_OPS(clocks_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(clocks_ops,
	       .running		= (void *)clocks_running,
	       .stopping	= (void *)clocks_stopping,
	       .exit		= (void *)clocks_exit,
	       .name		= "clocks");
