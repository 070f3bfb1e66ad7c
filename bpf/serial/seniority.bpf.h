/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When, among parallel applications: the senior first (Morad et al., section VII).
 *
 * Two or more applications of which each could fill the machine would only mix in its caches. The one that has been
 * parallel for longest is the senior for seniority_ms, then the next one. The paper has such a timeout and does not
 * say how long it is. Weights count: the turns are as long, on average, and each is in proportion to the weight of the
 * application's threads.
 *
 * Here an application takes part while it has threads for all CPUs: the last ones of a parallel phase compete with the
 * others' as before. In the paper it takes part from that moment until the phase ends (seniority_whole_phase).
 *
 * The paper boosts the senior and does not say by how much. Here the others of that size, the juniors, step back
 * behind everyone instead: to them that is the same, and applications too small to fill the machine do not starve. The
 * senior runs on the juniors' time, too: it is charged as one thread of the weights of all, so that against third
 * parties all keep their share. Time is looked at when threads stop, and at each tick, as a thread that nothing waits
 * behind does not stop: no timer has to run.
 *
 * Where run queues are sorted there is no senior: threads of one program are mostly alike, and CPUs that run one
 * program alone are what sorting avoids.
 */
#ifndef __TANDEM_SERIAL_SENIORITY_H
#define __TANDEM_SERIAL_SENIORITY_H

#include "../state/phase.bpf.h"
#include "../queues/line.bpf.h"

enum {
	/* Groups that are watched; others that fill the machine are normal. */
	NR_SLOTS = 64,
	/* ns. */
	SENIORITY_CYCLE = (u64)SENIORITY_CYCLE_S * NSEC_PER_SEC,
};

/* A group that has had enough threads to fill the machine. */
struct seniority_slot {
	/* 0: free. */
	u32 tgid;
	/*
	 * 1 while it takes part: while it fills the machine, counted, as CPUs may do it in any order; or from then on until
	 * its phase ends.
	 */
	s32 full;
	/* Of the thread with which it filled the machine, 1024 for nice 0. */
	u32 weight;
	u64 parallel_number;
};

struct seniority_slot seniority_slots[NR_SLOTS];

/* How many fill the machine. */
s32 nr_full;

/* The senior's group, or 0; since when it is, ns, and the number of its parallel phase. */
u32 senior;
u64 senior_since;
u64 senior_parallel_number;
/* How long its turn is, ns, and its part of the weights of all that fill the machine, in 65536ths. */
u64 senior_turn;
u64 senior_part;

static __always_inline struct seniority_slot *seniority_slot_of(struct group *group)
{
	u32 slot = group->serial.slot - 1;

	return slot < NR_SLOTS ? &seniority_slots[slot] : 0;
}

/* Gives a group a slot as soon as it has threads enough. */
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

/* Whether @slot comes before @best, of those that became parallel after @after first. */
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

/*
 * Makes the next group the senior, in the order in which they became parallel; @after: the last senior's number, or
 * 0.
 */
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
	/* Its threads that wait as juniors are normal from now on: this CPU sees to it when it dispatches. */
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

/* Whether it no longer takes part, and did before. */
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

/* The weight of a thread as the base counts it, with its control group's share. */
static __always_inline u32 seniority_weight_of(struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u64 weight = (u64)CREDIT_NS * WEIGHT_NICE_0 / ((tctx ? tctx->base.credit : 0) ?: CREDIT_NS);

	return weight ?: 1;
}

/* The group of a thread can fill the machine. */
static void seniority_full(struct task_struct *p, struct group *group)
{
	struct seniority_slot *slot = seniority_slot_of(group);
	u32 tgid = p->tgid;

	if (!slot || !seniority_enters(slot))
		return;
	slot->weight = seniority_weight_of(p);
	if (__sync_fetch_and_add(&nr_full, 1) >= 1 && !senior && !(active & SORTED))
		seniority_choose(0);
	else if (senior)
		seniority_weigh();
	/* Another CPU may have seen the phase end before this one came here. */
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

/*
 * Passes seniority on when its time is over; whether it did. Several CPUs may see it at once; then the last one's choice
 * stands.
 */
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

/* What a thread's run is charged: the senior's passes on time that the juniors do not use. */
static __always_inline u64 seniority_charge(struct task_struct *p, u64 ran)
{
	return senior && senior == p->tgid && nr_full > 1 ? (ran * senior_part) >> 16 : ran;
}

/* A thread of a parallel application that is not the senior while another one is. */
static __always_inline bool is_junior(struct task_struct *p, struct group *group, s32 ready)
{
	struct seniority_slot *slot = seniority_slot_of(group);

	if (!senior || senior == p->tgid || !slot)
		return false;
	return seniority_whole_phase ? slot->full > 0 : ready >= phase_full;
}

#endif /* __TANDEM_SERIAL_SENIORITY_H */
