/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Work for programs that tests run in a guest. A unit is always the same number of steps: how long a CPU takes for it
 * says how fast the CPU is. On an emulated CPU a step takes a few nanoseconds.
 */
#ifndef GUEST_WORK_H
#define GUEST_WORK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS_IN_UNIT = 100 * 1000 };

/* Does a unit of work: nothing but registers, so that no memory is waited for. */
static inline void do_unit(void)
{
	uint64_t x = 88172645463325252ull;
	int step;

	for (step = 0; step < STEPS_IN_UNIT; step++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	/* The result is used: else the compiler would leave the work out. */
	__asm__ volatile("" : : "r"(x));
}

/* Seconds since some moment. */
static inline double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* A number from the command line that is not below @least; else it says which was wrong, and ends the program. */
static inline long number(const char *text, long least)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text && !*end && value >= least)
		return value;
	fprintf(stderr, "%s: not a whole number from %ld\n", text, least);
	exit(2);
}

/* Ends the program if a call of pthreads or of the kernel went wrong. */
static inline void must(int went_well, const char *what)
{
	if (went_well)
		return;
	perror(what);
	exit(1);
}

#endif /* GUEST_WORK_H */
