/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks: the state of each, and the CPUs that it may use. */
#ifndef __TANDEM_STATE_TASK_H
#define __TANDEM_STATE_TASK_H

#include "answers.bpf.h"
#include "facts.bpf.h"
#include "migration.bpf.h"
#include "../clocks/state.bpf.h"
#include "../queues/state.bpf.h"
#include "../isolate/state.bpf.h"
#include "../longest/state.bpf.h"
#include "../serial/state.bpf.h"
#include "../sorted/state.bpf.h"
#include "../speed/state.bpf.h"

struct task_ctx {
	struct base_task base;
	/* When the task began to run, ns; 0 while it does not run. */
	u64 started;
	/* When the task was last sent to another CPU as it woke, ns. */
	u64 moved;
	/* The mechanisms' answers when the task woke (mechanisms/select_cpu.bpf.h): its rank and its wish. */
	u8 rank;
	u8 wish;
	/* Whether the task counts in its group (group.bpf.h), and counts there as ready. */
	bool in_group;
	bool ready;
	struct counted_task counted;
	struct isolate_task isolate;
	struct longest_task longest;
	struct serial_task serial;
	struct sorted_task sorted;
	struct speed_task speed;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

/* None for a task that came when no memory was left. All tasks without state wait in the global queue. */
static __always_inline struct task_ctx *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

static __always_inline struct task_ctx *task_make(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A loader has entered an application. Before that no task is known to be noise. */
bool applications_known;

/* Where a task is to run now. */
static __always_inline enum place place_of(struct task_ctx *tctx)
{
	return applications_known ? tctx->isolate.place : PLACE_APPLICATION;
}

/* Whether a task belongs to the operating system: it is a kernel thread, or applications are known and it belongs to none. */
static __always_inline bool is_system_task(struct task_struct *p, struct task_ctx *tctx)
{
	return p->flags & PF_KTHREAD || (applications_known && !tctx->isolate.application);
}

/* Whether the task that ran until now could go on. */
static __always_inline bool is_queued(struct task_struct *p)
{
	return p && p->scx.flags & SCX_TASK_QUEUED;
}

/* Whether a task may be sent to a CPU now. */
static __always_inline bool may_run_on(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && (!must_stay(p) || cpu == scx_bpf_task_cpu(p));
}

/* Whether a task may run on every CPU now. */
static __always_inline bool may_run_everywhere(const struct task_struct *p)
{
	return p->nr_cpus_allowed >= (s32)nr_cpus && !must_stay(p);
}

#endif /* __TANDEM_STATE_TASK_H */
