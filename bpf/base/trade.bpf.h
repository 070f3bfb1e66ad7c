/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running threads change places where kinds of CPU differ: what computes goes to the faster CPU of what waits for memory.
 *
 * With as many threads as CPUs nothing waits, and the first ones to come have the fast CPUs for good. A thread that waits
 * for memory gains little there (Merkel & Bellosa, section 3.2: its run time hardly depends on the clock), one that
 * computes gains all of the difference. Papers say nothing of this: Merkel & Bellosa's CPUs are equal, and Morad et al.
 * and Lakshminarayana & Kim rank threads by phase and by length. So both of these come first: neither a serial nor a long
 * thread gives way.
 */
#ifndef __TANDEM_TRADE_H
#define __TANDEM_TRADE_H

#include "counters.bpf.h"
#include "pull.bpf.h"

enum {
	/* How different threads must be, of ONE: their measures vary less, so that they do not change to and fro. */
	TRADE_STEP = ONE / 4,
	/* A CPU trades at most so often, ns: a new task's measures are those of a short time. */
	TRADE_PERIOD = 10 * NSEC_PER_MSEC,
};

/* Whether what runs on a CPU waits for memory so much more than @stall that it gives the CPU away. */
static __always_inline bool trade_gives(struct cpu_ctx *cctx, u32 stall, u64 now)
{
	if (!cctx->pid || cctx->idle || cctx->claimed || cctx->wanted_by || cctx->keeps)
		return false;
	if (cctx->rank == RANK_SERIAL || cctx->longest.is_long || now - cctx->swapped_at < TRADE_PERIOD)
		return false;
	return cctx->counted.stall > stall + TRADE_STEP;
}

/*
 * Sends a task that has used up a slice, alone on a slower CPU, to a faster one whose thread gives way; that one finds the
 * CPU that is left. Whether it goes.
 */
static bool trade_up(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	u32 kind = cpu_of(scx_bpf_task_cpu(p))->kind;
	u64 now;
	s32 at;

	if (!kind || !tctx->counted.measured || enq_flags & SCX_ENQ_WAKEUP || place_of(tctx) != PLACE_APPLICATION)
		return false;
	now = bpf_ktime_get_ns();
	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];
		struct cpu_ctx *cctx = cpu_of(cpu);

		if (cctx->kind >= kind)
			break;
		if (!trade_gives(cctx, tctx->counted.stall, now) || place_shares_core(cpu) || !may_run_on(p, cpu))
			continue;
		cctx->claimed = true;
		cctx->preempted = true;
		cctx->swapped_at = now;
		count(TANDEM_STAT_PULL_TRADED);
		insert_on(p, cpu, slice_ns(), enq_flags | SCX_ENQ_PREEMPT);
		return true;
	}
	return false;
}

#endif /* __TANDEM_TRADE_H */
