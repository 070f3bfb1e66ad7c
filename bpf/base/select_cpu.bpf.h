/* SPDX-License-Identifier: GPL-2.0-only */
/* A task wakes: it goes to an idle CPU, or preempts a task that is due later. */
#ifndef __TANDEM_BASE_SELECT_CPU_H
#define __TANDEM_BASE_SELECT_CPU_H

#include "enqueue.bpf.h"
#include "../place/preempt.bpf.h"

static __always_inline s32 base_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *tctx;
	s32 cpu = idle_pick(p, prev_cpu, wake_flags);

	if (cpu >= 0) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
		return cpu;
	}
	if (cpu <= IDLE_WAITS)
		return IDLE_WAITS - cpu;
	tctx = task_of(p);
	cpu = tctx ? preempt_pick(p, &tctx->base, prev_cpu) : -1;
	if (cpu < 0)
		return idle_way_free == IDLE_NEAR && wake_flags & SCX_WAKE_FORK && may_run_everywhere(p) ? idle_spread_waiting() : prev_cpu;
	count(TANDEM_STAT_BASE_PREEMPTED);
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, SCX_ENQ_PREEMPT);
	return cpu;
}

#endif /* __TANDEM_BASE_SELECT_CPU_H */
