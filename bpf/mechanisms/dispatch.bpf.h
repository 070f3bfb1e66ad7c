/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU picks its next task: a task that goes before its line, the next turn of its sorted queue, the base's task, or a task that has
 * stepped back. A tick ends the running task's slice for these, too.
 */
#ifndef __TANDEM_MECHANISMS_DISPATCH_H
#define __TANDEM_MECHANISMS_DISPATCH_H

#include "ranked.bpf.h"
#include "running.bpf.h"
#include "../base/dispatch.bpf.h"
#include "../base/tick.bpf.h"
#include "../sorted/sorted.bpf.h"

/*
 * Finds a task for a CPU that got none from the base. All of the base's waiting tasks may run elsewhere only, so the CPU takes a task
 * that has stepped back, or one that waits for a turn on any CPU.
 */
static __noinline int mechanisms_dispatch_rest(u32 cpu)
{
	if (active & (SERIAL | LONGEST) && cpu_of(cpu)->isolate.takes_applications && ranked_dispatch_rest())
		return true;
	return is_on(SORTED) && nr_sorted_waiting > 0 && rq_of(cpu)->exists && sorted_steal(cpu);
}

/* Gives a CPU the first thread that waits for a turn at the memory, if one more may run or the CPU's own has had its turn; whether it did. */
static __noinline int mechanisms_feed(struct task_struct *prev, struct cpu_ctx *cctx, u32 cpu)
{
	bool leaves = is_queued(prev);

	if (leaves && !(cctx->speed.turn_over && feed_leaves(prev, cctx, cpu)))
		return false;
	return cctx->isolate.takes_applications && feed_take(cctx, cpu, leaves);
}

/* A tick: a thread that waits for memory leaves where more run than may, or when it has had its turn and another one waits for one. */
static __noinline int mechanisms_feed_tick(struct task_struct *p, struct cpu_ctx *cctx, struct base_cpu *bctx)
{
	u32 cpu = bctx->number;

	feed_note(cctx, cpu, feed_is_bound(cctx->counted.stall));
	feed_look(cpu);
	if (!cctx->speed.bound_by_memory || !may_run_everywhere(p))
		return 0;
	if (!feed_of(cpu)->most) {
		/* Turns begin when they are needed: before, nobody has to wait for what the thread runs. */
		cctx->speed.turn_began = p->se.sum_exec_runtime;
	} else if (!feed_has_room(cpu, true)) {
		bctx->limited = true;
		p->scx.slice = 0;
	} else if (feed_turn_is_over(p, cctx, cpu)) {
		cctx->speed.turn_over = true;
		p->scx.slice = 0;
	}
	return 0;
}

static void mechanisms_dispatch(s32 cpu, struct task_struct *prev)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (active & CLOCKS)
		clock_catch_up(cpu);
	if (active & (SERIAL | LONGEST | SORTED)) {
		if (bctx->looks_for_aged && age_take(bctx))
			return;
		if (active & (SERIAL | LONGEST) && ranked_dispatch(prev, cctx, bctx))
			return;
	}
	if (feed_is_on() && !bctx->limited && mechanisms_feed(prev, cctx, cpu))
		return;
	if (!(is_on(SORTED) && !bctx->limited && sorted_dispatch(prev, bctx)))
		base_dispatch(cpu, prev);
	if (active & (SERIAL | LONGEST | SORTED) && !is_queued(prev) && !scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL))
		mechanisms_dispatch_rest(cpu);
	if (is_on(CLOCKS) && is_queued(prev) && prev->scx.slice && !bctx->took)
		mechanisms_goes_on(prev);
}

/* The running task gives its CPU to a task that waits in a mechanism's queue. */
static void mechanisms_tick(struct task_struct *p)
{
	struct base_cpu *bctx = base_cpu_of(bpf_get_smp_processor_id());
	struct cpu_ctx *cctx = cpu_of(bctx->number);
	u64 slice = p->scx.slice;
	u32 on = mechanisms_on();

	base_tick_clock(p, bctx);
	if (on & SERIAL)
		serial_tick(p);
	if (ranked_stays(cctx, bctx, on)) {
		/* The tasks behind a serial phase run elsewhere: no other tick tells the other lines of them. */
		if (bctx->has_lines && bctx->crowd)
			steal_note_owing(bctx);
		if (serial_turns && bctx->lags && !bctx->crowd && !bctx->wanted_by && faster_take(bctx->number))
			p->scx.slice = 0;
		return;
	}
	if (!(on & SORTED && sorted_tick(p, bctx)))
		base_tick_slice(p, bctx);
	if (on & (SERIAL | LONGEST) && ranked_waiting(on) &&
	    (age_is_time(bctx) || p->se.sum_exec_runtime - bctx->charged >= SLICE_MOST))
		p->scx.slice = 0;
	if (feed_is_on())
		mechanisms_feed_tick(p, cctx, bctx);
	if (on & SORTED && slice && !p->scx.slice)
		rq_of(bctx->number)->cut = true;
}

#endif /* __TANDEM_MECHANISMS_DISPATCH_H */
