// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wakes a thread again and again, in every state of a small machine that is asked for, and prints what the kernel traced of it: which
 * CPU the thread got, and when it ran. The simulator does the same (crates/tandem/tests/decisions). Runs in a guest whose CPUs take
 * turns and whose time is counted in instructions.
 *
 *     decide [NAME=NUMBERS]...
 *
 *   name=NAME         for whoever reads the console
 *   cpus=4            CPUs
 *   rounds=1          wake-ups for each CPU that the thread slept on
 *   period_us=29000   from a wake-up to the next
 *   insn_ns=2         nanoseconds that an instruction takes
 *   wakers=0,1        CPUs that the waker is tied to, in turn
 *   busy=0,1,15       masks of CPUs on which a thread computes for ever
 *
 * For each mask and each of the waker's CPUs there are rounds * cpus wake-ups, the first half a millisecond after a tick. Before each
 * the sleeper computes for a millisecond on one CPU, in turn on all, and may then use any. The waker computes for 200 us before it wakes the
 * sleeper, by a futex, and for 600 us afterwards; the sleeper computes for 20 us.
 *
 * Prints for each CPU a line `@cpu SIBLINGS SHARING-A-CACHE`, then for each state `@state BUSY WAKER` and lines of the trace. Just
 * before each wake-up these have a mark, `wake`, or `late` where the sleeper was not asleep yet. The sleeper is called "sleeper", who
 * computes for ever "hog", who wakes "waker".
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

#include "turn.h"

#define CPUS_MAX 16
#define NUMBERS_MAX 64
#define TRACING "/sys/kernel/tracing/"
/* Until the first wake-up of a state: all threads have begun by then. */
#define BEGIN_NS 200000000LL
/* After a tick: ticks are at whole multiples of 4 ms of the monotonic clock, and so of this. */
#define GRID_NS 100000000LL
#define PHASE_NS 500000LL
#define USEC 1000LL

static struct setting {
	const char *name;
	int count;
	long values[NUMBERS_MAX];
} settings[] = {
	{ "name", 1, { 0 } },
	{ "cpus", 1, { 4 } },
	{ "rounds", 1, { 1 } },
	{ "period_us", 1, { 29000 } },
	{ "insn_ns", 1, { 2 } },
	{ "wakers", 2, { 0, 1 } },
	{ "busy", 3, { 0, 1, 15 } },
};

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

static struct setting *find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (strlen(settings[i].name) == length && !strncmp(settings[i].name, name, length))
			return &settings[i];
	fprintf(stderr, "decide: no setting %s\n", name);
	exit(2);
}

static long of(const char *name)
{
	return find(name, strlen(name))->values[0];
}

static void set(const char *text)
{
	size_t length = strcspn(text, "=");
	struct setting *one = find(text, length);
	char *rest = (char *)text + length;

	one->count = 0;
	do
		one->values[one->count++] = strtol(rest + 1, &rest, 0);
	while (*rest == ',' && one->count < NUMBERS_MAX);
}

static void put(const char *file, const char *text)
{
	char path[256];
	int out;

	snprintf(path, sizeof(path), TRACING "%s", file);
	out = open(path, O_WRONLY | O_TRUNC);
	if (out < 0 || write(out, text, strlen(text)) < 0)
		fail(path);
	close(out);
}

static void prepare_trace(void)
{
	put("tracing_on", "0");
	put("buffer_size_kb", "512");
	put("trace_clock", "mono");
	put("events/sched/sched_waking/filter", "comm == \"sleeper\"");
	put("events/sched/sched_wakeup/filter", "comm == \"sleeper\"");
	put("events/sched/sched_switch/filter", "next_comm == \"sleeper\"");
	put("events/sched/sched_waking/enable", "1");
	put("events/sched/sched_wakeup/enable", "1");
	put("events/sched/sched_switch/enable", "1");
	marker = open(TRACING "trace_marker", O_WRONLY);
	if (marker < 0)
		fail("trace_marker");
}

static void print_trace(void)
{
	char line[512];
	FILE *in = fopen(TRACING "trace", "r");

	if (!in)
		fail("trace");
	while (fgets(line, sizeof(line), in))
		if (line[0] != '#')
			fputs(line, stdout);
	fclose(in);
}

/* A line of a file of a CPU in /sys; empty if there is none. */
static void print_line(int cpu, const char *file)
{
	char path[256], line[256] = "\n";
	FILE *in;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
	in = fopen(path, "r");
	if (in && !fgets(line, sizeof(line), in))
		line[0] = '\0';
	if (in)
		fclose(in);
	line[strcspn(line, "\n")] = '\0';
	printf(" %s", line);
}

static void print_topology(void)
{
	for (int cpu = 0; cpu < of("cpus"); cpu++) {
		printf("@cpu");
		print_line(cpu, "topology/thread_siblings_list");
		print_line(cpu, "cache/index3/shared_cpu_list");
		printf("\n");
	}
}

static void mark(const char *text)
{
	if (write(marker, text, strlen(text)) < 0)
		fail("trace_marker");
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
	compute_for_ever(of("insn_ns"));
}

static pid_t start_sleeper(int cpus, int wakeups)
{
	pid_t child = begin("sleeper");

	if (child)
		return child;
	for (int i = 0; i < wakeups; i++) {
		use(i % cpus, i % cpus);
		compute(1000 * USEC, of("insn_ns"));
		use(0, cpus - 1);
		__atomic_store_n(&shared->ready, i + 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&shared->woken, __ATOMIC_SEQ_CST) == i)
			syscall(SYS_futex, &shared->woken, FUTEX_WAIT, i, NULL);
		compute(20 * USEC, of("insn_ns"));
	}
	_exit(0);
}

static pid_t start_waker(int cpu, int wakeups, long long due)
{
	pid_t child = begin("waker");

	if (child)
		return child;
	use(cpu, cpu);
	for (int i = 0; i < wakeups; i++, due += of("period_us") * USEC) {
		struct timespec until = { due / 1000000000, due % 1000000000 };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		compute(200 * USEC, of("insn_ns"));
		mark(__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) == i + 1 ? "wake" : "late");
		__atomic_store_n(&shared->woken, i + 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &shared->woken, FUTEX_WAKE, 1);
		compute(600 * USEC, of("insn_ns"));
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

static void decide(unsigned long busy, int waker)
{
	pid_t hogs[CPUS_MAX] = { 0 }, sleeper, wakes;
	int cpus = of("cpus"), wakeups = cpus * of("rounds");
	long long due;

	*shared = (struct shared){ 0 };
	printf("@state %lu %d\n", busy, waker);
	put("trace", "");
	put("tracing_on", "1");
	/* A thread remembers where it was forked, and may go there (recent_used_cpu). */
	use(0, 0);
	due = (monotonic_ns() / GRID_NS + 1) * GRID_NS + BEGIN_NS + PHASE_NS;
	for (int cpu = 0; cpu < cpus; cpu++)
		if (busy >> cpu & 1)
			hogs[cpu] = start_hog(cpu);
	sleeper = start_sleeper(cpus, wakeups);
	wakes = start_waker(waker, wakeups, due);
	wait_for(wakes, "waker");
	wait_for(sleeper, "sleeper");
	put("tracing_on", "0");
	for (int cpu = 0; cpu < cpus; cpu++) {
		if (!hogs[cpu])
			continue;
		kill(hogs[cpu], SIGKILL);
		waitpid(hogs[cpu], NULL, 0);
	}
	print_trace();
}

int main(int argc, char **argv)
{
	const struct setting *busy = find("busy", 4), *wakers = find("wakers", 6);

	for (int i = 1; i < argc; i++)
		set(argv[i]);
	if (of("cpus") < 1 || of("cpus") > CPUS_MAX)
		fail("decide: cpus");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	print_topology();
	prepare_trace();
	for (int i = 0; i < busy->count; i++)
		for (int j = 0; j < wakers->count; j++)
			decide(busy->values[i], wakers->values[j]);
	return 0;
}
