/* SPDX-License-Identifier: GPL-2.0-only */
/* An idle CPU for a task that wakes: its last CPU, then one nearby, or, where CPUs differ, the fastest. */
#ifndef __TANDEM_PLACE_IDLE_H
#define __TANDEM_PLACE_IDLE_H

#include "kind.bpf.h"
#include "pressure.bpf.h"

bool bpf_cpumask_empty(const struct cpumask *cpumask) __ksym;

enum {
	NO_CPU = 0xffff,
	/*
	 * This value or less, which no error code is: the task waits for a CPU that will be idle soon. The CPU is IDLE_WAITS minus the
	 * value.
	 */
	IDLE_WAITS = -0x10000,
	/* A CPU that would have been idle for no longer than this has no time for a slower CPU's task, ns. */
	IDLE_MOMENT_NS = NSEC_PER_MSEC / 2,
};

/* Whether a core's other hardware thread @sibling is busy, and, with @part, at least one CPU is idle. */
static __always_inline bool idle_is_beside(u32 sibling, bool part)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	bool beside = !bpf_cpumask_test_cpu(sibling, idle) && !(part && bpf_cpumask_empty(idle));

	scx_bpf_put_idle_cpumask(idle);
	return beside;
}

/* Whether the core's other hardware thread is busy. */
static __always_inline bool idle_shares_core(u32 cpu)
{
	u32 sibling = base_cpu_of(cpu)->sibling;

	return sibling != NO_SIBLING && idle_is_beside(sibling, false);
}

/* Whether the other hardware thread is busy on a core of two, and at least one CPU is idle. */
static __always_inline bool idle_may_part(u32 cpu)
{
	return idle_is_beside(base_cpu_of(cpu)->sibling, true);
}

/* The line in which the next new thread begins. */
u32 next_line;

/* Whether no CPU at all is idle. Then a search among some CPUs is needless. */
static __always_inline bool idle_none(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	bool none = bpf_cpumask_empty(idle);

	scx_bpf_put_idle_cpumask(idle);
	return none;
}

/* Lines in the order in which new threads get them. Packages take turns, so that each gets as many threads. */
static __always_inline u32 idle_line_at(u32 number)
{
	u32 packages = nr_packages ?: 1;

	return nr_lines % packages ? number : number % packages * (nr_lines / packages) + number / packages;
}

/*
 * An idle core for a new thread, in the next line after the last new thread's. Threads that are spread make the best use of caches and
 * memory, as in the fair class (sched_balance_find_dst_cpu). Negative: the line has no idle core.
 */
static __noinline s32 idle_pick_spread(void)
{
	u32 line = idle_line_at(__sync_fetch_and_add(&next_line, 1) % (nr_lines ?: 1));

	if (idle_none())
		return -1;
	return cpu_set_pick(bpf_map_lookup_elem(&line_sets, &line), smt ? SCX_PICK_IDLE_CORE : 0);
}

/* A CPU for a new thread where no CPU is idle. Lines take turns, and so do the CPUs of a line. */
static __noinline s32 idle_spread_waiting(void)
{
	struct line *line = line_at(idle_line_at(next_line % (nr_lines ?: 1)));

	return line_cpus[(line->first + __sync_fetch_and_add(&line->next, 1) % (line->nr_cpus ?: 1)) & (MAX_CPUS - 1)];
}

/* An idle CPU of a line, of an idle core first. Negative: the line has no idle CPU. */
static __noinline s32 idle_pick_line(u32 line)
{
	struct cpu_set *cpus = bpf_map_lookup_elem(&line_sets, &line);
	s32 cpu = smt ? cpu_set_pick(cpus, SCX_PICK_IDLE_CORE) : -1;

	return cpu >= 0 ? cpu : cpu_set_pick(cpus, 0);
}

/* An idle CPU of a machine with several lines and equal CPUs. */
static __always_inline s32 idle_pick_near(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *tctx;
	s32 cpu;

	if (wake_flags & SCX_WAKE_FORK && may_run_everywhere(p)) {
		cpu = idle_pick_spread();
		if (cpu >= 0)
			return cpu;
	} else if (gather_may() && may_run_everywhere(p) && (tctx = task_of(p))) {
		cpu = gather_find(&tctx->base, prev_cpu);
		if (cpu >= 0)
			return cpu;
	}
	/*
	 * The last CPU is taken even where the core's other hardware thread is busy: otherwise threads that leave a barrier would all
	 * change places. faster_leave_core moves a thread that shares its core for long.
	 */
	if (scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	if (idle_none())
		return -1;
	if (may_run_everywhere(p)) {
		cpu = idle_pick_line(line_of(prev_cpu));
		if (cpu >= 0)
			return cpu;
	}
	cpu = smt ? scx_bpf_pick_idle_cpu(p->cpus_ptr, SCX_PICK_IDLE_CORE) : -1;
	return cpu >= 0 ? cpu : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
}

/*
 * A function of its own, so that the verifier follows the variable that counts kinds: it does not follow memory from which a key is read.
 */
static __noinline s32 idle_pick_kind(u32 kind, u64 flags)
{
	return place_pick_from(kind, flags);
}

/*
 * An idle CPU of the fastest kind that has one: the CPU @prev, if it is of this kind and idle, else any of the kind. NO_CPU: any. The
 * kernel picks a different CPU each time, which is the one that has slept longest and most deeply.
 */
static s32 idle_pick_fastest(u32 prev, u64 flags)
{
	u32 kind, prev_kind = prev < nr_cpus ? base_cpu_of(prev)->kind : MAX_KINDS;
	s32 cpu;

	for (kind = 0; kind < MAX_KINDS && kind < nr_kinds; kind++) {
		if (kind == prev_kind && scx_bpf_test_and_clear_cpu_idle(prev))
			return prev;
		cpu = idle_pick_kind(kind, flags);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

/* Whether a task does as well on a CPU as on a faster one. */
static __always_inline bool idle_suits(struct task_struct *p, struct base_cpu *bctx)
{
	struct task_ctx *tctx;

	if (!bctx->kind)
		return true;
	return bctx->has_clock && (tctx = task_of(p)) && util_fits(util_to_place(&tctx->base), bctx);
}

/*
 * An idle CPU of the kind on which a task costs least, its last CPU first. The task may also wait for a CPU of this kind (IDLE_WAITS).
 * Negative above IDLE_WAITS: there is none.
 */
static s32 idle_pick_by_energy(struct task_struct *p, s32 prev_cpu)
{
	struct task_ctx *tctx = task_of(p);
	s32 kind = tctx ? energy_kind_for(&tctx->base, prev_cpu) : -1, cpu;

	if (kind < 0)
		return -1;
	if (base_cpu_of(prev_cpu)->kind == kind && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	cpu = idle_pick_kind(kind, 0);
	if (cpu >= 0 || idle_none())
		return cpu;
	cpu = energy_soon_idle(kind);
	return cpu < 0 ? cpu : IDLE_WAITS - cpu;
}

/*
 * A task that needs a fast CPU wakes, and its last CPU took over another task a moment ago. The CPU would have been idle for a moment
 * only, as where threads wait for each other in turns. The task that the CPU took over then runs in place of the CPU's own task, not
 * beside it, and gets the CPU's usual clock.
 */
static __always_inline void idle_miss(struct base_cpu *bctx)
{
	if (bctx->pulled && bpf_ktime_get_ns() - bctx->began < IDLE_MOMENT_NS)
		bctx->pulled = false;
}

/*
 * An idle CPU of a machine with CPUs of several kinds. A hardware thread of a busy core is worth less than a slower core, and comes last.
 * A task for which a slower CPU is fast enough stays there where clocks follow utilisation: the kernel decides by energy there and only
 * there (sched_energy_present: with schedutil).
 */
static __always_inline s32 idle_pick_unequal(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool everywhere;
	s32 cpu;

	if (by_energy() && may_run_everywhere(p) && !(wake_flags & SCX_WAKE_FORK)) {
		cpu = idle_pick_by_energy(p, prev_cpu);
		if (cpu >= 0 || cpu <= IDLE_WAITS)
			return cpu;
		idle_miss(base_cpu_of(prev_cpu));
	}
	if (idle_suits(p, base_cpu_of(prev_cpu)) && !idle_shares_core(prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	if (idle_none())
		return -1;
	everywhere = may_run_everywhere(p);
	if (smt) {
		u32 prev = idle_shares_core(prev_cpu) || !place_likes(prev_cpu) ? NO_CPU : prev_cpu;

		cpu = everywhere ? idle_pick_fastest(prev, SCX_PICK_IDLE_CORE) : scx_bpf_pick_idle_cpu(p->cpus_ptr, SCX_PICK_IDLE_CORE);
		if (cpu >= 0)
			return cpu;
	}
	if (everywhere)
		return idle_pick_fastest(place_likes(prev_cpu) ? prev_cpu : NO_CPU, 0);
	if (scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	return scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
}

#endif /* __TANDEM_PLACE_IDLE_H */
