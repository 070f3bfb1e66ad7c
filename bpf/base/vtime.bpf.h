/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: how much a task has had, by its weight.
 */
#ifndef __TANDEM_VTIME_H
#define __TANDEM_VTIME_H

#include "../settings.bpf.h"

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

enum {
	/* The most that a task's virtual time may lag behind the others', in slices. */
	MAX_LEAD = 10,
};

/*
 * The virtual time that a task is queued by where the others are at @now. Sleeping saves up no more than a slice. Having run
 * costs no more than MAX_LEAD slices: a slice of SCHED_IDLE's weight is worth a hundred, and behind twenty tasks for each CPU
 * that is forty seconds, while the kernel ejects a scheduler after thirty. So the lowest weights (nice above 10) get more than
 * theirs.
 */
static __always_inline u64 budgeted_from(struct task_struct *p, u64 now)
{
	u64 vtime = p->scx.dsq_vtime, earliest = now - slice_ns(), latest = now + MAX_LEAD * slice_ns();

	if (vtime_before(vtime, earliest))
		return earliest;
	return vtime_before(latest, vtime) ? latest : vtime;
}

static __always_inline u64 budgeted_vtime(struct task_struct *p)
{
	return budgeted_from(p, vtime_now);
}

#endif /* __TANDEM_VTIME_H */
