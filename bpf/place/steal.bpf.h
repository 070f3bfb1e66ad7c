/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From line to line: a CPU takes tasks that are owed a turn in another line, and any waiting task of another line if it has no task to
 * run. A task that wakes is queued in the one of two lines where fewer tasks wait. A fast CPU takes running tasks from slow ones.
 */
#ifndef __TANDEM_PLACE_STEAL_H
#define __TANDEM_PLACE_STEAL_H

#include "choose.bpf.h"
#include "../queues/waiting.bpf.h"

enum {
	/* How many waiting tasks a CPU looks at in another line. */
	STEAL_MOST = 4,
};

static __always_inline u32 steal_random_line(void)
{
	return bpf_get_prandom_u32() % (nr_lines ?: 1);
}

/* How many tasks wait in a line for each of its CPUs, in 16ths. CPUs count by their performance, the fastest as one. */
static __always_inline u64 steal_load(u32 number, u32 more)
{
	if (!line_turning(line_at(number)))
		return ~0ULL;
	return ((u64)scx_bpf_dsq_nr_queued(QUEUE_LINE | number) + more) * (16 * 1024) / (line_at(number)->performance ?: 1);
}

/* The line in which a task is to wait, where there are several: its own, unless far fewer tasks wait in a line taken at random. */
static __noinline u32 steal_line_for(struct task_struct *p, u32 home)
{
	u32 other;

	if (scx_bpf_dsq_nr_queued(QUEUE_LINE | home) < line_turning(line_at(home)) || !may_run_everywhere(p))
		return home;
	other = steal_random_line();
	/* The other line must be shorter by a quarter of a task for each CPU, so that tasks do not change places for nothing. */
	return other != home && line_at(other)->nr_cpus && steal_load(other, line_at(other)->nr_cpus / 4) < steal_load(home, 0) ? other : home;
}

/*
 * A line that may owe more turns than others, as found at a tick. Lines of the fastest kind do not count, as their tasks get as much work
 * done as others, unless a serial phase holds these CPUs.
 */
u32 owing_line;

/* At a tick with a waiting task: notes the CPU's line, if that line's clock is behind the noted line's. */
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
 * A line whose tasks are behind the task that is about to go on, by a quarter of its request at least. The line is the noted one or one
 * drawn at random; else the CPU's own. A line's clock does not tell how far tasks are that may run on some CPUs only.
 */
static __always_inline u32 steal_behind(struct base_cpu *bctx, struct base_task *task)
{
	u32 other = steal_random_line(), least = task->request / 4, noted = owing_line;

	if (noted != bctx->line && vtime_before(line_at(noted)->vtime, line_at(other)->vtime) && scx_bpf_dsq_nr_queued(QUEUE_LINE | noted))
		other = noted;
	return task->set || vtime_before(line_at(other)->vtime + least, task->vtime) ? other : bctx->line;
}

/* Whether a waiting task is owed the turn of a task that weighs no more, has @leeway, and is due at @place. */
static __always_inline bool steal_is_owed(struct task_struct *p, u64 place, u64 leeway, u64 apart)
{
	u64 own = waiting_leeway(p->scx.slice);
	struct task_ctx *tctx;

	/* The task woke, and its slice does not tell its leeway. */
	if (!own) {
		tctx = task_of(p);
		if (!tctx)
			return false;
		own = waiting_leeway(tctx->base.slice);
	}
	if (own > leeway || !vtime_before(p->scx.dsq_vtime + own, place))
		return false;
	/*
	 * Clocks are coarse beside a task of great weight. That task may only be waiting for the end of a lighter thread's turn, in its
	 * own line.
	 */
	return own == leeway || vtime_before(p->scx.dsq_vtime + own / 2 + apart, place);
}

/* Whether threads of equal weight get as much done in another line as in a CPU's own, since the other line's CPUs are faster. */
static __always_inline bool steal_is_as_much(struct base_cpu *bctx, u32 other)
{
	struct line *line = line_at(other);

	return bctx->has_others && much_faster(line->speed, line_at(bctx->line)->speed) && line_turning(line);
}

/* Takes one of the first tasks that wait in another line, if the task is owed the turn; returns whether a task was taken. */
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

/* A CPU whose own line is empty takes a task from another line. That line's virtual time holds here, too. */
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

/* Takes the first waiting task of one of two lines, the longer one first, or of the line that another CPU has named. */
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

/* Takes a waiting task of the idle class from another line, where no other task waits. */
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

/* How much a CPU's thread deserves a faster CPU, by the mechanisms' knowledge of the thread. */
static __always_inline u32 steal_merit(struct cpu_ctx *cctx)
{
	return cctx->rank == RANK_SERIAL ? 3 : cctx->longest.is_long ? 2 : 1;
}

/* The first word of misfit_cpus that has a misfit; machines of up to 64 CPUs have one word only. */
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

/* The CPU with this slowness: the position in cpus_by_speed, counted from the slowest. */
static __always_inline struct base_cpu *steal_at(u32 slowness)
{
	return base_cpu_of(cpus_by_speed[(nr_cpus - 1 - slowness) & (MAX_CPUS - 1)]);
}

/* The slowest CPU of a slower kind than @kind whose thread may come from there. 0: there is none. */
static __always_inline struct base_cpu *steal_find_misfit(u32 kind)
{
	u32 word = steal_misfit_word();
	u64 bits = misfit_cpus[word];
	struct base_cpu *bctx;

	if (!bits)
		return 0;
	bctx = steal_at(word * 64 + lowest_bit(bits));
	/* This CPU's thread is leaving already: the next CPU. */
	if (bctx->wanted_by && bits & (bits - 1))
		bctx = steal_at(word * 64 + lowest_bit(bits & (bits - 1)));
	return bctx->misfit && bctx->kind > kind && !bctx->wanted_by ? bctx : 0;
}

/* The same search, by the threads' merit, where mechanisms know merits. */
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

/* Brings a misfit from a slower CPU to @cpu, which is about to go idle. */
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
