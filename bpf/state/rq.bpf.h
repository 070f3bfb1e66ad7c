/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's run queues.
 */
#ifndef __TANDEM_STATE_RQ_H
#define __TANDEM_STATE_RQ_H

/* kernel/sched/sched.h: from this value of rq.clock_update_flags on, the run queue's time counts as up to date. */
enum { RQCF_ACT_SKIP = 2 };

extern const struct rq runqueues __ksym;

/*
 * Whether a callback of this CPU, whose run queue is locked, can ask the governor, which reads the run queue's time. A dispatch has
 * unlocked the run queue if it took a task of another CPU. A CPU that has locked it since may have left its time marked as not up to date
 * (rq_pin_lock). The kernel complains if the time is read then (assert_clock_updated), so the callback has to ask again later.
 */
static __always_inline bool rq_clock_updated(void)
{
	const struct rq *rq = bpf_this_cpu_ptr(&runqueues);

	return !bpf_core_field_exists(rq->clock_update_flags) || rq->clock_update_flags >= RQCF_ACT_SKIP;
}

#endif
