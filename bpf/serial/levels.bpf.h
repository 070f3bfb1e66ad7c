/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which threads a serial phase goes before: by ten levels of priority, and no more (Morad et al., section VII).
 *
 * A level is a nice value. The paper takes ten off a thread's priority, so that a thread of nice 19 stays behind threads of nice 0. Here
 * a serial phase goes first if it is lighter than the threads that CPUs run, on average, by less than ten levels. Otherwise it waits as
 * any other thread. A group's weight counts as a nice value does.
 */
#ifndef __TANDEM_SERIAL_LEVELS_H
#define __TANDEM_SERIAL_LEVELS_H

#include "../state/bits.bpf.h"
#include "../queues/line.bpf.h"

enum {
	/* A level is a factor of 1.25 of weight. Levels are counted in 32nds of a doubling, by straight lines between doublings. */
	LEVELS_SHIFT = 5,
	/* Ten levels are 103, nine are 93; the straight lines are off by 3 at most. */
	LEVELS_TEN = 98,
};

/* The sum over all CPUs of the level of the last thread that was in no serial phase. CPUs change it at the same time. */
s32 levels_sum;

/* The level of a thread by its credit, which is in inverse proportion to its weight: half of the weight adds 32. */
static __noinline s32 levels_of(u64 credit)
{
	u64 below = credit | 1;
	u32 top;

	below |= below >> 1;
	below |= below >> 2;
	below |= below >> 4;
	below |= below >> 8;
	below |= below >> 16;
	below |= below >> 32;
	top = lowest_bit(below - (below >> 1));
	return (top << LEVELS_SHIFT) + (((credit << (63 - top)) << 1) >> (64 - LEVELS_SHIFT));
}

/* Notes another level for this CPU's thread. */
static __noinline int levels_change(struct cpu_ctx *cctx, u64 credit)
{
	s32 level = levels_of(credit);

	__sync_fetch_and_add(&levels_sum, level - cctx->serial.level);
	cctx->serial.level = level;
	cctx->serial.credit = credit;
	return 0;
}

/* A thread in no serial phase begins to run. Threads in serial phases do not count: they would raise themselves. */
static __always_inline void levels_running(struct cpu_ctx *cctx, struct base_task *task)
{
	if (cctx->serial.credit != task->credit)
		levels_change(cctx, task->credit);
}

/* Whether the serial phase of a thread of this level goes before the threads that CPUs run. */
static __always_inline bool levels_suffice(s32 level)
{
	return (level - LEVELS_TEN) * (s32)nr_cpus < levels_sum;
}

static void levels_init(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		levels_change(cpu_of(cpu), CREDIT_NS);
}

#endif /* __TANDEM_SERIAL_LEVELS_H */
