/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines: each last-level cache has a queue of tasks by virtual deadline, a queue of tasks of the idle class, and a virtual clock. */
#ifndef __TANDEM_QUEUES_LINE_H
#define __TANDEM_QUEUES_LINE_H

#include "../state/cpu.bpf.h"
#include "sets.bpf.h"

enum {
	MAX_LINES = 256,
	/* The line of CPUs that take no tasks of applications (isolate=dedicated). */
	LINE_APART = MAX_LINES - 1,
	/* Queues (queue.bpf.h has those of the mechanisms): of a line; of a line's idle class; of one CPU. */
	QUEUE_LINE = 1 << 20,
	QUEUE_LINE_IDLE = 1 << 21,
	QUEUE_PINNED = 1 << 22,
	/*
	 * Two lines count as having the same time while their clocks are no farther apart than this, ns, or than this many times a task's
	 * credit.
	 */
	SAME_NS = 256 * NSEC_PER_MSEC,
	SAME_CREDITS = 8,
};

struct line {
	/* The virtual time of the task that began to run with the most, ns for nice 0. */
	u64 vtime;
	/* The same among the line's tasks of the idle class; and the virtual time of the idle class as a whole, on the scale of `vtime`. */
	u64 idle_vtime;
	u64 idle_class_vtime;
	/* The line's CPUs, which stand in line_cpus from `first` on, and the sum of their performance. */
	u32 nr_cpus;
	u32 first;
	u32 placed;
	/* Counts up: selects the CPU of the next new thread that has to wait. */
	u32 next;
	u32 performance;
	/* The mean performance of the CPUs. */
	u32 speed;
	/* Counts tasks that wake and wait. CPUs may count at the same time and lose a step; only a change of the count matters. */
	u32 arrivals;
	/* How many of the waiting tasks woke, and have not used up a slice. */
	s32 nr_woken;
	/* How many of the CPUs run a thread that goes on whichever task waits (mechanisms/ranked.bpf.h). */
	s32 nr_held;
} __attribute__((aligned(64)));

struct line lines[MAX_LINES];
u32 nr_lines;
/* The CPUs, line by line. */
u16 line_cpus[MAX_CPUS];

/* The line of the fastest CPU for applications. Tasks of all lines that wait in one queue go by this line's clock. */
u8 common_line;

struct base_cpu base_cpus[MAX_CPUS];

/* CPUs that are about to go offline, or have gone (hotplug.bpf.h). */
bool gone[MAX_CPUS];

static __always_inline struct line *line_at(u32 number)
{
	return &lines[number & (MAX_LINES - 1)];
}

static __always_inline struct base_cpu *base_cpu_of(u32 cpu)
{
	return &base_cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline u32 line_of(u32 cpu)
{
	return base_cpu_of(cpu)->line;
}

/* The virtual clock that a task goes by. */
static __always_inline u64 *line_clock(struct base_task *task, struct line *line)
{
	return task->idles ? &line->idle_vtime : &line->vtime;
}

/* Converts a place in the line @from to one in the line @to. */
static __always_inline u64 line_place_in(u32 to, u64 place, u32 from)
{
	return place + line_at(to)->vtime - line_at(from)->vtime;
}

static __noinline void line_change(struct base_task *task, u32 number)
{
	s64 apart = *line_clock(task, line_at(number)) - *line_clock(task, line_at(task->line));

	if (task->idles || apart < 0 || (apart > SAME_NS && apart > task->credit * SAME_CREDITS))
		task->vtime += apart;
	task->line = number;
	if (task->set_key)
		set_enter(task, number);
}

/*
 * Moves a task to another line. The task keeps its virtual time, so that in a line whose clock is ahead it makes up for the time that it
 * has had less than others. The task keeps its distance to the clock instead where the other clock is behind, as the task would lose
 * time, and where the clocks are too far apart to compare.
 */
static __always_inline void line_enter(struct base_task *task, u32 number)
{
	if (task->line != number)
		line_change(task, number);
}

/* Whether a task of the idle class waits in a line. */
static __always_inline bool line_idle_waits(u32 number)
{
	return nr_idle_class > 0 && scx_bpf_dsq_nr_queued(QUEUE_LINE_IDLE | number) > 0;
}

/* How many CPUs of a line have turns for waiting tasks. */
static __always_inline u32 line_turning(struct line *line)
{
	s32 held = line->nr_held;

	return held > 0 && held <= (s32)line->nr_cpus ? line->nr_cpus - held : line->nr_cpus;
}

static __always_inline u32 line_random_cpu(struct line *line)
{
	return line_cpus[(line->first + bpf_get_prandom_u32() % (line->nr_cpus ?: 1)) & (MAX_CPUS - 1)];
}

/*
 * Bounds by @most how far a task is behind a clock at @now, which is the time that sleep saves up, and how far the task is ahead. A task
 * is ahead because it has run where the waiting tasks may not run, and owes them nothing.
 */
static __always_inline void line_bound_by(struct base_task *task, u64 now, s64 most)
{
	s64 behind = now - task->vtime;

	if (behind > most)
		task->vtime = now - most;
	else if (behind < -most)
		task->vtime = now + most;
}

/* Bounds a task's distance to the clock of a line by its credit. */
static __always_inline void line_bound(struct base_task *task, struct line *line)
{
	line_bound_by(task, *line_clock(task, line), task->credit);
}

/* A task's run time since it woke, with @ran more, ns. More than a second makes no difference. */
static __always_inline u32 line_run(struct base_task *task, u64 ran)
{
	ran += task->ran;
	return ran < NSEC_PER_SEC ? ran : NSEC_PER_SEC;
}

/*
 * Advances virtual time to a task that begins to run, but not beyond @latest, the place of the waiting task that is due first: that task
 * would lose the time that it is behind. If another CPU undoes a step, the next step makes up for it.
 */
static __always_inline void line_advance(struct base_task *task, struct line *line, u64 latest)
{
	u64 *clock = line_clock(task, line), reached = vtime_before(latest, task->vtime) ? latest : task->vtime;

	if (vtime_before(*clock, reached))
		*clock = reached;
}

/* Bounds the time that sleep has saved up, or advances virtual time. At most one of the two is needed when a task begins to run. */
static __always_inline void line_begin(struct base_task *task, struct line *line, u64 latest)
{
	u64 now = *line_clock(task, line);
	s64 behind = now - task->vtime;

	if (behind < 0)
		line_advance(task, line, latest);
	else if (behind > task->credit)
		task->vtime = now - task->credit;
}

/* A CPU goes idle, or has tasks of the idle class only. */
static __always_inline void line_goes_idle(struct base_cpu *bctx)
{
	if (bctx->idle_since)
		return;
	bctx->idle_since = bpf_ktime_get_ns();
	bctx->idle_clock = line_at(bctx->line)->vtime;
}

/*
 * The CPU is busy again. A task of nice 0 could have run there meanwhile, and the clock advances to where that task would be. Otherwise
 * the clocks of lines with idle CPUs would fall behind others for good, and would no longer tell which line owes a turn.
 */
static __noinline int line_stops_idling(struct base_cpu *bctx)
{
	struct line *line = line_at(bctx->line);
	u64 reached = bctx->idle_clock + (bpf_ktime_get_ns() - bctx->idle_since);

	bctx->idle_since = 0;
	if (vtime_before(line->vtime, reached))
		line->vtime = reached;
	return 0;
}

/* A task begins to run on a CPU. */
static __always_inline void line_hears_begin(struct base_task *task, struct base_cpu *bctx)
{
	if (task->idles)
		line_goes_idle(bctx);
	else if (bctx->idle_since)
		line_stops_idling(bctx);
}

/* How long a task may run while @waiting tasks wait in a line, ns. */
static __always_inline u64 line_slice(struct line *line, u32 waiting)
{
	u64 slice = SLICE_MOST;

	if (waiting > line->nr_cpus)
		slice = slice * line->nr_cpus / waiting;
	return slice > SLICE_LEAST ? slice : SLICE_LEAST;
}

/* Counts the CPUs of each line. The counters are in memory, where the verifier does not follow them through every round. */
static void line_count_cpus(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		u32 number = facts_of(cpu)->llc & (MAX_LINES - 1), sibling = facts_of(cpu)->sibling;

		if (!cpu_of(cpu)->isolate.takes_applications)
			number = LINE_APART;
		base_cpu_of(cpu)->number = cpu;
		base_cpu_of(cpu)->line = number;
		base_cpu_of(cpu)->sibling = smt && sibling < nr_cpus ? sibling : NO_SIBLING;
		base_cpu_of(cpu)->capacity = facts_of(cpu)->capacity;
		base_cpu_of(cpu)->kind = cpu_of(cpu)->kind;
		line_at(number)->nr_cpus++;
		line_at(number)->performance += facts_of(cpu)->performance;
		if (number >= nr_lines && number != LINE_APART)
			nr_lines = number + 1;
	}
}

/* Gives each line its places in `line_cpus`, and fills these. */
static void line_init(void)
{
	s32 number, cpu;

	line_count_cpus();
	for_range(number, 1, nr_lines)
		line_at(number)->first = line_at(number - 1)->first + line_at(number - 1)->nr_cpus;
	for_range(cpu, 0, nr_cpus) {
		struct line *line = line_at(line_of(cpu));

		line_cpus[(line->first + line->placed++) & (MAX_CPUS - 1)] = cpu;
		line->speed = line->performance / (line->nr_cpus ?: 1);
		line_goes_idle(base_cpu_of(cpu));
	}
}

static s32 line_create(u32 number)
{
	return scx_bpf_create_dsq(QUEUE_LINE | number, -1) ?: scx_bpf_create_dsq(QUEUE_LINE_IDLE | number, -1);
}

static s32 line_create_queues(void)
{
	s32 number, err = line_create(LINE_APART);

	if (err)
		return err;
	for_range(number, 0, nr_lines) {
		err = number == LINE_APART ? 0 : line_create(number);
		if (err)
			return err;
	}
	for_range(number, 0, nr_cpus) {
		err = scx_bpf_create_dsq(QUEUE_PINNED | number, -1);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __TANDEM_QUEUES_LINE_H */
