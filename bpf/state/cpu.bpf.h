/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs: the state of each, and of its running task. */
#ifndef __TANDEM_STATE_CPU_H
#define __TANDEM_STATE_CPU_H

#include "facts.bpf.h"
#include "task.bpf.h"

/*
 * A CPU. The CPU itself writes most members. Other CPUs also write `rank`, `claimed`, `swapped_at`, and members of `isolate`, `longest`
 * and `speed`. Values of another CPU may be a moment old.
 */
struct cpu_ctx {
	/* 0 for the fastest CPUs, 1 for the next, ... */
	u32 kind;
	struct isolate_cpu isolate;
	struct counted_cpu counted;
	struct serial_cpu serial;
	struct speed_cpu speed;
	/*
	 * The running task's thread and process numbers and its rank. While the CPU is idle, `pid` is 0, and the others are the last
	 * task's.
	 */
	u32 pid;
	u32 tgid;
	enum rank rank;
	struct longest_cpu longest;
	/* A task of higher rank is on its way here. */
	bool claimed;
	/* No task runs here. */
	bool idle;
	/* When a task last gave the CPU up to a task that gains more by it, ns. */
	u64 swapped_at;
};

struct cpu_ctx cpu_ctxs[MAX_CPUS];

/* The mask bounds the index in a way that the verifier follows; a number that is no CPU would be a bug. */
static __always_inline struct cpu_ctx *cpu_of(u32 cpu)
{
	return &cpu_ctxs[cpu & (MAX_CPUS - 1)];
}

/*
 * isolate: the other hardware thread of a dedicated OS CPU, plus 1; 0: none. Its core's clock may be low and noise disturbs it (Grant &
 * Afsahi, section 6), so it gets a thread only where no other CPU is idle.
 */
u32 last_resort;

/* How many kinds of CPU there are, by performance. */
u32 nr_kinds;

/* Whether a CPU runs noise, which must not go to another CPU. */
static __always_inline bool cpu_runs_noise(u32 cpu)
{
	return active & ISOLATE && !cpu_of(cpu)->isolate.runs_application;
}

/* Notes that a task begins to run on this CPU. */
static __always_inline struct cpu_ctx *cpu_runs(struct task_struct *p, struct task_ctx *tctx)
{
	struct cpu_ctx *cctx = cpu_of(bpf_get_smp_processor_id());

	tctx->started = bpf_ktime_get_ns();
	cctx->pid = p->pid;
	cctx->tgid = p->tgid;
	cctx->rank = RANK_NORMAL;
	cctx->longest.is_long = false;
	cctx->longest.job_at = 0;
	cctx->claimed = false;
	cctx->idle = false;
	return cctx;
}

/* Notes that a task stops on this CPU; returns how long the task ran, ns. */
static __always_inline u64 cpu_stops(struct cpu_ctx *cctx, struct task_ctx *tctx)
{
	u64 ran = tctx->started ? bpf_ktime_get_ns() - tctx->started : 0;

	tctx->started = 0;
	cctx->pid = 0;
	return ran;
}

#endif /* __TANDEM_STATE_CPU_H */
