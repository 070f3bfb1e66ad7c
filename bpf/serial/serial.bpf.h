/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When: serial phases first, then seniority among parallel applications (Morad, Kolodny & Weiser, section VII).
 *
 * Threads in serial phases have a queue of their own, which every CPU looks into before its line. A serial thread takes the fastest CPU
 * at once from a thread that ranks lower, and keeps the CPU while no other serial thread waits. The paper's ten levels of priority do the
 * same in the scheduler that it changed. The time that serial phases may take from others is limited (share.bpf.h).
 */
#ifndef __TANDEM_SERIAL_SERIAL_H
#define __TANDEM_SERIAL_SERIAL_H

#include "claim.bpf.h"
#include "levels.bpf.h"
#include "share.bpf.h"
#include "../queues/line.bpf.h"

enum {
	/*
	 * How many waiting tasks are looked at when a group's rank changes. The ranks of the tasks behind change when they are queued
	 * again.
	 */
	PROMOTE_MAX = 512,
	/* By how much the deadline of a serial phase is before that of any task that wakes, ns of virtual time: the phase keeps its CPU. */
	SERIAL_FIRST_NS = 1ULL << 40,
};

static void serial_init(void)
{
	if (serial_first || all) {
		serial_first_state = TANDEM_STATE_ACTIVE;
		active |= SERIAL;
	}
	share_filled = bpf_ktime_get_ns();
	share_credit = share_of(SHARE_WINDOW);
	levels_init();
}

/* Whether a serial phase goes first, for a thread of this weight. */
static __always_inline bool serial_goes_first(struct task_ctx *tctx, struct group *group)
{
	if (!serial_single && !phase_has_been_parallel(group))
		return false;
	tctx->serial.light = !levels_suffice(levels_of(tctx->base.credit));
	return !tctx->serial.light;
}

/* The rank of a thread, by its group's phase, and among parallel groups by seniority. */
static enum rank serial_rank(struct task_struct *p, struct task_ctx *tctx)
{
	struct group *group;
	s32 ready;

	if (is_system_task(p, tctx) || !(group = group_of(p, tctx)))
		return RANK_NORMAL;
	ready = phase_ready(tctx, group);
	tctx->serial.light = false;
	if (ready <= (s32)serial_threshold)
		return serial_goes_first(tctx, group) ? RANK_SERIAL : RANK_NORMAL;
	return is_junior(p, group, ready) ? RANK_JUNIOR : RANK_NORMAL;
}

/*
 * A CPU for a thread in a serial phase: an idle one, or a faster one whose task gives way. In the latter case SCX_ENQ_PREEMPT is added to
 * @flags. Negative: there is none.
 */
static s32 serial_place(struct task_struct *p, s32 prev_cpu, u64 *flags)
{
	s32 cpu = place_pick_wished(p, 0, prev_cpu), victim = -1, kind;

	if (cpu >= 0)
		return cpu;
	if (share_is_spent())
		count(TANDEM_STAT_SERIAL_LIMITED);
	else
		victim = claim_find(p, MAX_KINDS);
	for_range(kind, 1, MAX_KINDS) {
		if (kind >= nr_kinds || (victim >= 0 && kind > cpu_of(victim)->kind))
			break;
		cpu = place_pick_wished(p, kind, prev_cpu);
		if (cpu >= 0)
			return cpu;
	}
	if (victim < 0)
		return -1;
	cpu_of(victim)->claimed = true;
	*flags |= SCX_ENQ_PREEMPT;
	count(TANDEM_STAT_SERIAL_PREEMPTED);
	return victim;
}

/*
 * Moves a thread that waited as a junior to the line where it ran, or, where CPUs are unequal, to that of the fastest CPU. The thread has
 * saved no time up: the last senior ran on its time (seniority_charge).
 */
static __always_inline void serial_promote_junior(struct bpf_iter_scx_dsq *it, struct task_struct *p, struct base_task *task)
{
	u32 number = line_of(scx_bpf_task_cpu(p));

	if (nr_kinds > 1 || number == LINE_APART || !line_at(number)->nr_cpus)
		number = common_line;
	line_enter(task, number);
	if (vtime_before(task->vtime, line_at(number)->vtime))
		task->vtime = line_at(number)->vtime;
	dsq_move_vtime(it, p, QUEUE_LINE | number, task->vtime + task->request);
}

/* Moves a waiting thread to the queue of its present rank. Runs in dispatch only. */
static void serial_promote_task(struct bpf_iter_scx_dsq *it, struct task_struct *p, u32 queue, u32 kind)
{
	struct task_ctx *tctx = task_of(p);
	enum rank rank = tctx ? serial_rank(p, tctx) : RANK_NORMAL;
	s32 cpu;

	if (rank == RANK_SERIAL) {
		/* This CPU takes the thread, unless there is a faster CPU. */
		cpu = share_is_spent() ? -1 : claim_find(p, kind);
		if (cpu >= 0 && dsq_move(it, p, SCX_DSQ_LOCAL_ON | cpu, SCX_ENQ_PREEMPT)) {
			cpu_of(cpu)->claimed = true;
			/* See insert_on. */
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		} else {
			dsq_move_vtime(it, p, QUEUE_SERIAL, line_place_in(common_line, p->scx.dsq_vtime, tctx->base.line));
		}
	} else if (rank == RANK_NORMAL && queue == QUEUE_JUNIOR && tctx) {
		serial_promote_junior(it, p, &tctx->base);
	} else {
		return;
	}
	count(TANDEM_STAT_SERIAL_PROMOTED);
}

/* Finds the waiting threads of a group whose rank has changed. Threads in sorted queues wait for their turn. */
static void serial_promote(u32 tgid, u32 queue, struct cpu_ctx *cctx)
{
	struct task_struct *p;

	cctx->serial.promote_seen = 0;
	for_queued(it, p, queue) {
		if (p->tgid == tgid)
			serial_promote_task(&it, p, queue, cctx->kind);
		if (++cctx->serial.promote_seen >= PROMOTE_MAX)
			break;
	}
}

/* Finds these threads in the base's lines. A function of its own, so that the verifier follows it once. */
__noinline int serial_promote_in_lines(u32 tgid, u32 cpu)
{
	s32 number;

	for_range(number, 0, nr_lines)
		if (scx_bpf_dsq_nr_queued(QUEUE_LINE | number))
			serial_promote(tgid, QUEUE_LINE | number, cpu_of(cpu));
	return 0;
}

/* Lets a serial thread whose slice is over go on while no other serial thread waits. */
static bool serial_keeps(u32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	struct task_ctx *tctx;

	if (!is_queued(prev) || cctx->rank != RANK_SERIAL || base_cpu_of(cpu)->wanted_by)
		return false;
	tctx = task_of(prev);
	if (!tctx)
		return false;
	/* The thread's group may have become parallel meanwhile. */
	cctx->rank = serial_rank(prev, tctx);
	if (cctx->rank != RANK_SERIAL || scx_bpf_dsq_nr_queued(QUEUE_SERIAL))
		return false;
	share_spend(SLICE_NS);
	tctx->serial.paid += SLICE_NS;
	prev->scx.slice = SLICE_NS;
	count(TANDEM_STAT_SERIAL_KEPT);
	return true;
}

/* Gives a CPU a serial thread. Without credit serial threads run only when no other task wants the CPU. */
static bool serial_dispatch(s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *cctx = cpu_of(cpu);
	u32 tgid = cctx->serial.promote;

	if (tgid) {
		cctx->serial.promote = 0;
		serial_promote_in_lines(tgid, cpu);
		serial_promote(tgid, QUEUE_JUNIOR, cctx);
	}
	if (share_is_spent())
		return false;
	return serial_keeps(cpu, prev) || dsq_move_to_local(QUEUE_SERIAL);
}

/* Raises the last running threads of a group that becomes serial: they rank higher now, and slow CPUs pass them to faster ones. */
static void serial_raise_running(u32 tgid)
{
	s32 cpu, faster;

	for_range(cpu, 0, nr_cpus) {
		struct cpu_ctx *cctx = cpu_of(cpu);

		if (cctx->tgid != tgid || !cctx->pid || !levels_suffice(cctx->serial.level))
			continue;
		cctx->rank = RANK_SERIAL;
		base_cpu_of(cpu)->deadline = line_at(line_of(cpu))->vtime - SERIAL_FIRST_NS;
		if (!cctx->kind || base_cpu_of(cpu)->wanted_by || share_is_spent())
			continue;
		faster = claim_find(0, cctx->kind);
		if (faster < 0)
			continue;
		cpu_of(faster)->claimed = true;
		base_cpu_of(cpu)->wanted_by = (faster + 1) | WANTED_IN_TURN;
		count(TANDEM_STAT_SERIAL_RAISED);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

/* Acts on a change of phase. On equal CPUs no thread has to move. */
static void serial_phase_changed(struct task_struct *p, struct group *group, u32 change)
{
	u32 tgid = p->tgid;

	if (change & PHASE_BECAME_PARALLEL) {
		count(TANDEM_STAT_SERIAL_PARALLEL_PHASES);
		seniority_parallel(group);
	}
	if (change & PHASE_BECAME_FULL)
		seniority_full(p, group);
	if (change & (seniority_whole_phase ? PHASE_BECAME_SERIAL : PHASE_CEASED_FULL))
		seniority_ceased(group, tgid);
	if (!(change & PHASE_BECAME_SERIAL))
		return;
	count(TANDEM_STAT_SERIAL_PHASES);
	if (group->nr_ready <= 0)
		return;
	cpu_of(bpf_get_smp_processor_id())->serial.promote = tgid;
	if (nr_kinds > 1)
		serial_raise_running(tgid);
}

static __always_inline void serial_init_task(struct task_struct *p, struct group *group)
{
	seniority_join(group, p->tgid);
}

/* At a tick: passes seniority on when its time is over. A thread that has become a junior since the last tick gives way. */
static __noinline int serial_tick(struct task_struct *p)
{
	struct cpu_ctx *cctx = cpu_of(bpf_get_smp_processor_id());
	struct task_ctx *tctx;

	if (seniority_pass_on())
		p->scx.slice = 0;
	if (cctx->serial.known_senior == senior)
		return 0;
	cctx->serial.known_senior = senior;
	tctx = task_of(p);
	if (!tctx || tctx->base.idles || cctx->rank != RANK_NORMAL || serial_rank(p, tctx) != RANK_JUNIOR)
		return 0;
	cctx->rank = RANK_JUNIOR;
	p->scx.slice = 0;
	return 0;
}

static void serial_stopping(struct task_ctx *tctx, struct cpu_ctx *cctx, u64 ran)
{
	if (cctx->rank == RANK_SERIAL && ran > tctx->serial.paid)
		share_spend(ran - tctx->serial.paid);
	tctx->serial.paid = 0;
	seniority_pass_on();
}

#endif /* __TANDEM_SERIAL_SERIAL_H */
