// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wakes a thread again and again, in every state of a small machine that is asked for, and leaves it to the kernel's trace which CPU
 * the thread gets. The simulator does the same (crates/tandem/tests/decisions).
 *
 *     decide CPUS ROUNDS PERIOD_US BUSY...
 *
 * For each BUSY, a mask of CPUs on which a thread computes for ever, and each CPU that the waker is tied to, there are ROUNDS times
 * CPUS wake-ups, PERIOD_US apart. Before each the sleeper computes for 300 us on one CPU, in turn on all, and may then use any. The
 * waker computes for 200 us before it wakes the sleeper, by a futex, and for 600 us afterwards; the sleeper computes for 20 us.
 *
 * Writes into the trace `decide BUSY WAKER` where such a state begins, and `wake` just before each wake-up. The sleeper is called
 * "sleeper", who computes for ever "hog", who wakes "waker".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX 16
/* Until the first wake-up of a state: all threads have begun by then. */
#define BEGIN_NS 200000000LL
#define USEC 1000LL

static struct shared {
	/* Wake-ups so far, and for how many the sleeper got ready. */
	int woken, ready;
} *shared;
static int marker;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void mark(const char *text)
{
	if (write(marker, text, strlen(text)) < 0)
		fail("trace_marker");
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* So much time on a CPU, whoever else is there. */
static void compute(long long ns)
{
	struct timespec time;
	long long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	end = time.tv_sec * 1000000000LL + time.tv_nsec + ns;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	while (time.tv_sec * 1000000000LL + time.tv_nsec < end);
}

/* Ties the caller to the CPUs from one to another. */
static void use(int from, int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = from; cpu <= to; cpu++)
		CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static pid_t begin(const char *name)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child == 0 && (prctl(PR_SET_NAME, name) || prctl(PR_SET_TIMERSLACK, 1) || mlockall(MCL_CURRENT)))
		fail(name);
	return child;
}

static pid_t start_hog(int cpu)
{
	pid_t child = begin("hog");

	if (child)
		return child;
	use(cpu, cpu);
	for (;;)
		;
}

static pid_t start_sleeper(int cpus, int wakeups)
{
	pid_t child = begin("sleeper");

	if (child)
		return child;
	for (int i = 0; i < wakeups; i++) {
		use(i % cpus, i % cpus);
		compute(300 * USEC);
		use(0, cpus - 1);
		__atomic_store_n(&shared->ready, i + 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&shared->woken, __ATOMIC_SEQ_CST) == i)
			syscall(SYS_futex, &shared->woken, FUTEX_WAIT, i, NULL);
		compute(20 * USEC);
	}
	_exit(0);
}

static pid_t start_waker(int cpu, int wakeups, long long period)
{
	pid_t child = begin("waker");
	long long due = now() + BEGIN_NS;

	if (child)
		return child;
	use(cpu, cpu);
	for (int i = 0; i < wakeups; i++, due += period) {
		struct timespec until = { due / 1000000000, due % 1000000000 };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		compute(200 * USEC);
		mark(__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) == i + 1 ? "wake" : "late");
		__atomic_store_n(&shared->woken, i + 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &shared->woken, FUTEX_WAKE, 1);
		compute(600 * USEC);
	}
	_exit(0);
}

static void wait_for(pid_t child, const char *what)
{
	int status;

	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "decide: the %s ended with %d\n", what, status);
		exit(1);
	}
}

static void decide(int cpus, int wakeups, long long period, unsigned long busy, int waker)
{
	pid_t hogs[CPUS_MAX] = { 0 }, sleeper, wakes;
	char text[64];

	*shared = (struct shared){ 0 };
	snprintf(text, sizeof(text), "decide %lu %d", busy, waker);
	mark(text);
	for (int cpu = 0; cpu < cpus; cpu++)
		if (busy >> cpu & 1)
			hogs[cpu] = start_hog(cpu);
	sleeper = start_sleeper(cpus, wakeups);
	wakes = start_waker(waker, wakeups, period);
	wait_for(wakes, "waker");
	wait_for(sleeper, "sleeper");
	for (int cpu = 0; cpu < cpus; cpu++) {
		if (!hogs[cpu])
			continue;
		kill(hogs[cpu], SIGKILL);
		waitpid(hogs[cpu], NULL, 0);
	}
}

int main(int argc, char **argv)
{
	int cpus = argc > 4 ? atoi(argv[1]) : 0;

	if (cpus < 1 || cpus > CPUS_MAX) {
		fprintf(stderr, "usage: decide CPUS ROUNDS PERIOD_US BUSY...\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
	if (shared == MAP_FAILED || marker < 0)
		fail("decide");
	for (int i = 4; i < argc; i++)
		for (int waker = 0; waker < cpus; waker++)
			decide(cpus, cpus * atoi(argv[2]), atoll(argv[3]) * USEC, strtoul(argv[i], NULL, 0), waker);
	return 0;
}
