/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where: operating-system noise stays on one CPU (Grant & Afsahi, PS-Sched-1 and PS-Sched-2).
 *
 * Dedicated: applications stay off that CPU. Shared: they may use that CPU, too. An application is a process that a loader entered in
 * `applications`, with all its descendants. All other tasks are the system's. points.bpf.h has the clocks.
 */
#ifndef __TANDEM_ISOLATE_ISOLATE_H
#define __TANDEM_ISOLATE_ISOLATE_H

#include "../state/state.bpf.h"

u32 bpf_cpumask_weight(const struct cpumask *cpumask) __ksym;

#ifndef MAX_APPLICATION_PROCESSES
#define MAX_APPLICATION_PROCESSES (1 << 16)
#endif

/* Processes that loaders start or attach to: tgid to number of the application, from 1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_APPLICATION_PROCESSES);
	__type(key, u32);
	__type(value, u32);
} applications SEC(".maps");

/* The setting isolate; `all` means shared. */
static __always_inline enum tandem_isolate isolate_mode(void)
{
	return isolate == TANDEM_ISOLATE_OFF && all ? TANDEM_ISOLATE_SHARED : isolate;
}

/* Decides which CPUs take tasks of applications. Without isolation all CPUs do. */
static void isolate_init(void)
{
	enum tandem_isolate mode = isolate_mode();
	s32 cpu;

	if (mode != TANDEM_ISOLATE_OFF)
		isolate_state = nr_cpus > 1 ? TANDEM_STATE_NO_APPLICATIONS : TANDEM_STATE_ONE_CPU;
	if (isolate_state == TANDEM_STATE_NO_APPLICATIONS)
		active |= ISOLATE;
	for_range(cpu, 0, nr_cpus) {
		cpu_of(cpu)->isolate.takes_applications = !(active & ISOLATE) || cpu != place_os_cpu() || mode == TANDEM_ISOLATE_SHARED;
	}
	/* A loader may have entered an application before the scheduler is loaded. */
	if (active & ISOLATE && applications_known)
		isolate_state = TANDEM_STATE_ACTIVE;
	if (active & ISOLATE && mode == TANDEM_ISOLATE_DEDICATED && facts_of(place_os_cpu())->sibling < nr_cpus)
		last_resort = facts_of(place_os_cpu())->sibling + 1;
}

/* An application is known: all other tasks are noise from now on. */
static __always_inline void isolate_begin(void)
{
	if (applications_known)
		return;
	applications_known = true;
	if (isolate_state == TANDEM_STATE_NO_APPLICATIONS)
		isolate_state = TANDEM_STATE_ACTIVE;
}

/* The process that made a task. During the fork (@fork) the new task still has its maker's parent (copy_process). */
static __always_inline u32 isolate_parent(struct task_struct *p, bool fork)
{
	return fork ? bpf_get_current_task_btf()->tgid : BPF_CORE_READ(p, real_parent, tgid);
}

/* The application of the task that makes another one; 0 for the system. */
static u32 isolate_makers(void)
{
	struct task_ctx *maker = task_of(bpf_get_current_task_btf());

	return maker ? maker->isolate.application : 0;
}

/*
 * The application that a new task belongs to: that of its process, else of its parent process. 0: the system. If there is no room to
 * remember the process, the thread that makes the task tells the application.
 */
static u32 isolate_application(struct task_struct *p, bool fork)
{
	u32 tgid = p->tgid, parent;
	u32 *known = bpf_map_lookup_elem(&applications, &tgid), number;

	if (known) {
		isolate_begin();
		return *known;
	}
	if (p->flags & PF_KTHREAD)
		return 0;
	parent = isolate_parent(p, fork);
	known = bpf_map_lookup_elem(&applications, &parent);
	number = known ? *known : fork ? isolate_makers() : 0;
	if (number && bpf_map_update_elem(&applications, &tgid, &number, BPF_ANY))
		count(TANDEM_STAT_ISOLATE_CROWDED);
	return number;
}

/*
 * Whether a task may run on the OS CPU only. The present mask counts: while a waiting task's migration is disabled the mask has that
 * task's CPU alone, and `set_cpumask` has reported it.
 */
static bool isolate_is_bound(struct task_struct *p)
{
	return bpf_cpumask_test_cpu(place_os_cpu(), p->cpus_ptr) && bpf_cpumask_weight(p->cpus_ptr) == 1;
}

/* Where a task belongs, as far as its affinity allows. */
static enum place isolate_place(struct task_struct *p, struct task_ctx *tctx)
{
	if (!(active & ISOLATE))
		return PLACE_APPLICATION;
	if (!tctx->isolate.application)
		/* Threads that are bound to other CPUs stay there. Most of these are the kernel's own. */
		return bpf_cpumask_test_cpu(place_os_cpu(), p->cpus_ptr) ? PLACE_SYSTEM : PLACE_APPLICATION;
	return isolate_is_bound(p) ? PLACE_SYSTEM : PLACE_APPLICATION;
}

/* A task begins to run. */
static __always_inline void isolate_running(struct task_ctx *tctx, struct cpu_ctx *cctx)
{
	cctx->isolate.runs_application = place_of(tctx) == PLACE_APPLICATION;
	if (!cctx->isolate.runs_application)
		count(TANDEM_STAT_ISOLATE_NOISE);
}

/*
 * Noise waits and the OS CPU is not idle. If an application's task runs there, it leaves the CPU. The paper's kernel does the same: tasks
 * that sleep much come before tasks that compute. The value read may be a moment old; then a CPU looks for work once too often, or noise
 * waits for a slice.
 */
static __always_inline void isolate_preempt(void)
{
	u32 cpu = place_os_cpu();

	if (!noise_preempts || !cpu_of(cpu)->isolate.runs_application)
		return;
	count(TANDEM_STAT_ISOLATE_PREEMPTED);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* A thread that becomes an application's. */
struct adoption {
	u32 tid;
	/* The number of the application, from 1. */
	u32 number;
};

/*
 * Makes an existing thread an application's. A loader first enters the process in `applications`, then runs this for each of its threads,
 * for a process that is added while the scheduler runs. New threads and processes inherit the application.
 */
SEC("syscall")
int tandem_adopt(struct adoption *adoption)
{
	struct task_struct *p;
	struct task_ctx *tctx;

	if (!bpf_ksym_exists(bpf_task_from_pid))
		return -EINVAL;
	p = bpf_task_from_pid(adoption->tid);
	if (!p)
		return 0;
	isolate_begin();
	bpf_rcu_read_lock();
	tctx = task_of(p);
	if (tctx) {
		tctx->isolate.application = adoption->number;
		tctx->isolate.place = isolate_place(p, tctx);
	}
	bpf_rcu_read_unlock();
	bpf_task_release(p);
	return 0;
}

/* The last thread of a process goes. Its number may soon be another process's. */
static void isolate_leave(struct task_struct *p)
{
	u32 tgid = p->tgid;

	bpf_map_delete_elem(&applications, &tgid);
}

#endif /* __TANDEM_ISOLATE_ISOLATE_H */
