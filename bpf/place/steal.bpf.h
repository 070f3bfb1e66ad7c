/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From line to line: a CPU takes what is owed a turn in another line, and whatever waits there if it has nothing to do; what wakes is
 * queued where fewer wait of two lines; a fast CPU takes from slow ones.
 */
#ifndef __TANDEM_PLACE_STEAL_H
#define __TANDEM_PLACE_STEAL_H

#include "choose.bpf.h"
#include "../queues/waiting.bpf.h"

enum {
	/* How many tasks are looked at in another line. */
	STEAL_MOST = 4,
};

static __always_inline u32 steal_random_line(void)
{
	return bpf_get_prandom_u32() % (nr_lines ?: 1);
}

/* How many wait in a line for each of its CPUs, of 1024 where all are as fast as the fastest; in 16ths. */
static __always_inline u64 steal_load(u32 number, u32 more)
{
	if (!line_turning(line_at(number)))
		return ~0ULL;
	return ((u64)scx_bpf_dsq_nr_queued(QUEUE_LINE | number) + more) * (16 * 1024) / (line_at(number)->performance ?: 1);
}

/* The line of several in which a task is to wait: its own, unless in another one, taken at random, far fewer do. */
static __noinline u32 steal_line_for(struct task_struct *p, u32 home)
{
	u32 other;

	if (scx_bpf_dsq_nr_queued(QUEUE_LINE | home) < line_turning(line_at(home)) || !may_run_everywhere(p))
		return home;
	other = steal_random_line();
	/* A quarter of a task less for each CPU, so that tasks do not change places for nothing. */
	return other != home && line_at(other)->nr_cpus && steal_load(other, line_at(other)->nr_cpus / 4) < steal_load(home, 0) ? other : home;
}

/*
 * A line that may owe turns more than others do, as a tick found. Tasks that wait for the fastest CPUs of several kinds do as much as others,
 * unless a serial phase holds these CPUs.
 */
u32 owing_line;

/* At a tick with something waiting: notes the CPU's line, if it is behind the one that is noted. */
static __always_inline void steal_note_owing(struct base_cpu *bctx)
{
	struct line *line = line_at(bctx->line);
	u32 noted = owing_line;

	if (noted == bctx->line || (bctx->has_slower && line_turning(line)))
		return;
	if (vtime_before(line->vtime, line_at(noted)->vtime) || !scx_bpf_dsq_nr_queued(QUEUE_LINE | noted))
		owing_line = bctx->line;
}

/*
 * A line where what is about to go on is ahead of all by a quarter of what it takes at once, of one that is noted and one drawn at random;
 * else the CPU's own. A line's clock does not tell how far tasks are that may run on some CPUs only.
 */
static __always_inline u32 steal_behind(struct base_cpu *bctx, struct base_task *task)
{
	u32 other = steal_random_line(), least = task->request / 4, noted = owing_line;

	if (noted != bctx->line && vtime_before(line_at(noted)->vtime, line_at(other)->vtime) && scx_bpf_dsq_nr_queued(QUEUE_LINE | noted))
		other = noted;
	return task->set || vtime_before(line_at(other)->vtime + least, task->vtime) ? other : bctx->line;
}

/* Whether a task that waits is owed the turn of one that weighs no more, has @leeway, and is due at @place. */
static __always_inline bool steal_is_owed(struct task_struct *p, u64 place, u64 leeway, u64 apart)
{
	u64 own = waiting_leeway(p->scx.slice);
	struct task_ctx *tctx;

	/* It woke, and its slice does not tell. */
	if (!own) {
		tctx = task_of(p);
		if (!tctx)
			return false;
		own = waiting_leeway(tctx->base.slice);
	}
	if (own > leeway || !vtime_before(p->scx.dsq_vtime + own, place))
		return false;
	/* Clocks are coarse beside what weighs much: that may only wait for the end of a lighter thread's turn, in its own line. */
	return own == leeway || vtime_before(p->scx.dsq_vtime + own / 2 + apart, place);
}

/* Whether threads of equal weight do as much in another line as in a CPU's own, since that one's CPUs are faster. */
static __always_inline bool steal_is_as_much(struct base_cpu *bctx, u32 other)
{
	struct line *line = line_at(other);

	return bctx->has_others && much_faster(line->speed, line_at(bctx->line)->speed) && line_turning(line);
}

/* Takes one of the first that wait in another line, if that is owed the turn; whether there was one. */
static __noinline int steal_due(struct base_cpu *bctx, u32 other, u64 place, u64 leeway)
{
	u64 apart = line_at(bctx->line)->vtime - line_at(other)->vtime;
	struct task_struct *p;
	bool taken = false;
	u32 step = 0;

	bpf_rcu_read_lock();
	for_queued(it, p, QUEUE_LINE | other) {
		if (!vtime_before(p->scx.dsq_vtime, place) || ++step > STEAL_MOST)
			break;
		if (!may_run_on(p, bctx->number) || !steal_is_owed(p, place, leeway, apart))
			continue;
		taken = dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
		break;
	}
	bpf_rcu_read_unlock();
	return taken;
}

/* A CPU in whose line nothing waits takes from another one: that one's time holds here, too. */
static __always_inline bool steal_from(struct base_cpu *bctx, u32 other)
{
	struct line *line = line_at(bctx->line);
	u64 now = line_at(other)->vtime;

	if (!dsq_move_to_local(QUEUE_LINE | other))
		return false;
	if (vtime_before(line->vtime, now))
		line->vtime = now;
	return true;
}

/* Takes the first task that waits in one of two lines, the longer first, or where another CPU has said. */
static __noinline int steal_from_lines(struct base_cpu *bctx)
{
	u32 home = bctx->line, one, other, at_one, at_other;

	if (bctx->look_at && steal_from(bctx, bctx->look_at - 1))
		return true;
	one = steal_random_line();
	other = home + 1 < nr_lines ? home + 1 : 0;
	at_one = scx_bpf_dsq_nr_queued(QUEUE_LINE | one);
	at_other = scx_bpf_dsq_nr_queued(QUEUE_LINE | other);
	if (!at_other)
		return at_one && steal_from(bctx, one);
	if (at_one && steal_load(one, 0) >= steal_load(other, 0) && steal_from(bctx, one))
		return true;
	return steal_from(bctx, other) || (at_one && steal_from(bctx, one));
}

/* The same of the idle class, where nothing else waits. */
static __noinline int steal_idle_class(struct base_cpu *bctx)
{
	u32 home = bctx->line, at = bctx->look_at, one = steal_random_line();

	bctx->look_at = 0;
	if (at && dsq_move_to_local(QUEUE_LINE_IDLE | (at - 1)))
		return true;
	if (line_idle_waits(one) && dsq_move_to_local(QUEUE_LINE_IDLE | one))
		return true;
	one = home + 1 < nr_lines ? home + 1 : 0;
	return line_idle_waits(one) && dsq_move_to_local(QUEUE_LINE_IDLE | one);
}

/* How much a CPU's thread deserves a faster one, by what mechanisms say of it. */
static __always_inline u32 steal_merit(struct cpu_ctx *cctx)
{
	return cctx->rank == RANK_SERIAL ? 3 : cctx->longest.is_long ? 2 : 1;
}

/* The first word that says of a misfit; on machines of up to 64 CPUs there is no other. */
static __always_inline u32 steal_misfit_word(void)
{
	s32 word;

	if (nr_cpus <= 64 || misfit_cpus[0])
		return 0;
	for_range(word, 1, (nr_cpus + 63) / 64) {
		if (misfit_cpus[word & (MAX_CPUS / 64 - 1)])
			return word & (MAX_CPUS / 64 - 1);
	}
	return 0;
}

/* The CPU that is so many in cpus_by_speed before the last one. */
static __always_inline struct base_cpu *steal_at(u32 slowness)
{
	return base_cpu_of(cpus_by_speed[(nr_cpus - 1 - slowness) & (MAX_CPUS - 1)]);
}

/* The CPU of the slowest kind below @kind whose thread may come from there. None: 0. */
static __always_inline struct base_cpu *steal_find_misfit(u32 kind)
{
	u32 word = steal_misfit_word();
	u64 bits = misfit_cpus[word];
	struct base_cpu *bctx;

	if (!bits)
		return 0;
	bctx = steal_at(word * 64 + lowest_bit(bits));
	/* It goes already: the next one. */
	if (bctx->wanted_by && bits & (bits - 1))
		bctx = steal_at(word * 64 + lowest_bit(bits & (bits - 1)));
	return bctx->misfit && bctx->kind > kind && !bctx->wanted_by ? bctx : 0;
}

/* The same by merit, where mechanisms know of some. */
static __always_inline struct base_cpu *steal_find_best(u32 kind)
{
	struct base_cpu *best = 0;
	u32 merit = 0;
	s32 at;

	for_range(at, 0, nr_cpus) {
		struct base_cpu *bctx = steal_at(at);

		if (bctx->kind <= kind)
			break;
		if (!bctx->misfit || bctx->wanted_by || steal_merit(cpu_of(bctx->number)) <= merit)
			continue;
		best = bctx;
		merit = steal_merit(cpu_of(bctx->number));
	}
	return best;
}

/* Makes a thread that a slower CPU is too slow for come to @cpu, which is about to be idle. */
__noinline int steal_misfit(s32 cpu)
{
	u32 kind = base_cpu_of(cpu)->kind;
	struct base_cpu *from;

	if (idle_shares_core(cpu) || !place_likes(cpu))
		return 0;
	from = is_asked(LONGEST | SERIAL) ? steal_find_best(kind) : steal_find_misfit(kind);
	if (!from)
		return 0;
	from->wanted_by = cpu + 1;
	count(TANDEM_STAT_PULL_ASKED);
	scx_bpf_kick_cpu(from->number, SCX_KICK_PREEMPT);
	return 0;
}

#endif /* __TANDEM_PLACE_STEAL_H */
