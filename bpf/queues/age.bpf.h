/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Age: a task that waits by deadline and has waited for AGE_MOST_MS runs next, before any deadline. Juniors, serial threads and threads that
 * wait for a turn at a lock do not wait by deadline. By weight alone a wait has no bound: a task of nice 19 beside two of nice -20 would
 * wait for 47 s. The kernel ejects a scheduler that lets a task wait for 30 s.
 */
#ifndef __TANDEM_QUEUES_AGE_H
#define __TANDEM_QUEUES_AGE_H

#include "line.bpf.h"

enum {
	AGE_MOST_MS = 5000,
	/* A CPU looks for aged tasks after this many ticks, a power of two: once in 0.13 to 1.3 s. */
	AGE_TICKS = 128,
	/* How many tasks the CPU looks at in a queue, from the task that is due last. */
	AGE_LOOKS = 4096,
};

/* One moment on two clocks, ns and ticks. The time that both have counted since tells the length of a tick. */
u64 age_began, age_began_ticks;

static void age_init(void)
{
	age_began = bpf_ktime_get_ns();
	age_began_ticks = bpf_jiffies64();
}

/* At a tick with a waiting task: whether the CPU is to look for aged tasks at its next dispatch. */
static __always_inline bool age_is_time(struct base_cpu *bctx)
{
	if (++bctx->ticks % AGE_TICKS)
		return false;
	bctx->looks_for_aged = true;
	return true;
}

/* When a task that is AGE_MOST_MS old by now began to wait, in ticks. */
static __always_inline u64 age_since(void)
{
	u64 now = bpf_jiffies64(), passed_ms = (bpf_ktime_get_ns() - age_began) / NSEC_PER_MSEC;

	return now - AGE_MOST_MS * (now - age_began_ticks) / (passed_ms ?: 1);
}

/* Takes an aged task out of a queue, to run next; returns whether there was one. */
static __noinline int age_take_from(struct base_cpu *bctx, u64 queue)
{
	u64 since = age_since();
	struct task_struct *p;
	bool taken = false;

	bctx->looks_left = AGE_LOOKS;
	bpf_rcu_read_lock();
	for_queued_from_last(it, p, queue) {
		if (!bctx->looks_left--)
			break;
		if ((s64)(p->scx.runnable_at - since) > 0 || !may_run_on(p, bctx->number))
			continue;
		taken = dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
		break;
	}
	bpf_rcu_read_unlock();
	return taken;
}

/*
 * Takes an aged task out of the CPU's own queue, its line's queues, longest's queue or the CPU's sorted queue. The CPU looks again at the
 * next dispatch, until it finds no more.
 */
static __noinline int age_take(struct base_cpu *bctx)
{
	u32 number = bctx->line;

	/* The line's virtual time is not to advance to the aged task's deadline. */
	bctx->deadline = line_at(number)->vtime;
	bctx->took = (bctx->has_pinned && age_take_from(bctx, QUEUE_PINNED | bctx->number)) || age_take_from(bctx, QUEUE_LINE | number) ||
		     (nr_idle_class > 0 && age_take_from(bctx, QUEUE_LINE_IDLE | number)) ||
		     (active & LONGEST && cpu_of(bctx->number)->isolate.takes_applications && age_take_from(bctx, QUEUE_LONG)) ||
		     (is_on(SORTED) && age_take_from(bctx, QUEUE_CPU + bctx->number));
	bctx->looks_for_aged = bctx->took;
	return bctx->took;
}

#endif /* __TANDEM_QUEUES_AGE_H */
