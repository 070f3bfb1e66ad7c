/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that prints who each new task is: its process, its parent, what kind it is, and what its loader has
 * entered in the maps for it. On request, who wakes whom.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile bool print_wakeups;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} lengths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u32);
} applications SEC(".maps");

UEI_DEFINE(uei);

/* 0: not entered. */
static u64 length_of(struct task_struct *p)
{
	u32 pid = p->pid;
	u64 *length = bpf_map_lookup_elem(&lengths, &pid);

	return length ? *length : 0;
}

static u32 application_of(struct task_struct *p)
{
	u32 tgid = p->tgid, *number = bpf_map_lookup_elem(&applications, &tgid);

	return number ? *number : 0;
}

s32 BPF_STRUCT_OPS(relations_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	bpf_printk("%s: %d of %d (%d), made by %d, child of %d, flags 0x%x, CPUs %d, mm %d, length %llu, application %u", p->comm,
		   p->pid, p->tgid, p->group_leader->pid, args->fork ? bpf_get_current_task_btf()->pid : 0, p->real_parent->pid,
		   p->flags, p->nr_cpus_allowed, !!p->mm, length_of(p), application_of(p));
	return 0;
}

void BPF_STRUCT_OPS(relations_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	bpf_printk("%s ends, child of %d", p->comm, p->real_parent->pid);
}

static void print_waker(const char *what, struct task_struct *p)
{
	struct task_struct *waker = bpf_get_current_task_btf();

	if (print_wakeups)
		bpf_printk("%s %s by %s %d of %d on %d", what, p->comm, waker->comm, waker->pid, waker->tgid,
			   bpf_get_smp_processor_id());
}

s32 BPF_STRUCT_OPS(relations_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle;

	if (wake_flags & SCX_WAKE_TTWU)
		print_waker("select_cpu", p);
	return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
}

void BPF_STRUCT_OPS(relations_runnable, struct task_struct *p, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_WAKEUP)
		print_waker("runnable", p);
}

void BPF_STRUCT_OPS(relations_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_WAKEUP)
		print_waker("enqueue", p);
	scx_bpf_dispatch(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(relations_exit, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SCX_OPS_DEFINE(relations_ops,
	       .select_cpu	= (void *)relations_select_cpu,
	       .enqueue		= (void *)relations_enqueue,
	       .runnable	= (void *)relations_runnable,
	       .init_task	= (void *)relations_init_task,
	       .exit_task	= (void *)relations_exit_task,
	       .exit		= (void *)relations_exit,
	       .name		= "relations");
