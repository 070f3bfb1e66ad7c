/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that wait for their control group's next period (cpu.max, queues/limits.bpf.h). They wait in one queue for all groups. A timer
 * looks through the queue when the first of these periods begins.
 *
 * Noise that isolation keeps on the OS CPU is charged, and never waits: there is little of it.
 */
#ifndef __TANDEM_BASE_HELD_H
#define __TANDEM_BASE_HELD_H

#include "enqueue.bpf.h"
#include "tasks.bpf.h"
#include "../queues/limits.bpf.h"

enum {
	QUEUE_HELD = 1 << 23,
	/* How many tasks the timer looks at, and how soon the timer fires again, ns. */
	HELD_LOOKS = 1 << 16,
	HELD_AGAIN_NS = NSEC_PER_MSEC,
};

struct held_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct held_timer);
	__uint(max_entries, 1);
} held_timers SEC(".maps");

/* For loaders (statistics.limited of tandem.toml): the queue where tasks wait for their groups' next periods. */
u64 held_queue = QUEUE_HELD;

/* When the timer fires, ns; 0: no timer is needed. */
u64 held_due;
/* While the timer looks: how many more tasks to look at, and the first end of a period found. Both are in memory for the verifier. */
u32 held_left;
u64 held_next;

/* Makes the timer fire at @at. */
static __noinline void held_arm(u64 at, u64 now)
{
	u32 only = 0;
	struct held_timer *timer = bpf_map_lookup_elem(&held_timers, &only);

	if (!timer || (held_due && !vtime_before(at, held_due)))
		return;
	held_due = at;
	bpf_timer_start(&timer->timer, vtime_before(now, at) ? at - now : HELD_AGAIN_NS, 0);
}

/* When a task may run, unless it is noise; 0: now. */
static __always_inline u64 held_until(struct task_struct *p, struct task_ctx *tctx, u64 now)
{
	return !tctx->base.cgroup || place_to_os(p, tctx) ? 0 : limit_until(tctx->base.cgroup, now);
}

/* Whether a task that wakes has to wait for a period, even if CPUs are idle. */
static __noinline int held_wakes(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);

	return tctx && held_until(p, tctx, bpf_ktime_get_ns());
}

/* Makes a task that is queued wait for its group's next period, if it must; returns whether it waits. */
static __noinline int held_takes(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u64 now = bpf_ktime_get_ns(), until;

	if (!tctx)
		return false;
	until = held_until(p, tctx, now);
	if (!until)
		return false;
	faster_let_go(tctx->base.go_to);
	tctx->base.go_to = 0;
	tctx->base.ran_on = false;
	/* While the task waits, others have its share of the parent groups. */
	base_counts_no_more(&tctx->base);
	util_hold(&tctx->base, now);
	count(TANDEM_STAT_BASE_LIMITED);
	dsq_insert(p, QUEUE_HELD, SLICE_LONE, 0);
	held_arm(until, now);
	return true;
}

/* At a tick: charges the running task, reads its limits, and stops it if they are used up. */
static __noinline void held_tick(struct task_struct *p)
{
	struct base_cpu *bctx = base_cpu_of(bpf_get_smp_processor_id());
	struct task_ctx *tctx = task_of(p);

	if (!tctx || !tctx->base.cgroup)
		return;
	limits_read(p, tctx->base.cgroup);
	if (!(active & LIMITS))
		return;
	limit_ran(p, &tctx->base, bctx);
	if (held_until(p, tctx, bpf_ktime_get_ns()))
		limit_stops(p, bctx);
}

/*
 * Whether an idle CPU suits a task that may run everywhere. The first search leaves out CPUs under pressure, CPUs whose core's other
 * hardware thread is busy, and the OS CPU.
 */
static __always_inline bool held_suits(u32 cpu, bool first)
{
	if (!cpu_of(cpu)->isolate.takes_applications)
		return false;
	return !first || (place_likes(cpu) && !base_cpu_of(cpu)->pressed && !idle_shares_core(cpu));
}

/*
 * The fastest idle CPU that suits; the CPU counts as busy from now on. Negative: there is none. The function is not static, so that the
 * verifier follows it once.
 */
__noinline int held_pick_fastest(bool first)
{
	s32 at;

	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];

		if (held_suits(cpu, first) && scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	}
	return -1;
}

/* Whether a CPU is fast enough for a task: one of the fastest, or, where clocks follow utilisation, any with enough performance. */
static __always_inline bool held_fits(struct base_task *task, struct base_cpu *bctx)
{
	return !bctx->kind || (bctx->has_clock && util_fits(util_to_place(task), bctx));
}

/*
 * An idle CPU for a released task that may run everywhere: its last CPU if that is fast enough, or one of the fastest. The timer holds
 * the RCU lock, which functions on sets of CPUs take as well, so they cannot be used. The kind of CPU on which the task costs least is
 * not sought: after the wait that is nearly always the fastest (util_release). Negative: there is none. The function is not static, so
 * that the verifier follows it once.
 */
__noinline int held_pick(struct base_task *task, u32 prev_cpu)
{
	s32 cpu;

	if (!task || idle_none())
		return -1;
	if (held_fits(task, base_cpu_of(prev_cpu)) && held_suits(prev_cpu, true) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	cpu = held_pick_fastest(true);
	return cpu >= 0 ? cpu : held_pick_fastest(false);
}

/* Releases a task that has waited: into its line, and an idle CPU is woken to take it, or into its CPU's own queue. */
static __always_inline void held_release(struct bpf_iter_scx_dsq *it, struct task_struct *p, struct base_task *task)
{
	u32 cpu = scx_bpf_task_cpu(p), near = place_is_confined() ? place_near(p, cpu) : cpu, number = line_of(near);

	if (!line_at(number)->nr_cpus)
		number = common_line;
	util_release(task, bpf_ktime_get_ns());
	base_counts(task);
	line_enter(task, number);
	vclock_bound(task, base_cpu_of(cpu));
	if (p->nr_cpus_allowed == 1 || must_stay(p)) {
		base_cpu_of(cpu)->has_pinned = true;
		dsq_move_vtime(it, p, QUEUE_PINNED | cpu, base_place_pinned(task, cpu));
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	dsq_move_vtime(it, p, (task->idles ? QUEUE_LINE_IDLE : QUEUE_LINE) | number, task->vtime + task->request);
	base_kick(may_run_everywhere(p) ? held_pick(task, near) : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0), number);
}

static int held_timer_fires(void *map, u32 *key, struct held_timer *timer)
{
	u64 now = bpf_ktime_get_ns();
	struct task_struct *p;

	held_due = held_next = 0;
	held_left = HELD_LOOKS;
	bpf_rcu_read_lock();
	for_queued(it, p, QUEUE_HELD) {
		struct task_ctx *tctx = task_of(p);
		u64 until;

		if (!held_left--)
			break;
		if (!tctx)
			continue;
		until = limit_until(tctx->base.cgroup, now);
		if (!until)
			held_release(&it, p, &tctx->base);
		else if (!held_next || vtime_before(until, held_next))
			held_next = until;
	}
	bpf_rcu_read_unlock();
	if (held_next)
		held_arm(held_next, now);
	return 0;
}

static s32 held_init(void)
{
	u32 only = 0;
	struct held_timer *timer = bpf_map_lookup_elem(&held_timers, &only);
	s32 err;

	if (!timer)
		return -EINVAL;
	err = scx_bpf_create_dsq(QUEUE_HELD, -1);
	if (err)
		return err;
	err = bpf_timer_init(&timer->timer, &held_timers, CLOCK_MONOTONIC);
	return err ?: bpf_timer_set_callback(&timer->timer, held_timer_fires);
}

#endif /* __TANDEM_BASE_HELD_H */
