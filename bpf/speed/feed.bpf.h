/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * speed: no more threads at a time than the memory can feed (Morad et al., section IX, future work: threads wait that need more of a
 * resource than is free, and CPUs idle, which saves power).
 *
 * While a node's memory moves as much as it can, each further thread that waits for memory slows the others down and keeps a CPU busy. The
 * mechanism lets one thread fewer run. If the memory moves as much in the next epoch, it lets one fewer run again. If not, the last thread
 * comes back, and the next attempt is later. Threads that may not run wait for their turns, by virtual time. As soon as the memory moves
 * less than it can, one more thread may run in each epoch, until all do.
 *
 * A thread waits for memory if it does so for half of its time. The mechanism holds no thread where the memory's bandwidth is unknown, nor
 * where CPUs are unequal: there the saving depends on which CPUs idle (hikey960 took 6 % more energy).
 */
#ifndef __TANDEM_SPEED_FEED_H
#define __TANDEM_SPEED_FEED_H

#include "../clocks/counters.bpf.h"
#include "../place/kind.bpf.h"
#include "../queues/waiting.bpf.h"

enum {
	/* An epoch, ns; and its first part, ns, which is not measured, as threads change places in it. */
	FEED_EPOCH = 200 * NSEC_PER_MSEC,
	FEED_SETTLES = 40 * NSEC_PER_MSEC,
	/* An attempt fails if the memory moves less by more than a 32nd. It ends before the epoch does if the memory moves less by an eighth. */
	FEED_LOSS_SHIFT = 5,
	FEED_FAILS_SHIFT = 3,
	/* How long the mechanism rests after an attempt that failed, ns: twice as long each time, up to a limit. */
	FEED_REST = 8ULL * NSEC_PER_SEC,
	FEED_REST_MOST = 64ULL * NSEC_PER_SEC,
	/* The memory is full for this many epochs before the first attempt. */
	FEED_PATIENCE = 5,
};

enum feed_stage {
	FEED_RESTS,
	/* The epoch with which the attempt is compared, and the attempt. */
	FEED_MEASURES,
	FEED_TRIES,
};

/* Threads that wait for the memory of a node. */
struct feed {
	/* How many run, and how many may; 0: all. */
	s32 nr_running;
	s32 most;
	enum feed_stage stage;
	/* MB/s that the memory moved before the last attempt; and for how many epochs it has been full. */
	u32 before;
	u32 full;
	/* Virtual time of the thread that had its turn with the most, ns for nice 0. */
	u64 vtime;
	/* When the epoch began, and from when it is measured, ns; 0: not yet. Transactions by then. */
	u64 since;
	u64 from;
	u64 moved;
	/* Until when nothing is tried, and for how long, ns. */
	u64 rests_until;
	u64 rest;
};

struct feed feeds[MAX_NODES];

static __always_inline u32 feed_node(u32 cpu)
{
	return facts_of(cpu)->node & (MAX_NODES - 1);
}

static __always_inline struct feed *feed_of(u32 cpu)
{
	return &feeds[feed_node(cpu)];
}

/* The queue of a node's threads that may not run yet. */
static __always_inline u64 feed_queue(u32 cpu)
{
	return QUEUE_FED + feed_node(cpu);
}

static __always_inline bool feed_is_on(void)
{
	return memory_turns && is_on(SPEED) && counters_work && nr_kinds == 1;
}

/* Whether this CPU's thread waits for memory for half of its time. */
static __always_inline bool feed_is_bound(u32 stall)
{
	return stall > ONE / 2;
}

/* Notes whether a CPU runs a thread that waits for memory. */
static __always_inline void feed_note(struct cpu_ctx *cctx, u32 cpu, bool bound)
{
	if (cctx->speed.bound_by_memory == bound)
		return;
	cctx->speed.bound_by_memory = bound;
	__sync_fetch_and_add(&feed_of(cpu)->nr_running, bound ? 1 : -1);
}

/* Whether a thread that is to run has to wait for its turn. */
static __always_inline bool feed_holds(struct task_struct *p, struct task_ctx *tctx, u32 cpu)
{
	struct feed *feed = feed_of(cpu);

	if (!feed->most || !feed_is_bound(tctx->counted.stall) || !tctx->counted.measured || !may_run_everywhere(p))
		return false;
	return feed->nr_running >= feed->most || scx_bpf_dsq_nr_queued(feed_queue(cpu)) > 0;
}

/* Whether one more thread may run, if the CPU's own leaves, where @leaves is so. */
static __always_inline bool feed_has_room(u32 cpu, bool leaves)
{
	struct feed *feed = feed_of(cpu);

	return !feed->most || feed->nr_running - leaves < feed->most;
}

/* Charges a thread for its turn, up to now. */
static __always_inline void feed_charge(struct task_struct *p, struct task_ctx *tctx, struct cpu_ctx *cctx)
{
	tctx->speed.vtime += (p->se.sum_exec_runtime - cctx->speed.turn_began) * WEIGHT_NICE_0 / weight_with_group(&tctx->base);
	cctx->speed.turn_began = p->se.sum_exec_runtime;
}

/* Queues a thread for its next turn. A thread that has slept saves up no more than a slice. */
static __always_inline void feed_insert(struct task_struct *p, struct task_ctx *tctx, u32 cpu)
{
	u64 least = feed_of(cpu)->vtime - SLICE_NS;

	if (vtime_before(tctx->speed.vtime, least))
		tctx->speed.vtime = least;
	dsq_insert_vtime(p, feed_queue(cpu), SLICE_NS, tctx->speed.vtime, 0);
}

/*
 * Whether the CPU's thread leaves for the first one that waits for its turn: not if it has had less, as it weighs more. It is charged first,
 * and else has another turn.
 */
static __noinline int feed_leaves(struct task_struct *prev, struct cpu_ctx *cctx, u32 cpu)
{
	struct task_ctx *tctx = task_of(prev);
	u64 first;

	cctx->speed.turn_over = false;
	if (!tctx || !waiting_first(cpu, feed_queue(cpu), &first))
		return false;
	feed_charge(prev, tctx, cctx);
	return vtime_before(first, tctx->speed.vtime);
}

/*
 * Gives a CPU the next thread that waits for its turn, if there is room for it; whether there was one. From now on it is counted as one that
 * runs: the thread that leaves the CPU finds no room.
 */
static __always_inline bool feed_take(struct cpu_ctx *cctx, u32 cpu, bool leaves)
{
	u64 queue = feed_queue(cpu);

	if (!scx_bpf_dsq_nr_queued(queue) || !feed_has_room(cpu, leaves) || !dsq_move_to_local(queue))
		return false;
	feed_note(cctx, cpu, true);
	cctx->speed.takes_turn = true;
	return true;
}

/* A CPU goes idle, or its thread stops. */
static __always_inline void feed_ends(struct cpu_ctx *cctx, u32 cpu)
{
	if (!cctx->speed.takes_turn)
		feed_note(cctx, cpu, false);
}

static __always_inline void feed_stops(struct task_struct *p, struct task_ctx *tctx, struct cpu_ctx *cctx, u32 cpu)
{
	if (cctx->speed.bound_by_memory)
		feed_charge(p, tctx, cctx);
	feed_ends(cctx, cpu);
}

/* A thread begins its turn. */
static __always_inline void feed_begins(struct task_struct *p, struct task_ctx *tctx, struct cpu_ctx *cctx, u32 cpu)
{
	struct feed *feed = feed_of(cpu);

	feed_note(cctx, cpu, tctx->counted.measured && feed_is_bound(tctx->counted.stall));
	if (cctx->speed.takes_turn && vtime_before(feed->vtime, tctx->speed.vtime))
		feed->vtime = tctx->speed.vtime;
	cctx->speed.takes_turn = cctx->speed.turn_over = false;
	cctx->speed.turn_began = p->se.sum_exec_runtime;
}

/*
 * Whether a thread has had its turn while others wait for theirs. With as many turns at a time as threads may run, and as many threads that
 * wait, all turns together are a round.
 */
static __always_inline bool feed_turn_is_over(struct task_struct *p, struct cpu_ctx *cctx, u32 cpu)
{
	s32 waiting = scx_bpf_dsq_nr_queued(feed_queue(cpu)), nr = feed_of(cpu)->nr_running;
	u64 turn = SLICE_NS;

	if (waiting <= 0)
		return false;
	if (nr > waiting)
		turn = turn * nr / waiting;
	return p->se.sum_exec_runtime - cctx->speed.turn_began >= turn;
}

/* Lets one thread more run: an idle CPU is woken to take it. */
static void feed_one_more(struct feed *feed, u32 waiting)
{
	s32 kind, cpu;

	feed->stage = FEED_RESTS;
	feed->most = waiting ? feed->most + 1 : 0;
	if (!waiting)
		return;
	for_range(kind, 0, MAX_KINDS) {
		cpu = kind < nr_kinds ? place_pick_from(kind, 0) : -1;
		if (cpu < 0)
			continue;
		scx_bpf_kick_cpu(cpu, 0);
		break;
	}
}

/* An attempt has failed: the next one is later. */
static __always_inline void feed_gives_up(struct feed *feed, u64 now)
{
	feed->rest = feed->rest && feed->rest < FEED_REST_MOST ? 2 * feed->rest : FEED_REST;
	feed->rests_until = now + feed->rest;
}

/*
 * What follows from an epoch in which the memory moved @rate MB/s, and at whose end @waiting threads waited for turns, and other tasks for
 * CPUs if @crowded: then no CPU idles, and an attempt saves nothing.
 */
static __noinline int feed_decide(struct feed *feed, u32 rate, u32 waiting, bool crowded)
{
	bool less = rate < feed->before - (feed->before >> FEED_LOSS_SHIFT);
	u32 known = counters_capacity();
	s32 nr = feed->most ?: feed->nr_running;
	u64 now = bpf_ktime_get_ns();

	feed->full = rate < known - known / 16 ? 0 : feed->full + 1;
	if (feed->most && (less || (feed->stage == FEED_TRIES && crowded))) {
		if (feed->stage == FEED_TRIES)
			feed_gives_up(feed, now);
		feed_one_more(feed, waiting);
	} else if (nr < 2 || now < feed->rests_until || feed->full < FEED_PATIENCE) {
		feed->stage = FEED_RESTS;
	} else if (feed->stage == FEED_RESTS) {
		feed->stage = FEED_MEASURES;
	} else {
		if (feed->stage == FEED_MEASURES)
			feed->before = rate;
		feed->stage = FEED_TRIES;
		feed->most = nr - 1;
	}
	return 0;
}

/* MB/s that the memory has moved in the measured part of the epoch. */
static __always_inline u32 feed_rate(struct feed *feed, struct node_memory *memory, u64 now)
{
	u64 length = now - feed->from;

	return length ? (memory->moved - feed->moved) * transaction_bytes * 1000 / length : 0;
}

/* Whether an attempt need not go on to the end of its epoch. */
static __always_inline bool feed_fails(struct feed *feed, struct node_memory *memory, u64 now)
{
	return feed->stage == FEED_TRIES && now - feed->from >= FEED_SETTLES &&
	       feed_rate(feed, memory, now) < feed->before - (feed->before >> FEED_FAILS_SHIFT);
}

/* A tick: the epoch may be over. */
static __noinline int feed_look(u32 cpu)
{
	struct node_memory *memory = memory_of(cpu);
	struct feed *feed = feed_of(cpu);
	u64 now = bpf_ktime_get_ns(), since = feed->since;
	u32 rate;

	if (now - since < FEED_SETTLES || !counters_capacity())
		return 0;
	if (!feed->from) {
		feed->moved = memory->moved;
		feed->from = now;
		return 0;
	}
	if (now - since < FEED_EPOCH && !feed_fails(feed, memory, now))
		return 0;
	/* One of the CPUs that come to this at the same time goes on. */
	if (__sync_val_compare_and_swap(&feed->since, since, now) != since)
		return 0;
	rate = memory->watched ? feed_rate(feed, memory, now) : memory->rate;
	feed_decide(feed, rate, scx_bpf_dsq_nr_queued(feed_queue(cpu)), scx_bpf_dsq_nr_queued(QUEUE_LINE | line_of(cpu)));
	feed->from = 0;
	memory->watched = feed->most || feed->stage != FEED_RESTS;
	return 0;
}

static s32 feed_init(void)
{
	s32 node, err;

	if (!memory_turns)
		return 0;
	for_range(node, 0, MAX_NODES) {
		err = scx_bpf_create_dsq(QUEUE_FED + node, -1);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __TANDEM_SPEED_FEED_H */
