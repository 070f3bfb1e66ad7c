/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU: the longest job on the fastest CPU (Lakshminarayana & Kim, LJFPF).
 *
 * Of the threads of a group, as many as there are CPUs of the fastest kind wish one of these, the longest threads first; the others wish
 * the slow ones. A wish is not an order: no CPU is idle while a thread waits. A thread also counts as long while all others of its
 * parallel program wait for it, and while it has a lock that others wait for (the paper's own suggestion).
 */
#ifndef __TANDEM_LONGEST_LONGEST_H
#define __TANDEM_LONGEST_LONGEST_H

#include "../place/kind.bpf.h"
#include "../queues/line.bpf.h"
#include "learn.bpf.h"
#include "locks.bpf.h"

enum {
	/* The shortest time between two threads that give way to longer ones on a CPU, ns. */
	SWAP_PERIOD = 10 * NSEC_PER_MSEC,
	/* A lock whose mean holding time is shorter than this moves no thread, ns: a move to another cache takes as long. */
	HOLD_WORTH = 50 * NSEC_PER_USEC,
};

static void longest_init(void)
{
	if (longest || all)
		longest_state = nr_kinds > 1 ? TANDEM_STATE_ACTIVE : TANDEM_STATE_ONE_KIND;
	if (longest_state != TANDEM_STATE_ACTIVE)
		return;
	active |= LONGEST;
	length_init();
}

/*
 * Whether a thread is being handed a lock as it wakes, which longest_woken() notes only after the CPU is chosen. If so, another thread of
 * its group lets it go, but not all threads, and that thread has not ended a round.
 */
static bool longest_gets_lock(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_ctx *wakers;

	if (tctx->ready || waker->tgid != p->tgid || waker->pid == p->pid || !(wakers = task_of(waker)))
		return false;
	return !wakers->longest.opened && wakers->longest.round == group->longest.round &&
	       phase_ready(tctx, group) < group->nr_threads;
}

/*
 * Whether a thread has a lock that others wait for, or is being handed it, and the group holds its locks for long enough to pay for a
 * move.
 */
static bool longest_holds(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	return group->longest.hold >= HOLD_WORTH && (tctx->longest.holder || longest_gets_lock(p, tctx, group));
}

/* The wish of a thread of a group. A thread that may not run everywhere wishes nothing. */
static enum wish longest_wish_in(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	struct longest_task *job = &tctx->longest;

	if (!may_run_everywhere(p) || is_system_task(p, tctx))
		return WISH_ANY;
	if (longest_holds(p, tctx, group) || (phase_ready(tctx, group) <= 1 && phase_has_been_parallel(group)))
		return WISH_FAST;
	if (job->generation != group->longest.generation) {
		job->generation = group->longest.generation;
		job->wish = roster_wish(p, job->at);
	}
	return job->wish;
}

static enum wish longest_wish(struct task_struct *p, struct task_ctx *tctx)
{
	struct group *group = group_of(p, tctx);

	return group ? longest_wish_in(p, tctx, group) : WISH_ANY;
}

/* Whether a CPU runs a thread of the group that should not have the CPU; ranks may have changed since the thread began to run. */
static bool longest_gives_way(struct task_struct *p, struct group *group, u32 cpu, u64 now)
{
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (!cctx->pid || cctx->tgid != p->tgid || cctx->claimed || base_cpu_of(cpu)->wanted_by || cctx->rank == RANK_SERIAL)
		return false;
	if (!cctx->isolate.takes_applications || now - cctx->swapped_at < SWAP_PERIOD)
		return false;
	if (cctx->longest.generation != group->longest.generation) {
		cctx->longest.generation = group->longest.generation;
		cctx->longest.is_long = roster_wish(p, cctx->longest.job_at) == WISH_FAST;
	}
	return !cctx->longest.is_long;
}

/* A CPU of the fastest kind whose thread is of the same group and shorter than @p, and gives way. Negative: there is none. */
static s32 longest_swap(struct task_struct *p, struct group *group)
{
	u64 now = bpf_ktime_get_ns();
	s32 at;

	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];
		struct cpu_ctx *cctx = cpu_of(cpu);

		if (cctx->kind)
			break;
		if (!longest_gives_way(p, group, cpu, now))
			continue;
		cctx->claimed = true;
		cctx->swapped_at = now;
		count(TANDEM_STAT_LONGEST_SWAPPED);
		return cpu;
	}
	return -1;
}

/*
 * A CPU of the fastest kind for a long thread: an idle one, or one with a shorter thread of its group. The shorter thread gives way
 * (SCX_ENQ_PREEMPT in @flags), and finds the CPU that the long thread leaves. Negative: there is none.
 */
static s32 longest_place(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu, u64 *flags)
{
	s32 cpu = place_pick_wished(p, 0, prev_cpu);
	struct group *group;

	if (cpu >= 0 || !(group = group_of(p, tctx)))
		return cpu;
	cpu = longest_swap(p, group);
	if (cpu >= 0)
		*flags |= SCX_ENQ_PREEMPT;
	return cpu;
}

/* Enters a thread into its group's roster, with the known length, as soon as the group has other threads. */
static void longest_enter(struct task_struct *p, struct longest_task *job, struct group *group)
{
	u32 pid = p->pid;
	u64 *hint;

	if (!job->at && (job->left_out || group->nr_threads < 2))
		return;
	if (!job->at && !roster_enter(p, job, group)) {
		job->left_out = true;
		return;
	}
	if (job->hinted)
		return;
	hint = bpf_map_lookup_elem(&relative_lengths, &pid);
	if (hint && *hint) {
		job->hinted = true;
		job->length = *hint;
		count(TANDEM_STAT_LONGEST_HINTED);
	} else if (!job->length && learn_lengths) {
		job->length = learn_recall(p, job);
		job->smoothed = job->length;
		if (job->length)
			count(TANDEM_STAT_LONGEST_RECALLED);
	} else {
		return;
	}
	if (job->length)
		roster_set(p, job, group, job->length);
}

/* Takes the length that a thread's creator has given in advance, as the paper's programs do (section VI): for one thread only. */
static void longest_created(struct task_struct *p, struct longest_task *job, struct group *group)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	u32 key = creator->pid | NEXT_THREAD;
	u64 *length;

	if (!job->at || creator->tgid != p->tgid || creator->pid == p->pid)
		return;
	length = bpf_map_lookup_elem(&relative_lengths, &key);
	if (!length)
		return;
	job->length = *length;
	job->hinted = true;
	bpf_map_delete_elem(&relative_lengths, &key);
	count(TANDEM_STAT_LONGEST_HINTED);
	roster_set(p, job, group, job->length);
}

static void longest_init_task(struct task_struct *p, struct task_ctx *tctx, struct group *group, bool is_new)
{
	longest_enter(p, &tctx->longest, group);
	if (is_new)
		longest_created(p, &tctx->longest, group);
}

static void longest_leave(struct task_struct *p, struct longest_task *job, struct group *group)
{
	u32 pid = p->pid, next = p->pid | NEXT_THREAD, tgid = p->tgid;

	if (learn_lengths && !job->hinted && job->at)
		learn_round(p, job, group);
	roster_leave(p, job, group);
	locks_leave(p, group);
	if (job->hinted)
		bpf_map_delete_elem(&relative_lengths, &pid);
	bpf_map_delete_elem(&relative_lengths, &next);
	job->hinted = false;
	if (group->nr_threads <= 1)
		bpf_map_delete_elem(&rosters, &tgid);
}

static void longest_exit_task(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	longest_leave(p, &tctx->longest, group);
}

/*
 * A thread wakes another one of its group: the sleeper's round is over. In an interrupt the interrupted task is taken for the waker. If
 * that is of the same group by chance, a round ends early.
 */
static void longest_woken(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct longest_task *job = &tctx->longest;
	struct task_ctx *wakers;

	if (waker->tgid != p->tgid || waker->pid == p->pid || !(wakers = task_of(waker)))
		return;
	locks_count(p, tctx, group);
	/* Threads that take turns hand on a lock: there are no rounds, and the holder is on a fast CPU already. */
	if (locks_has(p->tgid))
		return;
	if (learn_lengths)
		learn_release(waker, wakers, group);
	if (wakers->longest.holder)
		group->longest.hold = (group->longest.hold * 7 + bpf_ktime_get_ns() - wakers->started) / 8;
	wakers->longest.holder = false;
	if (learn_lengths && job->round != group->longest.round)
		learn_round(p, job, group);
	/*
	 * Not all threads are woken, and the waker is not the last thread of a round: the waker has released a lock, and others wait for
	 * it.
	 */
	job->holder = !wakers->longest.opened && phase_ready(tctx, group) < group->nr_threads;
	if (job->holder)
		count(TANDEM_STAT_LONGEST_LOCK_HOLDERS);
}

static void longest_runnable(struct task_struct *p, struct task_ctx *tctx, struct group *group, u64 enq_flags)
{
	if (is_system_task(p, tctx))
		return;
	longest_enter(p, &tctx->longest, group);
	if (tctx->longest.at && enq_flags & SCX_ENQ_WAKEUP)
		longest_woken(p, tctx, group);
}

static void longest_quiescent(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	tctx->longest.holder = false;
	tctx->longest.opened = false;
	locks_quiescent(p, group);
	/* The exiting thread's place is freed here for the next round's thread. The kernel removes the thread only later. */
	if (p->flags & PF_EXITING)
		longest_leave(p, &tctx->longest, group);
}

static void longest_stopping(struct task_struct *p, struct task_ctx *tctx, u64 ran)
{
	struct longest_task *job = &tctx->longest;
	struct group *group;
	u64 now;

	if (!learn_lengths || job->hinted || !job->at || !(group = group_of(p, tctx)))
		return;
	now = bpf_ktime_get_ns();
	learn_count(job, now - ran, now);
	if (group->nr_ready > 1)
		job->counts = true;
}

/* Sends the thread that runs on @from to a faster CPU, which a shorter thread of its group leaves to it. */
static void longest_exchange(u32 from, u32 to)
{
	base_cpu_of(from)->wanted_by = (to + 1) | WANTED_IN_TURN;
	scx_bpf_kick_cpu(from, SCX_KICK_PREEMPT);
}

/* A short thread begins to run on a fast CPU while a long one of its group runs on a slow one: they change places. */
static void longest_give_way(struct task_struct *p, struct cpu_ctx *here, u32 to)
{
	u64 now = bpf_ktime_get_ns();
	s32 at;

	if (here->claimed || now - here->swapped_at < SWAP_PERIOD)
		return;
	for_range(at, 0, nr_cpus) {
		u32 cpu = cpus_by_speed[at & (MAX_CPUS - 1)];
		struct cpu_ctx *cctx = cpu_of(cpu);

		if (!cctx->kind || cctx->tgid != p->tgid || !cctx->pid || !cctx->longest.is_long || base_cpu_of(cpu)->wanted_by)
			continue;
		here->claimed = true;
		here->swapped_at = now;
		count(TANDEM_STAT_LONGEST_SWAPPED);
		longest_exchange(cpu, to);
		return;
	}
}

/*
 * Notes facts of a thread that begins to run, for other CPUs. If the thread is on the wrong kind of CPU, because others were quicker, it
 * changes places now. Earlier the threads on the CPUs were not known.
 */
static void longest_running(struct task_struct *p, struct task_ctx *tctx, struct cpu_ctx *cctx)
{
	s32 here = bpf_get_smp_processor_id(), fast;
	struct group *group;
	enum wish wish;

	if (locks_running(p, tctx, cctx))
		return;
	group = group_of(p, tctx);
	/* A program's first thread was alone when it woke, and may never sleep again. */
	if (!tctx->longest.at && group && !is_system_task(p, tctx))
		longest_enter(p, &tctx->longest, group);
	wish = group ? longest_wish_in(p, tctx, group) : WISH_ANY;
	cctx->longest.is_long = wish == WISH_FAST;
	cctx->longest.job_at = tctx->longest.at;
	cctx->longest.generation = tctx->longest.generation;
	if (wish == WISH_ANY || nr_kinds < 2)
		return;
	if (wish != WISH_FAST) {
		if (!cctx->kind)
			longest_give_way(p, cctx, here);
		return;
	}
	if (!cctx->kind) {
		count(TANDEM_STAT_LONGEST_ON_FAST);
		return;
	}
	fast = group ? longest_swap(p, group) : -1;
	if (fast >= 0)
		longest_exchange(here, fast);
}

#endif /* __TANDEM_LONGEST_LONGEST_H */
