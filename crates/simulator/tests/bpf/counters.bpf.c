/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that books performance counters to tasks, by programs at the two tracepoints where a kernel lets it
 * read them, and prints for each task that ends what it caused. Its loader opens the counters `[perf]` names.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* Print each context switch. */
const volatile bool print_switch;

/* Read a counter where a kernel does not allow it: 1 in `stopping`. */
const volatile u32 misuse;

enum {
	EVENTS = 4,
	MAX_TASKS = 256,
};

#define EVENT_MAP(name, entries)						\
	struct {								\
		__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);			\
		__uint(key_size, sizeof(u32));					\
		__uint(value_size, sizeof(u32));				\
		__uint(max_entries, entries);					\
	} name SEC(".maps")

EVENT_MAP(cycles, 8);
EVENT_MAP(instructions, 8);
EVENT_MAP(misses, 8);
EVENT_MAP(stalled, 8);
/* No loader opens anything here. */
EVENT_MAP(nothing, 8);

struct sums {
	u64 runtime;
	u64 counts[EVENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TASKS);
	__type(key, u32);
	__type(value, struct sums);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sums);
} last SEC(".maps");

UEI_DEFINE(uei);

static long read_event(void *map, u64 flags, u64 *value)
{
	struct bpf_perf_event_value read;
	long err = bpf_perf_event_read_value(map, flags, &read, sizeof(read));

	*value = err ? 0 : read.counter;
	return err;
}

/* What happened on this CPU since it was last asked. */
static void since_last(u64 *counts)
{
	u32 zero = 0, i;
	struct sums *before = bpf_map_lookup_elem(&last, &zero);
	u64 now[EVENTS];

	if (!before)
		return;
	read_event(&cycles, BPF_F_CURRENT_CPU, &now[0]);
	read_event(&instructions, BPF_F_CURRENT_CPU, &now[1]);
	read_event(&misses, BPF_F_CURRENT_CPU, &now[2]);
	read_event(&stalled, BPF_F_CURRENT_CPU, &now[3]);
	for (i = 0; i < EVENTS; i++) {
		counts[i] = now[i] - before->counts[i];
		before->counts[i] = now[i];
	}
}

static void book(u32 pid, u64 runtime)
{
	struct sums none = {}, *sums;
	u64 counts[EVENTS] = {};
	u32 i;

	since_last(counts);
	if (!pid)
		return;
	bpf_map_update_elem(&tasks, &pid, &none, BPF_NOEXIST);
	sums = bpf_map_lookup_elem(&tasks, &pid);
	if (!sums)
		return;
	sums->runtime += runtime;
	for (i = 0; i < EVENTS; i++)
		sums->counts[i] += counts[i];
}

SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(counters_runtime, struct task_struct *p, u64 runtime)
{
	book(p->pid, runtime);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(counters_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	struct task_struct *curr = bpf_get_current_task_btf();

	book(prev->pid, 0);
	if (print_switch)
		bpf_printk("switch %d %s %s %u %s", bpf_get_smp_processor_id(), prev->comm, next->comm, state,
			   curr->comm);
	return 0;
}

/* Optional: a loader must ask for it, and none here does. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(counters_optional, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	bpf_printk("optional%s", "");
	return 0;
}

void BPF_STRUCT_OPS(counters_stopping, struct task_struct *p, bool runnable)
{
	u64 value;

	if (misuse == 1)
		bpf_printk("%ld", read_event(&cycles, BPF_F_CURRENT_CPU, &value));
}

void BPF_STRUCT_OPS(counters_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 pid = p->pid;
	struct sums *sums = bpf_map_lookup_elem(&tasks, &pid);

	if (sums)
		bpf_printk("%s %llu %llu %llu %llu %llu", p->comm, sums->runtime, sums->counts[0], sums->counts[1],
			   sums->counts[2], sums->counts[3]);
}

/* Runs on CPU 0. */
SEC("syscall")
int counters_errors(void *ctx)
{
	u64 value;

	bpf_printk("here %ld, as current %ld, other CPU %ld, no such CPU %ld, beyond the map %ld, not opened %ld",
		   read_event(&cycles, 0, &value), read_event(&cycles, BPF_F_CURRENT_CPU, &value),
		   read_event(&cycles, 1, &value), read_event(&cycles, 7, &value), read_event(&cycles, 8, &value),
		   read_event(&nothing, 0, &value));
	return 0;
}

void BPF_STRUCT_OPS(counters_exit, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SCX_OPS_DEFINE(counters_ops,
	       .stopping	= (void *)counters_stopping,
	       .exit_task	= (void *)counters_exit_task,
	       .exit		= (void *)counters_exit,
	       .name		= "counters");
