/* SPDX-License-Identifier: GPL-2.0-only */
/* A task that wakes preempts a running task with a later deadline. */
#ifndef __TANDEM_PLACE_PREEMPT_H
#define __TANDEM_PLACE_PREEMPT_H

#include "../state/bits.bpf.h"
#include "../queues/vclock.bpf.h"

enum {
	/* How much earlier a deadline must be, ns: the highest cost of a switch to another task and back. */
	PREEMPT_MARGIN = NSEC_PER_MSEC / 4,
	/* How much earlier a deadline must be on another CPU than the task's last one, whose caches do not have the task's data, ns. */
	PREEMPT_MARGIN_AWAY = NSEC_PER_MSEC,
	/* How often a CPU may be preempted, ns, and how many times in a row at once. */
	PREEMPT_EVERY = NSEC_PER_MSEC / 4,
	PREEMPT_AT_ONCE = 4,
};

/* The CPUs that run a task of the idle class, 64 to a word. */
u64 idle_class_cpus[MAX_CPUS / 64];

/* About how many CPUs run a task of the idle class. */
s32 nr_idle_class_cpus;

/* Notes whether a CPU's running task is of the idle class now. */
static __noinline void preempt_change_class(struct base_cpu *bctx, bool idles)
{
	u32 cpu = bctx->number;

	bctx->idles = idles;
	__sync_fetch_and_xor(&idle_class_cpus[(cpu / 64) & (MAX_CPUS / 64 - 1)], 1ULL << (cpu & 63));
	__sync_fetch_and_add(&nr_idle_class_cpus, idles ? 1 : -1);
}

/*
 * A CPU that runs a task of the idle class and that a task may use: the first CPU of a word, from the word of @prev_cpu on. Negative:
 * there is none.
 */
static s32 preempt_idle_class(struct task_struct *p, s32 prev_cpu)
{
	u32 words = (nr_cpus + 63) / 64;
	s32 step;

	if (base_cpu_of(prev_cpu)->idles)
		return prev_cpu;
	for_range(step, 0, words) {
		u32 word = ((u32)prev_cpu / 64 + (u32)step) % (words ?: 1), cpu;
		u64 bits = idle_class_cpus[word & (MAX_CPUS / 64 - 1)];

		if (!bits)
			continue;
		cpu = word * 64 + lowest_bit(bits);
		if (cpu < nr_cpus && may_run_on(p, cpu))
			return cpu;
	}
	return -1;
}

/*
 * Whether a CPU may be preempted once more (a token bucket). Where many tasks wake each other at once, as with messages, each task would
 * preempt the one that is about to wake the next.
 */
static __noinline bool preempt_is_time(struct base_cpu *bctx)
{
	u64 now = bpf_ktime_get_ns(), at = bctx->preempt_at;

	if (vtime_before(at, now))
		at = now;
	else if (vtime_before(now + (PREEMPT_AT_ONCE - 1) * (u64)PREEMPT_EVERY, at))
		return false;
	bctx->preempt_at = at + PREEMPT_EVERY;
	return true;
}

/* Whether a task with the deadline @deadline preempts a CPU's running task. */
static __always_inline bool preempt_may(u64 deadline, u32 cpu, u64 margin)
{
	struct base_cpu *bctx = base_cpu_of(cpu);

	return bctx->idles || (vtime_before(deadline + margin, bctx->deadline) && preempt_is_time(bctx));
}

/*
 * How much earlier a task's deadline must be to take another CPU than its last one: 1 ms, or 1 ms of the task's own work if that is more.
 */
static __always_inline u64 preempt_margin_away(struct base_task *task)
{
	u64 own = task->credit / (CREDIT_NS / PREEMPT_MARGIN_AWAY);

	return own > PREEMPT_MARGIN_AWAY ? own : PREEMPT_MARGIN_AWAY;
}

/* Whether a task never preempts others. */
static __always_inline bool preempt_never(struct task_struct *p, struct base_task *task)
{
	return task->idles || p->policy == SCHED_BATCH;
}

/*
 * The CPU that a task takes. CPUs that run the idle class come first, then the task's last CPU, then another CPU of its line. The last
 * two must run a task with a later deadline. Negative: there is none. A look at two CPUs is nearly as good as a look at all.
 */
static __always_inline s32 preempt_pick(struct task_struct *p, struct base_task *task, s32 prev_cpu)
{
	struct line *line = line_at(line_of(prev_cpu));
	u64 deadline;
	s32 cpu;

	if (preempt_never(p, task))
		return -1;
	if (nr_idle_class_cpus > 0) {
		cpu = preempt_idle_class(p, prev_cpu);
		if (cpu >= 0)
			return cpu;
	}
	line_enter(task, line_of(prev_cpu));
	vclock_bound(task, base_cpu_of(prev_cpu));
	deadline = task->vtime + task->request;
	cpu = prev_cpu;
	if (!preempt_may(deadline, cpu, PREEMPT_MARGIN)) {
		cpu = line_random_cpu(line);
		if (!may_run_on(p, cpu) || !preempt_may(deadline, cpu, preempt_margin_away(task)))
			return -1;
	}
	/* The next task that wakes is not to take this CPU again. */
	base_cpu_of(cpu)->deadline = deadline;
	return cpu;
}

#endif /* __TANDEM_PLACE_PREEMPT_H */
