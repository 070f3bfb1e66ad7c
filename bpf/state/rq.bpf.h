/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's run queues.
 */
#ifndef __TANDEM_STATE_RQ_H
#define __TANDEM_STATE_RQ_H

/* kernel/sched/sched.h: from this bit of rq.clock_update_flags on the time of a run queue counts as brought up to date. */
enum { RQCF_ACT_SKIP = 2 };

extern const struct rq runqueues __ksym;

/*
 * Whether the governor can be asked by a callback of this CPU, whose run queue is locked: it takes the time from there. A dispatch has had it
 * unlocked if it took a task of another CPU, and another CPU that has locked it since may have left its time as not up to date
 * (rq_pin_lock). The kernel complains of whoever reads that (assert_clock_updated), and so whoever asks has to ask again later.
 */
static __always_inline bool rq_clock_updated(void)
{
	const struct rq *rq = bpf_this_cpu_ptr(&runqueues);

	return !bpf_core_field_exists(rq->clock_update_flags) || rq->clock_update_flags >= RQCF_ACT_SKIP;
}

#endif
