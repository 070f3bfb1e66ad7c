/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One queue for all CPUs, by weighted virtual time: the least that a fair scheduler can be, to compare others with.
 *
 *	who next?	of the tasks that wait for any CPU, the one that has had the least time for its weight.
 *	how long?	slice_us, whatever the weight.
 *	which CPU?	one that is idle as the task wakes, as the kernel chooses it (scx_bpf_select_cpu_dfl); else the first CPU that has
 *			nothing to do, or whose task's slice is over.
 *	and then?	A task that nobody waits for goes on.
 *
 * The kernel's scx_simple does the same with slices of the kernel's own length, and without the bound of MAX_LEAD.
 *
 * Left out: groups and their weights, caches, kinds of CPUs, and preemption as a task wakes. Whom a real-time task takes the CPU from
 * waits for that CPU. All CPUs lock the one queue, which takes time where they are many.
 */
#include "../bpf/include/scx.bpf.h"
#include "../bpf/include/exit.bpf.h"
#include "../bpf/include/tags.bpf.h"

char _license[] SEC("license") = "GPL";

enum {
	/* All tasks that no idle CPU took wait here. */
	QUEUE = 0,
	/*
	 * The most that a task's virtual time may be ahead of the others', in slices. A slice of SCHED_IDLE's weight is worth a hundred:
	 * behind twenty tasks for each CPU that is forty seconds, while the kernel ejects a scheduler after thirty. So the lowest weights
	 * (nice above 10) get more than theirs.
	 */
	MAX_LEAD = 10,
};

const volatile u32 slice_us
	__range("100..1000000") __unit("us") __help("Time that a task may run before others have their turn.") = 20000;

/* The kernel has core scheduling, and so may ask which of two tasks is to run. */
const volatile bool ops_has_core_sched_before __needs("core_sched_before");

/* Virtual time of the task that ran with the most. */
u64 vtime_now;

static __always_inline u64 slice_ns(void)
{
	return (u64)slice_us * NSEC_PER_USEC;
}

static __always_inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* The virtual time by which a task is queued: sleeping saves up no more than a slice, and having run costs no more than MAX_LEAD. */
static __always_inline u64 bounded_vtime(const struct task_struct *p)
{
	u64 vtime = p->scx.dsq_vtime, earliest = vtime_now - slice_ns(), latest = vtime_now + MAX_LEAD * slice_ns();

	if (vtime_before(vtime, earliest))
		return earliest;
	return vtime_before(latest, vtime) ? latest : vtime;
}

s32 BPF_STRUCT_OPS(single_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		dsq_insert(p, SCX_DSQ_LOCAL, slice_ns(), 0);
	return cpu;
}

void BPF_STRUCT_OPS(single_enqueue, struct task_struct *p, u64 enq_flags)
{
	dsq_insert_vtime(p, QUEUE, slice_ns(), bounded_vtime(p), enq_flags);
}

void BPF_STRUCT_OPS(single_dispatch, s32 cpu, struct task_struct *prev)
{
	if (dsq_move_to_local(QUEUE) || !prev || !(prev->scx.flags & SCX_TASK_QUEUED))
		return;
	/* Nobody waits, and so the task goes on. The kernel would give it SCX_SLICE_DFL, which `stopping` would take for slice_us. */
	prev->scx.slice = slice_ns();
}

/* Several CPUs may move virtual time on at the same time: a step may be lost, which the next one makes good. */
void BPF_STRUCT_OPS(single_running, struct task_struct *p)
{
	if (vtime_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

/* A task that yields is charged its whole slice. */
void BPF_STRUCT_OPS(single_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += (slice_ns() - p->scx.slice) * 100 / p->scx.weight;
}

void BPF_STRUCT_OPS(single_enable, struct task_struct *p)
{
	p->scx.dsq_vtime = vtime_now;
}

bool BPF_STRUCT_OPS(single_core_sched_before, struct task_struct *a, struct task_struct *b)
{
	return vtime_before(a->scx.dsq_vtime, b->scx.dsq_vtime);
}

/* Nothing is to be done as a CPU comes or goes; without these two the kernel would unload the scheduler. */
void BPF_STRUCT_OPS(single_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(single_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(single_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

void BPF_STRUCT_OPS(single_exit, struct scx_exit_info *info)
{
	exit_record(info);
}

SCX_OPS_DEFINE(single_ops,
	       .select_cpu		= (void *)single_select_cpu,
	       .enqueue			= (void *)single_enqueue,
	       .dispatch		= (void *)single_dispatch,
	       .running			= (void *)single_running,
	       .stopping		= (void *)single_stopping,
	       .core_sched_before	= (void *)single_core_sched_before,
	       .cpu_online		= (void *)single_cpu_online,
	       .cpu_offline		= (void *)single_cpu_offline,
	       .enable			= (void *)single_enable,
	       .init			= (void *)single_init,
	       .exit			= (void *)single_exit,
	       .name			= "single");
