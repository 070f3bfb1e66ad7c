/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Before whom a serial phase goes: ten levels of priority, and no more (Morad et al., section VII).
 *
 * A level is a nice value. The paper takes ten off a thread's priority: a thread of nice 19 stays behind threads of nice
 * 0. Here a serial phase goes first where it is lighter than the threads that CPUs run, on average, by less than ten
 * levels; else it waits as any other thread. A group's weight counts as a nice value does.
 */
#ifndef __TANDEM_SERIAL_LEVELS_H
#define __TANDEM_SERIAL_LEVELS_H

#include "../state/bits.bpf.h"
#include "../queues/line.bpf.h"

enum {
	/* A level is a factor of 1.25 of weight. They are counted in 32nds of a doubling, by straight lines between doublings. */
	LEVELS_SHIFT = 5,
	/* Ten levels are 103, nine 93; the lines are off by 3 at most. */
	LEVELS_TEN = 98,
};

/* The sum of the levels of what each CPU ran last that was in no serial phase. CPUs change it at the same time. */
s32 levels_sum;

/* The level of a thread by what sleep saves up for it, which is in inverse proportion to its weight: 32 for half of the weight. */
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

/* A thread begins to run that is in no serial phase: one that counted itself would raise itself. */
static __always_inline void levels_running(struct cpu_ctx *cctx, struct base_task *task)
{
	if (cctx->serial.credit != task->credit)
		levels_change(cctx, task->credit);
}

/* Whether the serial phase of a thread of this level goes before what CPUs run. */
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
