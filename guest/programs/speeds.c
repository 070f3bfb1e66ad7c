// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How fast the CPUs are while all are busy: prints the units of work that each does in a second, in their order.
 *
 *	speeds SECONDS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "work.h"

enum { MAX_CPUS = 64 };

static struct cpu {
	pthread_t thread;
	double speed;
} cpus[MAX_CPUS];
static pthread_barrier_t start;
static long duration;

static void *measure(void *of_cpu)
{
	struct cpu *cpu = of_cpu;
	double begun, now;
	long units = 0;
	cpu_set_t mine;

	CPU_ZERO(&mine);
	CPU_SET(cpu - cpus, &mine);
	must(!sched_setaffinity(0, sizeof(mine), &mine), "a CPU cannot be used");
	pthread_barrier_wait(&start);
	begun = seconds();
	do {
		do_unit();
		units++;
		now = seconds();
	} while (now < begun + duration);
	cpu->speed = units / (now - begun);
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN), at;

	if (argc != 2 || nr > MAX_CPUS) {
		fprintf(stderr, "usage: speeds SECONDS, with at most %d CPUs\n", MAX_CPUS);
		return 2;
	}
	duration = number(argv[1], 1);
	pthread_barrier_init(&start, NULL, nr);
	for (at = 0; at < nr; at++)
		must(!pthread_create(&cpus[at].thread, NULL, measure, &cpus[at]), "a thread cannot be made");
	for (at = 0; at < nr; at++)
		pthread_join(cpus[at].thread, NULL);
	for (at = 0; at < nr; at++)
		printf("%.1f%c", cpus[at].speed, at + 1 < nr ? ' ' : '\n');
	return 0;
}
