/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns on faster CPUs. With as many busy threads as CPUs no task waits, and the first threads to come would keep the fast CPUs for good.
 * So a thread whose CPU is too slow for it changes places with a thread that has had a faster CPU for long.
 */
#ifndef __TANDEM_PLACE_FASTER_H
#define __TANDEM_PLACE_FASTER_H

#include "steal.bpf.h"

enum {
	/* How long a thread has a CPU before it changes places, ns: long against the cost of cold caches. */
	TURN_NS = 24 * NSEC_PER_MSEC,
	/* When to look again at a faster CPU whose thread keeps the CPU now, ns. */
	TURN_AGAIN_NS = 2 * NSEC_PER_MSEC,
	/* A thread that shares its core for longer than this goes to a core of its own, ns. */
	SHARE_NS = 8 * NSEC_PER_MSEC,
};

/*
 * Whether a faster CPU's thread keeps the CPU whichever task waits. A thread may have come to a serial phase while it ran; serial phases
 * take turns with each other.
 */
static __always_inline bool faster_keeps(struct base_cpu *bctx, struct base_cpu *waiting)
{
	bool serial = cpu_of(bctx->number)->rank == RANK_SERIAL;

	return bctx->keeps || (serial && (!serial_turns || cpu_of(waiting->number)->rank != RANK_SERIAL));
}

/*
 * The faster CPU whose thread has run there for longest, and for TURN_NS at least. Negative: there is none, and @waiting does not look
 * again until there can be one. A hardware thread of a busy faster core is no better than a core of its own.
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
		/* A CPU that is slowed down still stands among the faster CPUs in cpus_by_speed. An idle CPU takes misfits by itself. */
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

/* Gives a thread on a slower CPU its turn on a faster one; returns whether the thread gets a turn. */
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

/* An idle core of the fastest @kinds kinds. Negative: there is none. */
static __noinline s32 faster_idle_faster(u32 kinds)
{
	s32 kind, found;

	/* This is the most frequent case, and takes half of the loop's instructions. */
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
 * An idle core: in the same line where CPUs are equal, else the fastest. The fastest idle core may be slower than @cpu, since two
 * hardware threads of a core seldom do a third more work than one. Negative: no core is idle.
 */
static s32 faster_idle_core(u32 cpu)
{
	u32 line = line_of(cpu);

	if (nr_kinds < 2)
		return cpu_set_pick(bpf_map_lookup_elem(&line_sets, &line), SCX_PICK_IDLE_CORE);
	return faster_idle_faster(nr_kinds);
}

/* Sends a CPU's running thread to the CPU @idle when the thread leaves; returns whether @idle is a CPU. */
static __always_inline int faster_leave_for(u32 cpu, s32 idle)
{
	if (idle < 0)
		return 0;
	base_cpu_of(cpu)->wanted_by = (u32)(idle + 1) | WANTED_CLAIMED;
	return 1;
}

/* Sends a thread whose CPU is too slow to an idle core that is faster; returns whether the thread goes. */
static __noinline int faster_go_up(u32 cpu)
{
	return !base_cpu_of(cpu)->wanted_by && faster_leave_for(cpu, faster_idle_faster(base_cpu_of(cpu)->kind));
}

/* The CPU that wants a thread. A result that is no CPU's number means no CPU. */
static __always_inline u32 faster_wanting(u32 wanted)
{
	return (wanted & ~(WANTED_IN_TURN | WANTED_CLAIMED)) - 1;
}

/* The thread does not come. If a CPU waits for it, that CPU counts as busy, and the kick makes the CPU go idle anew. */
static __always_inline void faster_let_go(u32 wanted)
{
	if (wanted & WANTED_CLAIMED)
		scx_bpf_kick_cpu(faster_wanting(wanted), SCX_KICK_IDLE);
}

/* Sends a thread that has long shared its core with another thread to an idle core; returns whether the thread goes. */
static __noinline int faster_leave_core(struct task_struct *p, u32 cpu)
{
	return idle_may_part(cpu) && may_run_everywhere(p) && !cpu_runs_noise(cpu) &&
	       faster_leave_for(cpu, faster_idle_core(cpu));
}

/*
 * Sends a thread away from a CPU that interrupts or heat slow down, to an idle CPU that is not slowed down and no slower, in the same
 * line first. Returns whether the thread goes. Where real-time threads come and go a thread need not leave: it goes elsewhere as they
 * come.
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
