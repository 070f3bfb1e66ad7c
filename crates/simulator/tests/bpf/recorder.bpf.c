/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that prints each of its callbacks: the time in ns since it was loaded, the PID of the task that it is
 * about (0: none), the CPU that executes the callback, its name and arguments. Tests compare the lines with what ext.c and
 * core.c of Linux 6.12 do, and with what it prints when a kernel has loaded it.
 *
 * One queue for all CPUs. With SCX_OPS_KEEP_BUILTIN_IDLE idle CPUs are tracked although it has an `update_idle`.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

enum {
	SHARED_DSQ = 0,
};

const volatile u64 slice_ns = SCX_SLICE_DFL;

/* Dispatch from `select_cpu` if there is an idle CPU. */
const volatile bool direct;

/* Enqueued tasks go to the head of the local queue of this CPU, and preempt who runs there; -1: they do not. */
const volatile s32 preempt_cpu = -1;

/* Take back what waits on a CPU that a more urgent class takes. */
const volatile bool reenqueue;

/* What `cgroup_prep_move` returns. */
const volatile s32 prep_move;

/* What is printed besides: callbacks that come too often to be of interest in every test. */
const volatile bool print_tick;
const volatile bool print_idle;
const volatile bool print_dispatch;

u64 loaded_at;

UEI_DEFINE(uei);

#define print(pid, fmt, args...)								\
	bpf_printk("%llu %d %d " fmt, bpf_ktime_get_ns() - loaded_at, pid, bpf_get_smp_processor_id(), args)

s32 BPF_STRUCT_OPS(recorder_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	print(p->pid, "select_cpu %s %d 0x%llx -> %d", p->comm, prev_cpu, wake_flags, cpu);
	if (is_idle && direct)
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL, slice_ns, 0);
	return cpu;
}

void BPF_STRUCT_OPS(recorder_enqueue, struct task_struct *p, u64 enq_flags)
{
	print(p->pid, "enqueue %s 0x%llx", p->comm, enq_flags);
	if (preempt_cpu >= 0)
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL_ON | preempt_cpu, slice_ns, enq_flags | SCX_ENQ_PREEMPT);
	else
		scx_bpf_dispatch(p, SHARED_DSQ, slice_ns, enq_flags);
}

void BPF_STRUCT_OPS(recorder_dequeue, struct task_struct *p, u64 deq_flags)
{
	print(p->pid, "dequeue %s 0x%llx", p->comm, deq_flags);
}

void BPF_STRUCT_OPS(recorder_dispatch, s32 cpu, struct task_struct *prev)
{
	if (print_dispatch && prev)
		print(prev->pid, "dispatch %d %s", cpu, prev->comm);
	else if (print_dispatch)
		print(0, "dispatch %d NULL", cpu);
	scx_bpf_consume(SHARED_DSQ);
}

void BPF_STRUCT_OPS(recorder_tick, struct task_struct *p)
{
	if (print_tick)
		print(p->pid, "tick %s %llu", p->comm, p->scx.slice);
}

void BPF_STRUCT_OPS(recorder_runnable, struct task_struct *p, u64 enq_flags)
{
	print(p->pid, "runnable %s 0x%llx", p->comm, enq_flags);
}

void BPF_STRUCT_OPS(recorder_running, struct task_struct *p)
{
	print(p->pid, "running %s", p->comm);
}

void BPF_STRUCT_OPS(recorder_stopping, struct task_struct *p, bool runnable)
{
	print(p->pid, "stopping %s %d", p->comm, runnable);
}

void BPF_STRUCT_OPS(recorder_quiescent, struct task_struct *p, u64 deq_flags)
{
	print(p->pid, "quiescent %s 0x%llx", p->comm, deq_flags);
}

bool BPF_STRUCT_OPS(recorder_yield, struct task_struct *from, struct task_struct *to)
{
	print(from->pid, "yield %s %d", from->comm, !!to);
	from->scx.slice = 0;
	return false;
}

void BPF_STRUCT_OPS(recorder_set_weight, struct task_struct *p, u32 weight)
{
	print(p->pid, "set_weight %s %u", p->comm, weight);
}

void BPF_STRUCT_OPS(recorder_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	print(p->pid, "set_cpumask %s 0x%lx", p->comm, mask->bits[0]);
}

void BPF_STRUCT_OPS(recorder_update_idle, s32 cpu, bool idle)
{
	if (print_idle)
		print(0, "update_idle %d %d", cpu, idle);
}

void BPF_STRUCT_OPS(recorder_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	print(0, "cpu_acquire %d", cpu);
}

void BPF_STRUCT_OPS(recorder_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	if (args->reason == SCX_CPU_PREEMPT_RT)
		print(args->task->pid, "cpu_release %d RT %s", cpu, args->task->comm);
	else
		print(args->task->pid, "cpu_release %d %d", cpu, args->reason);
	if (reenqueue)
		print(0, "reenqueued %u", scx_bpf_reenqueue_local());
}

s32 BPF_STRUCT_OPS(recorder_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	print(p->pid, "init_task %s %d %llu", p->comm, args->fork, args->cgroup->kn->id);
	return 0;
}

void BPF_STRUCT_OPS(recorder_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	print(p->pid, "exit_task %s %d", p->comm, args->cancelled);
}

void BPF_STRUCT_OPS(recorder_enable, struct task_struct *p)
{
	print(p->pid, "enable %s %llu", p->comm, p->scx.slice);
}

void BPF_STRUCT_OPS(recorder_disable, struct task_struct *p)
{
	print(p->pid, "disable %s", p->comm);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(recorder_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	print(0, "cgroup_init %llu %u", cgrp->kn->id, args->weight);
	return 0;
}

void BPF_STRUCT_OPS_SLEEPABLE(recorder_cgroup_exit, struct cgroup *cgrp)
{
	print(0, "cgroup_exit %llu", cgrp->kn->id);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(recorder_cgroup_prep_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	print(p->pid, "cgroup_prep_move %s %llu %llu", p->comm, from->kn->id, to->kn->id);
	return prep_move;
}

void BPF_STRUCT_OPS(recorder_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	print(p->pid, "cgroup_move %s %llu %llu", p->comm, from->kn->id, to->kn->id);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(recorder_init)
{
	loaded_at = bpf_ktime_get_ns();
	print(0, "init%s", "");
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

void BPF_STRUCT_OPS(recorder_exit, struct scx_exit_info *info)
{
	print(0, "exit %d", info->kind);
	UEI_RECORD(uei, info);
}

SCX_OPS_DEFINE(recorder_ops,
	       .select_cpu		= (void *)recorder_select_cpu,
	       .enqueue			= (void *)recorder_enqueue,
	       .dequeue			= (void *)recorder_dequeue,
	       .dispatch		= (void *)recorder_dispatch,
	       .tick			= (void *)recorder_tick,
	       .runnable		= (void *)recorder_runnable,
	       .running			= (void *)recorder_running,
	       .stopping		= (void *)recorder_stopping,
	       .quiescent		= (void *)recorder_quiescent,
	       .yield			= (void *)recorder_yield,
	       .set_weight		= (void *)recorder_set_weight,
	       .set_cpumask		= (void *)recorder_set_cpumask,
	       .update_idle		= (void *)recorder_update_idle,
	       .cpu_acquire		= (void *)recorder_cpu_acquire,
	       .cpu_release		= (void *)recorder_cpu_release,
	       .init_task		= (void *)recorder_init_task,
	       .exit_task		= (void *)recorder_exit_task,
	       .enable			= (void *)recorder_enable,
	       .disable			= (void *)recorder_disable,
	       .cgroup_init		= (void *)recorder_cgroup_init,
	       .cgroup_exit		= (void *)recorder_cgroup_exit,
	       .cgroup_prep_move	= (void *)recorder_cgroup_prep_move,
	       .cgroup_move		= (void *)recorder_cgroup_move,
	       .init			= (void *)recorder_init,
	       .exit			= (void *)recorder_exit,
	       .flags			= SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name			= "recorder");
