/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU that gives way to a serial thread: the fastest CPU whose task ranks lowest (Morad et al., section VII). */
#ifndef __TANDEM_SERIAL_CLAIM_H
#define __TANDEM_SERIAL_CLAIM_H

#include "../place/kind.bpf.h"
#include "../queues/line.bpf.h"
#include "seniority.bpf.h"

/* How dear a CPU's task is: the less dear, the sooner it gives way. */
enum dearness {
	DEAR_JUNIOR,
	DEAR_NORMAL,
	DEAR_LONG,
	/* The task does not give way, or there is none. */
	DEAR_MOST,
};

static __always_inline enum dearness dearness_of(u32 cpu)
{
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (!cctx->pid || cctx->claimed || base_cpu_of(cpu)->wanted_by || !cctx->isolate.takes_applications || cctx->rank == RANK_SERIAL)
		return DEAR_MOST;
	if (cctx->rank == RANK_JUNIOR)
		return DEAR_JUNIOR;
	return cctx->longest.is_long ? DEAR_LONG : DEAR_NORMAL;
}

/*
 * The CPU whose task gives way to @p: of the fastest kind below @limit that has one, the least dear. Negative: there is none. If the
 * thread is not known, @p is null, and its affinity is checked when it moves. On equal CPUs the search ends with the first task that is
 * not serial, or with the first junior.
 */
static s32 claim_find(struct task_struct *p, u32 limit)
{
	u32 best = DEAR_MOST, best_kind = 0, least = senior ? DEAR_JUNIOR : DEAR_NORMAL;
	s32 at, found = -1;

	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];
		struct cpu_ctx *cctx = cpu_of(cpu);
		u32 dear = dearness_of(cpu);

		if (cctx->kind >= limit || best <= least || (found >= 0 && cctx->kind > best_kind))
			break;
		if (dear >= best || (p && !may_run_on(p, cpu)))
			continue;
		best = dear;
		best_kind = cctx->kind;
		found = cpu;
	}
	return found;
}

#endif /* __TANDEM_SERIAL_CLAIM_H */
