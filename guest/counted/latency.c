// SPDX-License-Identifier: GPL-2.0-only
/*
 * How late threads run that sleep until a time, beside others that never sleep: what cyclictest asks. Runs in a guest whose time
 * is counted in instructions, so a loop of N instructions takes a known time and needs no clock.
 *
 *     latency [NAME=NUMBER]...
 *
 *   name=NAME       for whoever reads the console
 *   insn_ns=2       nanoseconds that an instruction takes
 *   hogs=0          threads that never sleep
 *   sleepers=1      threads that sleep; the n-th begins n * period_us / sleepers later
 *   period_us=10370 from a due time to the next
 *   run_us=0        what a sleeper computes each time
 *   count=300       due times of each sleeper
 *   nice=0 hog_nice=0
 *   slice_us=0      the slice that a sleeper asks for by sched_setattr; 0 is none
 *   hog_slice_us=0  what a hog asks for
 *   base_slice_us=0 the kernel's base slice while this runs; 0 leaves it
 *   idle=0          1: hogs have the policy SCHED_IDLE; 2: SCHED_BATCH
 *   fifo=0          the real-time priority of the sleepers; 0 is none
 *   slack_us=0      how much later than asked for a sleeper's timer may go off (PR_SET_TIMERSLACK); 0 is a nanosecond
 *
 * Prints for each sleeper a line `@late NUMBER...`: nanoseconds from the due time until it ran, in order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "turn.h"

#define THREADS_MAX 16
#define COUNT_MAX 4096
#define BASE_SLICE "/sys/kernel/debug/sched/base_slice_ns"
/* From the start to the first due time: all threads have begun by then. */
#define BEGIN_NS 500000000LL

struct attributes {
	unsigned size, policy;
	unsigned long long flags;
	int nice;
	unsigned priority;
	unsigned long long runtime, deadline, period;
};

static struct setting {
	const char *name;
	long value;
} settings[] = {
	{ "name", 0 }, { "insn_ns", 2 }, { "hogs", 0 }, { "sleepers", 1 }, { "period_us", 10370 }, { "run_us", 0 }, { "count", 300 },
	{ "nice", 0 }, { "hog_nice", 0 }, { "slice_us", 0 }, { "hog_slice_us", 0 }, { "base_slice_us", 0 }, { "idle", 0 },
	{ "fifo", 0 }, { "slack_us", 0 },
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct setting *find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (strlen(settings[i].name) == length && !strncmp(settings[i].name, name, length))
			return &settings[i];
	fprintf(stderr, "latency: no setting %s\n", name);
	exit(2);
}

static long of(const char *name)
{
	return find(name, strlen(name))->value;
}

/* Two instructions a round. */
static void spend(long ns)
{
	long rounds = ns / (2 * of("insn_ns"));

	if (rounds)
		__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds));
}

static void set_slice(long us, int nice, unsigned policy)
{
	struct attributes want = { .size = sizeof(want), .policy = policy, .nice = nice, .runtime = us * 1000 };

	if (syscall(SYS_sched_setattr, 0, &want, 0))
		fail("sched_setattr");
}

static pid_t start_hog(void)
{
	static const unsigned policies[] = { SCHED_OTHER, SCHED_IDLE, SCHED_BATCH };
	pid_t child = fork();

	if (child)
		return child;
	set_slice(of("hog_slice_us"), of("hog_nice"), policies[of("idle")]);
	for (;;)
		__asm__ volatile(NOTHING);
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static pid_t start_sleeper(long long due, long *late)
{
	struct sched_param urgent = { .sched_priority = of("fifo") };
	long period_ns = of("period_us") * 1000, run_ns = of("run_us") * 1000, count = of("count");
	/* To prctl 0 would be the default, 50 us. */
	long slack_ns = of("slack_us") ? of("slack_us") * 1000 : 1;
	pid_t child = fork();

	if (child)
		return child;
	if (mlockall(MCL_CURRENT) || prctl(PR_SET_TIMERSLACK, slack_ns))
		fail("sleeper");
	set_slice(of("slice_us"), of("nice"), SCHED_OTHER);
	if (urgent.sched_priority && sched_setscheduler(0, SCHED_FIFO, &urgent))
		fail("sched_setscheduler");
	for (long i = 0; i < count; i++, due += period_ns) {
		struct timespec until = { due / 1000000000, due % 1000000000 };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		late[i] = now() - due;
		spend(run_ns);
	}
	_exit(0);
}

static void write_base_slice(long ns)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%ld", ns), file = open(BASE_SLICE, O_WRONLY);

	if (file < 0 || write(file, text, length) != length)
		fail(BASE_SLICE);
	close(file);
}

static long read_base_slice(void)
{
	char text[32] = "";
	int file = open(BASE_SLICE, O_RDONLY);

	if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
		fail(BASE_SLICE);
	close(file);
	return atol(text);
}

int main(int argc, char **argv)
{
	pid_t hogs[THREADS_MAX], sleepers[THREADS_MAX];
	long (*late)[COUNT_MAX] = mmap(NULL, THREADS_MAX * sizeof(*late), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	long base = read_base_slice();
	long long begin;

	for (int i = 1; i < argc; i++) {
		size_t length = strcspn(argv[i], "=");

		find(argv[i], length)->value = atol(argv[i] + length + 1);
	}
	if (late == MAP_FAILED || of("hogs") > THREADS_MAX || of("sleepers") > THREADS_MAX || of("count") > COUNT_MAX)
		fail("latency: too much");
	if (of("base_slice_us"))
		write_base_slice(of("base_slice_us") * 1000);
	/* The same place within a tick, however long it took to get here. */
	begin = (now() / 100000000 + 1) * 100000000 + BEGIN_NS;
	for (long i = 0; i < of("sleepers"); i++)
		sleepers[i] = start_sleeper(begin + i * of("period_us") * 1000 / of("sleepers"), late[i]);
	for (long i = 0; i < of("hogs"); i++)
		hogs[i] = start_hog();
	for (long i = 0; i < of("sleepers"); i++)
		waitpid(sleepers[i], NULL, 0);
	for (long i = 0; i < of("hogs"); i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], NULL, 0);
	}
	if (of("base_slice_us"))
		write_base_slice(base);
	printf("@base_slice_ns %ld\n", base);
	for (long i = 0; i < of("sleepers"); i++) {
		printf("@late");
		for (long j = 0; j < of("count"); j++)
			printf(" %ld", late[i][j]);
		printf("\n");
	}
	return 0;
}
