// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A program whose threads have unequal work and meet at a barrier after each round, as in the experiments of Lakshminarayana
 * & Kim, "Understanding Performance, Power and Energy Behavior in Asymmetric Multiprocessors", sections V and VI.
 *
 *	lengths NAME ROUNDS UNITS...
 *
 * There is a thread for each number of UNITS, which does this much in each round, and tells Tandem so if Tandem runs; the first
 * is the program's own. The program prints how many seconds all rounds took. Schedulers remember programs by their names.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>

#include "tandem.h"
#include "work.h"

enum { MAX_THREADS = 64 };

static pthread_barrier_t meeting;
static long rounds, units[MAX_THREADS];

static void *work(void *of_thread)
{
	const long *mine = of_thread;
	long round, unit;

	tandem_hint(*mine);
	pthread_barrier_wait(&meeting);
	for (round = 0; round < rounds; round++) {
		for (unit = 0; unit < *mine; unit++)
			do_unit();
		pthread_barrier_wait(&meeting);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc - 3, at;
	pthread_t threads[MAX_THREADS];
	double begun;

	if (nr < 1 || nr > MAX_THREADS) {
		fprintf(stderr, "usage: lengths NAME ROUNDS UNITS...\n");
		return 2;
	}
	must(!prctl(PR_SET_NAME, argv[1]), "the name cannot be set");
	rounds = number(argv[2], 1);
	for (at = 0; at < nr; at++)
		units[at] = number(argv[3 + at], 1);
	pthread_barrier_init(&meeting, NULL, nr);
	begun = seconds();
	for (at = 1; at < nr; at++)
		must(!pthread_create(&threads[at], NULL, work, &units[at]), "a thread cannot be made");
	work(&units[0]);
	for (at = 1; at < nr; at++)
		pthread_join(threads[at], NULL);
	printf("%.4f\n", seconds() - begun);
	return 0;
}
