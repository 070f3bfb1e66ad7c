// SPDX-License-Identifier: GPL-2.0-only
// As many threads as a machine holds: they are made one after the other, each runs for a moment and sleeps; then they wake, a thousand
// at a time, each runs for a moment again and ends.
//
//   many THREADS
//
// Says how many there were, how many the kernel refused, and how many have woken. Exit status: 0 if none was refused and all have woken.

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BATCH = 1000 };

// Batches that may go on. Each batch sleeps on its own word, so that none is woken for nothing.
static atomic_int *gates;
static atomic_int began, woken;

static void *sleeper(void *batch)
{
	atomic_int *gate = &gates[(long)batch];

	atomic_fetch_add(&began, 1);
	while (!atomic_load(gate))
		syscall(SYS_futex, gate, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	atomic_fetch_add(&woken, 1);
	return NULL;
}

// Waits until a number has come so far.
static void wait_for(atomic_int *number, int most)
{
	while (atomic_load(number) < most)
		usleep(1000);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0, made = 0, refused = 0, batch;
	pthread_attr_t attributes;

	gates = calloc(threads / BATCH + 1, sizeof(*gates));
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	pthread_attr_setguardsize(&attributes, 0);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (made < threads) {
		pthread_t thread;
		int error = pthread_create(&thread, &attributes, sleeper, (void *)(long)(made / BATCH));

		if (error) {
			fprintf(stderr, "thread %d: error %d\n", made, error);
			refused++;
			break;
		}
		made++;
	}
	wait_for(&began, made);
	for (batch = 0; batch * BATCH < made; batch++) {
		atomic_store(&gates[batch], 1);
		syscall(SYS_futex, &gates[batch], FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		wait_for(&woken, (batch + 1) * BATCH < made ? (batch + 1) * BATCH : made);
	}
	printf("threads %d refused %d woken %d\n", made, refused, woken);
	return refused || woken != made;
}
