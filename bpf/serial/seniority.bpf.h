/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When, among parallel applications: the senior first (Morad et al., section VII).
 *
 * Two or more applications that could each fill the machine would only mix in its caches. The application that has been parallel for
 * longest is the senior for seniority_ms, then the next one. The paper has a timeout of this kind and does not say how long it is.
 * Weights count: seniority_ms is the mean length of the turns, and each turn is in proportion to the weight of the application's threads.
 *
 * Here an application takes part while it has threads for all CPUs: the last threads of a parallel phase compete with other applications'
 * threads as before. In the paper an application takes part from that moment until the phase ends (seniority_whole_phase).
 *
 * The paper boosts the senior and does not say by how much. Here the other applications of that size, the juniors, step back behind all
 * tasks instead. To the juniors that is the same, and applications too small to fill the machine do not starve. The senior runs on the
 * juniors' time, too: it is charged as one thread of the weights of all, so that third parties keep their share. The time of a turn is
 * checked when threads stop, and at each tick, as a thread without waiting tasks behind it does not stop. No timer has to run.
 *
 * Where run queues are sorted there is no senior: threads of one program are mostly alike, and sorting avoids CPUs that run one program
 * alone.
 */
#ifndef __TANDEM_SERIAL_SENIORITY_H
#define __TANDEM_SERIAL_SENIORITY_H

#include "../state/phase.bpf.h"
#include "../queues/line.bpf.h"

enum {
	/* Groups that are watched; other groups that fill the machine are normal. */
	NR_SLOTS = 64,
	/* ns. */
	SENIORITY_CYCLE = (u64)SENIORITY_CYCLE_S * NSEC_PER_SEC,
};

/* A group that has had enough threads to fill the machine. */
struct seniority_slot {
	/* 0: free. */
	u32 tgid;
	/*
	 * Above 0 while the group takes part. Normally this counts entries less exits, as CPUs may see these in any order. With
	 * seniority_whole_phase it is 1 from the first entry until the phase ends.
	 */
	s32 full;
	/* The weight of the thread with which the group filled the machine, 1024 for nice 0. */
	u32 weight;
	u64 parallel_number;
};

struct seniority_slot seniority_slots[NR_SLOTS];

/* How many groups fill the machine. */
s32 nr_full;

/* The senior's group, or 0; since when it is the senior, ns; and the number of its parallel phase. */
u32 senior;
u64 senior_since;
u64 senior_parallel_number;
/* The length of the senior's turn, ns; and its part of the weights of all groups that fill the machine, in 65536ths. */
u64 senior_turn;
u64 senior_part;

static __always_inline struct seniority_slot *seniority_slot_of(struct group *group)
{
	u32 slot = group->serial.slot - 1;

	return slot < NR_SLOTS ? &seniority_slots[slot] : 0;
}

/* Gives a group a slot as soon as it has enough threads. */
static void seniority_join(struct group *group, u32 tgid)
{
	u32 at;

	if (group->nr_threads < phase_full || group->serial.slot)
		return;
	for_range(at, 0, NR_SLOTS) {
		struct seniority_slot *slot = &seniority_slots[at & (NR_SLOTS - 1)];

		if (slot->tgid || __sync_val_compare_and_swap(&slot->tgid, 0, tgid))
			continue;
		/* Two threads may be made at once: the second gives its slot back. */
		if (__sync_val_compare_and_swap(&group->serial.slot, 0, at + 1))
			slot->tgid = 0;
		else
			slot->parallel_number = group->parallel_number;
		return;
	}
	count(TANDEM_STAT_SERIAL_SENIORITY_CROWDED);
}

/* Whether @slot comes before @best. Groups that became parallel after @after come first. */
static __always_inline bool seniority_before(struct seniority_slot *slot, struct seniority_slot *best, u64 after)
{
	bool slot_later = slot->parallel_number > after, best_later = best->parallel_number > after;

	if (slot_later != best_later)
		return slot_later;
	return slot->parallel_number < best->parallel_number;
}

/* Works out the senior's part and turn. Each application has a turn within SENIORITY_CYCLE. */
static __noinline int seniority_weigh(void)
{
	struct serial_cpu *sums = &cpu_of(bpf_get_smp_processor_id())->serial;
	u64 turns = (u64)seniority_ms * NSEC_PER_MSEC * (nr_full > 0 ? (u32)nr_full : 1);
	s32 at;

	sums->weights = sums->senior_weight = 0;
	for_range(at, 0, NR_SLOTS) {
		struct seniority_slot *slot = &seniority_slots[at & (NR_SLOTS - 1)];

		if (!slot->tgid || slot->full <= 0)
			continue;
		sums->weights += slot->weight;
		if (slot->tgid == senior)
			sums->senior_weight = slot->weight;
	}
	senior_part = (sums->senior_weight << 16) / (sums->weights ?: 1);
	senior_turn = ((turns < SENIORITY_CYCLE ? turns : SENIORITY_CYCLE) * senior_part) >> 16;
	return 0;
}

/* Makes the next group the senior, in the order in which groups became parallel; @after: the last senior's number, or 0. */
static void seniority_choose(u64 after)
{
	struct seniority_slot *best = 0;
	u32 at;

	for_range(at, 0, NR_SLOTS) {
		struct seniority_slot *slot = &seniority_slots[at & (NR_SLOTS - 1)];

		if (slot->tgid && slot->full > 0 && (!best || seniority_before(slot, best, after)))
			best = slot;
	}
	if (!best)
		return;
	senior = best->tgid;
	senior_parallel_number = best->parallel_number;
	senior_since = bpf_ktime_get_ns();
	seniority_weigh();
	/* The new senior's threads that wait as juniors are normal from now on. This CPU moves them when it dispatches. */
	cpu_of(bpf_get_smp_processor_id())->serial.promote = senior;
	count(TANDEM_STAT_SERIAL_SENIOR);
}

/* A group became parallel. */
static __always_inline void seniority_parallel(struct group *group)
{
	struct seniority_slot *slot = seniority_slot_of(group);

	if (slot)
		slot->parallel_number = group->parallel_number;
}

/* Whether the group of a slot takes part from now on, and did not before. */
static __always_inline bool seniority_enters(struct seniority_slot *slot)
{
	if (seniority_whole_phase)
		return !__sync_val_compare_and_swap(&slot->full, 0, 1);
	__sync_fetch_and_add(&slot->full, 1);
	return true;
}

/* Whether the group of a slot no longer takes part, and did before. */
static __always_inline bool seniority_exits(struct seniority_slot *slot)
{
	if (seniority_whole_phase)
		return __sync_val_compare_and_swap(&slot->full, 1, 0);
	__sync_fetch_and_sub(&slot->full, 1);
	return true;
}

/* A group can no longer fill the machine, or its phase has ended, or it is gone. */
static void seniority_ceased(struct group *group, u32 tgid)
{
	struct seniority_slot *slot = seniority_slot_of(group);
	s32 before;

	if (!slot || !seniority_exits(slot))
		return;
	before = __sync_fetch_and_sub(&nr_full, 1);
	if (before <= 2)
		senior = 0;
	else if (senior == tgid)
		seniority_choose(0);
	else
		seniority_weigh();
}

/* The group of a thread can fill the machine. */
static void seniority_full(struct task_struct *p, struct group *group)
{
	struct seniority_slot *slot = seniority_slot_of(group);
	struct task_ctx *tctx;
	u32 tgid = p->tgid;

	if (!slot || !seniority_enters(slot))
		return;
	tctx = task_of(p);
	slot->weight = tctx ? weight_with_group(&tctx->base) : WEIGHT_NICE_0;
	if (__sync_fetch_and_add(&nr_full, 1) >= 1 && !senior && !(active & SORTED))
		seniority_choose(0);
	else if (senior)
		seniority_weigh();
	/* Another CPU may have seen the phase end before this CPU came here. */
	if (seniority_whole_phase && group->nr_ready <= (s32)serial_threshold)
		seniority_ceased(group, tgid);
}

/* The group has ended. */
static void seniority_leave(struct group *group, u32 tgid)
{
	struct seniority_slot *slot = seniority_slot_of(group);

	if (!slot)
		return;
	if (seniority_whole_phase)
		seniority_ceased(group, tgid);
	if (senior == tgid)
		senior = 0;
	slot->parallel_number = 0;
	slot->tgid = 0;
}

/* Passes seniority on when its time is over; returns whether it did. Several CPUs may do this at once; the last one's choice stands. */
static __always_inline bool seniority_pass_on(void)
{
	if (!senior)
		return false;
	/* Sorting begins with the first counters. */
	if (nr_full < 2 || active & SORTED) {
		senior = 0;
		return false;
	}
	if (bpf_ktime_get_ns() - senior_since < senior_turn)
		return false;
	seniority_choose(senior_parallel_number);
	return true;
}

/* The charge for a thread's run time. The senior is charged less, for the time that the juniors do not use. */
static __always_inline u64 seniority_charge(struct task_struct *p, u64 ran)
{
	return senior && senior == p->tgid && nr_full > 1 ? (ran * senior_part) >> 16 : ran;
}

/* Whether a thread is of a parallel application while another application is the senior. */
static __always_inline bool is_junior(struct task_struct *p, struct group *group, s32 ready)
{
	struct seniority_slot *slot = seniority_slot_of(group);

	if (!senior || senior == p->tgid || !slot)
		return false;
	return seniority_whole_phase ? slot->full > 0 : ready >= phase_full;
}

#endif /* __TANDEM_SERIAL_SENIORITY_H */
