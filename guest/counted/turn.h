/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Computing in a guest whose CPUs take turns and whose time is counted in instructions: a CPU gives up its turn by PAUSE
 * (guest/counted/boot).
 */
#ifndef TURN_H
#define TURN_H

#include <time.h>

/* A turn; what the kernel does between two is shorter than LOST_NS - TURN_NS beside a dozen other CPUs. */
#define TURN_NS 4000LL
/* From the end of a turn to that of the next. If it took longer, another thread ran here meanwhile. */
#define LOST_NS 150000LL

static inline long long monotonic_ns(void)
{
	struct timespec time;

	/* Without a system call, by which the kernel would look at what runs, and could end a slice between ticks. */
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Two instructions a round, and then the others' turns. */
static inline void turn(long insn_ns)
{
	long rounds = TURN_NS / (2 * insn_ns);

	__asm__ volatile("1: dec %0\n\tjnz 1b\n\tpause" : "+r"(rounds));
}

/* So much time on a CPU, as the kernel counts it: with the other CPUs' turns, without other threads. */
static inline void compute(long long ns, long insn_ns)
{
	long long before = monotonic_ns(), after;

	for (; ns > 0; before = after) {
		turn(insn_ns);
		after = monotonic_ns();
		if (after - before < LOST_NS)
			ns -= after - before;
	}
}

static inline _Noreturn void compute_for_ever(long insn_ns)
{
	for (;;)
		turn(insn_ns);
}

#endif
