/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tandem: five published mechanisms in one scheduler, each off unless asked for, in any combination.
 *
 *	where may a task run?	isolate/	operating-system noise stays on one CPU
 *	which CPU first?	longest/	the longest job on the fastest CPU
 *	when?			serial/		serial phases first, then seniority
 *	with whom?		sorted/		memory-bound beside compute-bound
 *	how fast?		speed/		clocks follow events, and the energy-delay product
 *
 * The base lies under all of them: base/, with queues/, place/ and clocks/ (docs/base.md). With all mechanisms off the base decides
 * alone. With any on, mechanisms/ asks them first, in this order.
 */
#include "base/base.bpf.h"
#include "mechanisms/mechanisms.bpf.h"
#include "state/exit.bpf.h"

char _license[] SEC("license") = "GPL";

/* Each callback is the base's alone (base_*), or, where a mechanism is on, the version in mechanisms/ (mechanisms_*). */
s32 BPF_STRUCT_OPS(tandem_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	if (active & LIMITS && held_wakes(p))
		return prev_cpu;
	if (is_alone() || !is_asked(MECHANISMS))
		return base_select_cpu(p, prev_cpu, wake_flags);
	return mechanisms_select_cpu(p, prev_cpu, wake_flags);
}

/* Whether a task waits in another queue than usual. Both cases are rare. */
static __noinline int is_taken(struct task_struct *p)
{
	return (active & CPUS_GONE && hotplug_takes(p)) || (active & LIMITS && held_takes(p));
}

void BPF_STRUCT_OPS(tandem_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (active & (LIMITS | CPUS_GONE) && is_taken(p))
		return;
	if (is_alone())
		base_enqueue(p, enq_flags);
	else if (is_asked(MECHANISMS))
		mechanisms_enqueue(p, enq_flags);
}

void BPF_STRUCT_OPS(tandem_dispatch, s32 cpu, struct task_struct *prev)
{
	if (is_alone())
		base_dispatch(cpu, prev);
	else if (is_asked(MECHANISMS))
		mechanisms_dispatch(cpu, prev);
}

void BPF_STRUCT_OPS(tandem_runnable, struct task_struct *p, u64 enq_flags)
{
	if (!(active & (GROUPS | SERIAL | LONGEST)))
		return;
	if (is_alone())
		base_runnable(p);
	else if (is_asked(MECHANISMS))
		mechanisms_runnable(p, enq_flags);
}

void BPF_STRUCT_OPS(tandem_running, struct task_struct *p)
{
	if (is_alone())
		base_running(p);
	else if (is_asked(MECHANISMS))
		mechanisms_running(p);
}

void BPF_STRUCT_OPS(tandem_stopping, struct task_struct *p, bool runnable)
{
	if (is_alone())
		base_stopping(p, runnable);
	else if (is_asked(MECHANISMS))
		mechanisms_stopping(p, runnable);
}

void BPF_STRUCT_OPS(tandem_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (!(active & (GROUPS | SERIAL | LONGEST | SORTED)))
		return;
	if (is_alone())
		base_quiescent(p);
	else if (is_asked(MECHANISMS))
		mechanisms_quiescent(p, deq_flags);
}

void BPF_STRUCT_OPS(tandem_tick, struct task_struct *p)
{
	if (active & GROUPS)
		held_tick(p);
	if (is_alone())
		base_tick(p);
	else if (is_asked(MECHANISMS))
		mechanisms_tick(p);
}

void BPF_STRUCT_OPS(tandem_update_idle, s32 cpu, bool idle)
{
	if (is_with_mechanisms())
		mechanisms_update_idle(cpu, idle);
}

/*
 * Not an op: the kernel passes this tracepoint at each tick, and before a task leaves its CPU, ahead of `stopping`, on that CPU. Here
 * performance counters can be read. The kernel also passes it when another CPU asks for a task's times; these calls are ignored.
 */
SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(tandem_sched_stat_runtime, struct task_struct *p, u64 ran)
{
	mechanisms_count(p, ran);
	return 0;
}

/* A real-time task takes the CPU: the task that ran there and the tasks sent there are queued anew, and may run elsewhere meanwhile. */
void BPF_STRUCT_OPS(tandem_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	bool *under_way = &releasing[cpu & (MAX_CPUS - 1)];

	pressure_released(cpu);
	*under_way = true;
	scx_bpf_reenqueue_local();
	*under_way = false;
}

/* Does the same on kernels that warn of the callback: loaders take this in its place (reenqueues_anywhere). */
SEC("tp_btf/sched_switch")
int BPF_PROG(tandem_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (next->prio >= MAX_RT_PRIO || prev->prio < MAX_RT_PRIO || !bpf_ksym_exists(scx_bpf_reenqueue_local___v2___new))
		return 0;
	pressure_released(bpf_get_smp_processor_id());
	scx_bpf_reenqueue_local___v2___new();
	return 0;
}

s32 BPF_STRUCT_OPS(tandem_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	base_init_task(p, args);
	if (is_with_mechanisms())
		mechanisms_init_task(p, args->fork);
	return 0;
}

void BPF_STRUCT_OPS(tandem_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_ctx *tctx = task_of(p);

	base_exit_task(tctx);
	if (is_with_mechanisms())
		mechanisms_exit_task(p, tctx);
}

void BPF_STRUCT_OPS(tandem_enable, struct task_struct *p)
{
	base_enable(p);
}

void BPF_STRUCT_OPS(tandem_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	struct task_ctx *tctx;

	base_set_weight(p);
	if (is_with_mechanisms() && (tctx = task_of(p)))
		tctx->isolate.place = isolate_place(p, tctx);
}

void BPF_STRUCT_OPS(tandem_set_weight, struct task_struct *p, u32 weight)
{
	base_set_weight(p);
}

void BPF_STRUCT_OPS(tandem_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct task_ctx *tctx = task_of(p);

	if (!tctx)
		return;
	tctx->base.cgroup = cgroup_number(to);
	base_set_weight(p);
}

/* Which of two tasks runs first if they must not run at the same time on one core. Kernels without core scheduling do not ask. */
bool BPF_STRUCT_OPS(tandem_core_sched_before, struct task_struct *a, struct task_struct *b)
{
	return core_before(a, b);
}

/*
 * A CPU goes or comes. As these callbacks exist, the kernel leaves the scheduler loaded. The mechanisms depend on the CPUs that were
 * there when they began (which one is for noise, which ones are fast, which are pairs), so they begin again.
 */
void BPF_STRUCT_OPS(tandem_cpu_offline, s32 cpu)
{
	hotplug_note(cpu, false);
	if (is_asked(MECHANISMS))
		restart_for(cpu, false);
	else
		hotplug_goes(cpu);
}

void BPF_STRUCT_OPS(tandem_cpu_online, s32 cpu)
{
	hotplug_note(cpu, true);
	if (is_asked(MECHANISMS))
		restart_for(cpu, true);
	else
		hotplug_comes(cpu);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tandem_init)
{
	s32 err;

	if (check_settings()) {
		scx_error("%s", (u64)problem);
		return -EINVAL;
	}
	kinds_find();
	isolate_init();
	err = place_init();
	if (!err && is_asked(MECHANISMS))
		err = mechanisms_init();
	if (err)
		return err;
	active |= (active ? 0 : ALONE) | (nr_cgroups ? GROUPS : 0) | (nr_limits ? LIMITS : 0);
	err = base_init() ?: hotplug_init() ?: held_init();
	if (is_asked(MECHANISMS)) {
		ranked_init();
		/*
		 * The tracepoint is attached already. From now on counters may begin on any CPU, and turn on the mechanisms that wait for
		 * them.
		 */
		barrier();
		counters_init();
	}
	return err;
}

SCX_OPS_DEFINE(tandem_ops,
	       .select_cpu		= (void *)tandem_select_cpu,
	       .enqueue			= (void *)tandem_enqueue,
	       .dispatch		= (void *)tandem_dispatch,
	       .runnable		= (void *)tandem_runnable,
	       .running			= (void *)tandem_running,
	       .stopping		= (void *)tandem_stopping,
	       .quiescent		= (void *)tandem_quiescent,
	       .tick			= (void *)tandem_tick,
	       .core_sched_before	= (void *)tandem_core_sched_before,
	       .set_weight		= (void *)tandem_set_weight,
	       .cgroup_init		= (void *)tandem_cgroup_init,
	       .cgroup_exit		= (void *)tandem_cgroup_exit,
	       .cgroup_move		= (void *)tandem_cgroup_move,
	       .cgroup_set_weight	= (void *)tandem_cgroup_set_weight,
	       .cgroup_set_bandwidth	= (void *)tandem_cgroup_set_bandwidth,
	       .cgroup_set_idle		= (void *)tandem_cgroup_set_idle,
	       .update_idle		= (void *)tandem_update_idle,
	       .cpu_release		= (void *)tandem_cpu_release,
	       .set_cpumask		= (void *)tandem_set_cpumask,
	       .cpu_online		= (void *)tandem_cpu_online,
	       .cpu_offline		= (void *)tandem_cpu_offline,
	       .init_task		= (void *)tandem_init_task,
	       .exit_task		= (void *)tandem_exit_task,
	       .enable			= (void *)tandem_enable,
	       .init			= (void *)tandem_init,
	       .exit			= (void *)tandem_exit,
	       .flags			= SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST,
	       .name			= "tandem");
