/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns on faster CPUs: with as many busy threads as CPUs nothing waits, and the first ones to come would have the fast CPUs for good.
 * A thread that a slower CPU is too slow for changes places with one that has had a faster CPU for long.
 */
#ifndef __TANDEM_PLACE_FASTER_H
#define __TANDEM_PLACE_FASTER_H

#include "steal.bpf.h"

enum {
	/* How long a thread has a CPU before it changes places, ns: long against what caches cost. */
	TURN_NS = 24 * NSEC_PER_MSEC,
	/* A CPU that may not be taken over now may be a little later, ns. */
	TURN_AGAIN_NS = 2 * NSEC_PER_MSEC,
	/* A thread that shares its core for longer than this, ns, goes to a core of its own. */
	SHARE_NS = 8 * NSEC_PER_MSEC,
};

/*
 * Whether a faster CPU's thread keeps it whatever waits. A thread may have come to a serial phase as it ran; serial phases take turns
 * with each other.
 */
static __always_inline bool faster_keeps(struct base_cpu *bctx, struct base_cpu *waiting)
{
	bool serial = cpu_of(bctx->number)->rank == RANK_SERIAL;

	return bctx->keeps || (serial && (!serial_turns || cpu_of(waiting->number)->rank != RANK_SERIAL));
}

/*
 * The faster CPU whose thread has run there for longest, at least for TURN_NS. Negative: none; then @waiting does not look again until
 * there can be one. A part of a faster core is no better than a core of its own.
 */
static s32 faster_find(struct base_cpu *waiting, u64 now)
{
	u64 longest = TURN_NS, next = now + TURN_NS;
	bool alone = smt && !idle_shares_core(waiting->number);
	u32 kind = waiting->kind;
	s32 at, found = -1;

	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];
		struct base_cpu *bctx = base_cpu_of(cpu);

		if (bctx->kind >= kind && !bctx->slowed)
			break;
		/* One that is slowed down is among the faster ones it was one of; an idle one takes what it wants. */
		if (bctx->kind >= kind || !bctx->deadline || vtime_before(now, bctx->began))
			continue;
		if (now - bctx->began <= TURN_NS) {
			if (bctx->began + TURN_NS < next)
				next = bctx->began + TURN_NS;
			continue;
		}
		if (faster_keeps(bctx, waiting) || bctx->wanted_by) {
			if (now + TURN_AGAIN_NS < next)
				next = now + TURN_AGAIN_NS;
			continue;
		}
		if (now - bctx->began <= longest || (alone && idle_shares_core(cpu)))
			continue;
		longest = now - bctx->began;
		found = cpu;
	}
	waiting->turn_at = found < 0 ? next : 0;
	return found;
}

/* A thread on a slower CPU has its turn on a faster one; whether it has. */
static __noinline int faster_take(u32 cpu)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	u64 now = bpf_ktime_get_ns();
	s32 faster;

	if (now - bctx->began < TURN_NS || now < bctx->turn_at || bctx->wanted_by)
		return 0;
	faster = faster_find(bctx, now);
	if (faster < 0)
		return 0;
	base_cpu_of(faster)->began = now;
	bctx->wanted_by = (u32)(faster + 1) | WANTED_IN_TURN;
	return 1;
}

/* An idle core of the fastest @kinds. Negative: none. */
static __noinline s32 faster_idle_faster(u32 kinds)
{
	s32 kind, found;

	/* Most often, and in half of the instructions. */
	if (kinds == 1)
		return place_pick_from(0, SCX_PICK_IDLE_CORE);
	for_range(kind, 0, MAX_KINDS) {
		if (kind >= kinds)
			break;
		found = place_pick_from(kind, SCX_PICK_IDLE_CORE);
		if (found >= 0)
			return found;
	}
	return -1;
}

/*
 * An idle core, in the same line where CPUs are equal, else the fastest, which may be slower than @cpu: two hardware threads of a core
 * seldom do a third more than one. Negative: none.
 */
static s32 faster_idle_core(u32 cpu)
{
	u32 line = line_of(cpu);

	if (nr_kinds < 2)
		return cpu_set_pick(bpf_map_lookup_elem(&line_sets, &line), SCX_PICK_IDLE_CORE);
	return faster_idle_faster(nr_kinds);
}

/* Sends what runs on a CPU to another one, that is idle, when it leaves; whether there is such a one. */
static __always_inline int faster_leave_for(u32 cpu, s32 idle)
{
	if (idle < 0)
		return 0;
	base_cpu_of(cpu)->wanted_by = (u32)(idle + 1) | WANTED_CLAIMED;
	return 1;
}

/* A thread for which a CPU is too slow goes to an idle core that is faster; whether it does. */
static __noinline int faster_go_up(u32 cpu)
{
	return !base_cpu_of(cpu)->wanted_by && faster_leave_for(cpu, faster_idle_faster(base_cpu_of(cpu)->kind));
}

/* The CPU that wants a thread; none, if that is not a CPU's number. */
static __always_inline u32 faster_wanting(u32 wanted)
{
	return (wanted & ~(WANTED_IN_TURN | WANTED_CLAIMED)) - 1;
}

/* The thread does not come: a CPU that waits for it, and counts as busy, is woken, to go idle anew. */
static __always_inline void faster_let_go(u32 wanted)
{
	if (wanted & WANTED_CLAIMED)
		scx_bpf_kick_cpu(faster_wanting(wanted), SCX_KICK_IDLE);
}

/* A thread that has run for long, beside another one of the same core, goes to an idle core; whether it does. */
static __noinline int faster_leave_core(struct task_struct *p, u32 cpu)
{
	return idle_may_part(cpu) && may_run_everywhere(p) && !cpu_runs_noise(cpu) &&
	       faster_leave_for(cpu, faster_idle_core(cpu));
}

/*
 * A thread on a CPU that interrupts or heat slow down goes to an idle one that is not, of the same line first, and no slower; whether it
 * does. Where real-time threads come and go there is no need: as they come it goes elsewhere.
 */
static __noinline int faster_leave_slowed(struct task_struct *p, u32 cpu)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	s32 kind, found = -1;

	if (bctx->wanted_by || idle_none() || !may_run_everywhere(p))
		return 0;
	if (nr_kinds < 2)
		found = idle_pick_line(bctx->line);
	for_range(kind, 0, MAX_KINDS) {
		if (found >= 0 || kind > bctx->kind)
			break;
		found = place_pick_from(kind, smt ? SCX_PICK_IDLE_CORE : 0);
	}
	return faster_leave_for(cpu, found);
}

#endif /* __TANDEM_PLACE_FASTER_H */
