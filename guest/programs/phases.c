// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Applications that are parallel and serial in turn (Morad, Kolodny & Weiser, "Task Scheduling Based On Thread Essence and
 * Resource Limitations", section 4): each is a process with a thread for each CPU, which all work in a parallel phase, and of
 * which one works in a serial one.
 *
 *	phases SECONDS SEED UNITS PARALLEL:SERIAL...
 *
 * In a round every thread does some units of work, and then the first one alone so many times SERIAL / PARALLEL. How many it
 * is in each round is drawn from the seed: UNITS at a mean. After SECONDS all stop, and each application prints what its
 * threads have done: units, and rounds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { MAX_APPLICATIONS = 8 };

/* What an application and who started it both see. */
struct shared {
	atomic_bool begin, stop;
	struct {
		atomic_long units, rounds;
	} of[MAX_APPLICATIONS];
};

static struct shared *shared;

/* An application: this process, once it has been made. */
static struct {
	int number;
	long parallel, serial, mean;
	uint64_t random;
	/* What each thread has to do in this round; 0: there is no further round. */
	long units;
	pthread_barrier_t begins, ends;
} app;

/* A number from 1 to twice the mean. */
static long draw(void)
{
	app.random ^= app.random << 13;
	app.random ^= app.random >> 7;
	app.random ^= app.random << 17;
	return 1 + app.random % (2 * app.mean);
}

static void work(long units)
{
	for (; units && !shared->stop; units--) {
		do_unit();
		shared->of[app.number].units++;
	}
}

/* Gives this thread a name that tells it from others in a trace: app0-3. */
static void take_name(long thread)
{
	char name[16];

	snprintf(name, sizeof(name), "app%d-%ld", app.number, thread);
	must(!prctl(PR_SET_NAME, name), "a thread cannot have its name");
}

static void *follow(void *thread)
{
	take_name((long)thread);
	for (;;) {
		pthread_barrier_wait(&app.begins);
		if (!app.units)
			return NULL;
		work(app.units);
		pthread_barrier_wait(&app.ends);
	}
}

static void lead(void)
{
	while (!shared->stop) {
		app.units = draw();
		pthread_barrier_wait(&app.begins);
		work(app.units);
		pthread_barrier_wait(&app.ends);
		work(app.units * app.serial / app.parallel);
		shared->of[app.number].rounds += !shared->stop;
	}
	app.units = 0;
	pthread_barrier_wait(&app.begins);
}

static void run_application(long seed)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN), at;
	pthread_t threads[nr];

	/* No two alike, and none 0. */
	app.random = 0x9e3779b97f4a7c15ull * (seed * MAX_APPLICATIONS + app.number + 1);
	pthread_barrier_init(&app.begins, NULL, nr);
	pthread_barrier_init(&app.ends, NULL, nr);
	take_name(0);
	for (at = 1; at < nr; at++)
		must(!pthread_create(&threads[at], NULL, follow, (void *)at), "a thread cannot be made");
	while (!shared->begin)
		usleep(1000);
	lead();
	for (at = 1; at < nr; at++)
		pthread_join(threads[at], NULL);
	exit(0);
}

static void parse_label(char *text)
{
	char *serial = text;

	strsep(&serial, ":");
	app.parallel = number(text, 1);
	app.serial = number(serial ? serial : "", 0);
}

int main(int argc, char **argv)
{
	int nr = argc - 4, at, status;
	bool well = true;
	long duration;

	if (nr < 1 || nr > MAX_APPLICATIONS) {
		fprintf(stderr, "usage: phases SECONDS SEED UNITS PARALLEL:SERIAL...\n");
		return 2;
	}
	duration = number(argv[1], 1);
	app.mean = number(argv[3], 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED, "no memory to share");
	for (at = 0; at < nr; at++) {
		pid_t pid;

		app.number = at;
		parse_label(argv[4 + at]);
		pid = fork();
		must(pid >= 0, "a process cannot be made");
		if (!pid)
			run_application(number(argv[2], 0));
	}
	/* Until all have their threads. */
	usleep(200 * 1000);
	shared->begin = true;
	usleep(duration * 1000 * 1000);
	shared->stop = true;
	while (wait(&status) > 0)
		well &= WIFEXITED(status) && !WEXITSTATUS(status);
	for (at = 0; at < nr; at++)
		printf("%ld %ld%c", shared->of[at].units, shared->of[at].rounds, at + 1 < nr ? ' ' : '\n');
	return !well;
}
