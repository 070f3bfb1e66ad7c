/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Computing in a guest whose time is counted in instructions. Where its CPUs take turns, one gives up its turn by PAUSE
 * (guest/counted/boot).
 */
#ifndef TURN_H
#define TURN_H

#include <time.h>

/*
 * So many instructions, which an emulator translates as one and that do nothing there: a hundred times as fast as a loop of two
 * instructions, and time goes on as much. The place keeps them within a page, which a translation does not leave.
 */
#define NOPS 510
#define NOTHING ".p2align 9\n1: .rept 510\n\tnop\n\t.endr\n\t"

/* A turn; what the kernel does between two is shorter than what LOST_NS leaves for it beside a dozen other CPUs. */
#ifndef TURN_NS
#define TURN_NS 10000LL
#endif
/* From the end of a turn to that of the next. If it took longer, another thread ran here meanwhile. */
#define LOST_NS 300000LL

static inline long long monotonic_ns(void)
{
	struct timespec time;

	/* Without a system call, by which the kernel would look at what runs, and could end a slice between ticks. */
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A turn, and then the others'. */
static inline void turn(long insn_ns)
{
	long rounds = TURN_NS / (NOPS * insn_ns) + 1;

	__asm__ volatile(NOTHING "dec %0\n\tjnz 1b\n\tpause" : "+r"(rounds));
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
