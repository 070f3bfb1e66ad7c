/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task that wakes takes the CPU of one with a later deadline.
 */
#ifndef __TANDEM_PLACE_PREEMPT_H
#define __TANDEM_PLACE_PREEMPT_H

#include "../state/bits.bpf.h"
#include "../queues/vclock.bpf.h"

enum {
	/* How much earlier a deadline must be, ns: what a switch to and fro costs at most. */
	PREEMPT_MARGIN = NSEC_PER_MSEC / 4,
	/* The same on another CPU than its last one, where its data are not. */
	PREEMPT_MARGIN_AWAY = NSEC_PER_MSEC,
	/* How often a CPU may be taken, ns, and how many times it may be at once. */
	PREEMPT_EVERY = NSEC_PER_MSEC / 4,
	PREEMPT_AT_ONCE = 4,
};

/* The CPUs that run something of the idle class, 64 to a word. */
u64 idle_class_cpus[MAX_CPUS / 64];

/* Whether any does, about: how many do. */
s32 nr_idle_class_cpus;

/* Notes that what runs on a CPU is of the idle class now, or of another one. */
static __noinline void preempt_change_class(struct base_cpu *bctx, bool idles)
{
	u32 cpu = bctx->number;

	bctx->idles = idles;
	__sync_fetch_and_xor(&idle_class_cpus[(cpu / 64) & (MAX_CPUS / 64 - 1)], 1ULL << (cpu & 63));
	__sync_fetch_and_add(&nr_idle_class_cpus, idles ? 1 : -1);
}

/* A CPU that runs something of the idle class and that a task may have: the first one of a word, from @prev_cpu's on. Negative: none. */
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
 * Whether a CPU may be taken once more (a token bucket). Where many tasks wake each other at once, as with messages, each would take the
 * CPU of what goes on to wake the next one.
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

/* Whether what is due at @deadline takes a CPU from what runs there. */
static __always_inline bool preempt_may(u64 deadline, u32 cpu, u64 margin)
{
	struct base_cpu *bctx = base_cpu_of(cpu);

	return bctx->idles || (vtime_before(deadline + margin, bctx->deadline) && preempt_is_time(bctx));
}

/* How much earlier a task must be due to take another CPU than its last one: 1 ms, of its own work if that is more. */
static __always_inline u64 preempt_margin_away(struct base_task *task)
{
	u64 own = task->credit / (CREDIT_NS / PREEMPT_MARGIN_AWAY);

	return own > PREEMPT_MARGIN_AWAY ? own : PREEMPT_MARGIN_AWAY;
}

/* Whether a task takes no CPU from others. */
static __always_inline bool preempt_never(struct task_struct *p, struct base_task *task)
{
	return task->idles || p->policy == SCHED_BATCH;
}

/*
 * The CPU that a task takes: one of the idle class, else its last one, else another of the same line, if what runs there is due later.
 * Negative: none. To look at two is nearly as good as to look at all.
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
	/* The next task that wakes is not to take it again. */
	base_cpu_of(cpu)->deadline = deadline;
	return cpu;
}

#endif /* __TANDEM_PLACE_PREEMPT_H */
