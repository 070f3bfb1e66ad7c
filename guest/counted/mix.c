// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of three kinds on all CPUs: how often they are switched and migrated. The simulator does the same
 * (crates/tandem/tests/switches). Runs in a guest whose CPUs take turns and whose time is counted in instructions.
 *
 *     mix [NAME=NUMBER]...
 *
 *   name=NAME       for whoever reads the console
 *   insn_ns=2       nanoseconds that an instruction takes
 *   seconds=10      for how long switches and migrations are counted; it begins a second after the threads
 *   hogs=0          threads that never sleep
 *   hog_nice_step=0 the n-th has the nice value n * hog_nice_step
 *   sleepers=0      threads that compute for run_us and sleep until their next due time; the n-th has one every
 *                   period_us + n * step_us
 *   period_us=10000 step_us=0 run_us=1000
 *   pairs=0         two threads each, one of which computes for turn_us, wakes the other and waits for it
 *   turn_us=1000
 *
 * Prints for each thread a line `@thread KIND SWITCHES MIGRATIONS MICROSECONDS`, the last its CPU time, and for each program of a
 * loaded scheduler a line `@called NAME COUNT`: how often the kernel called it in that time. Names end after 15 characters.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/futex.h>
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

/* Short, as partners wait for the turns of all CPUs in each of their own. */
#define TURN_NS 2000LL
#include "turn.h"

#define THREADS_MAX 64
#define PROGRAMS_MAX 64
#define BPF_STATS "/proc/sys/kernel/bpf_stats_enabled"
#define SEC 1000000000LL
#define USEC 1000LL

static struct setting {
	const char *name;
	long value;
} settings[] = {
	{ "name", 0 }, { "insn_ns", 2 }, { "seconds", 10 }, { "hogs", 0 }, { "hog_nice_step", 0 },
	{ "sleepers", 0 }, { "period_us", 10000 }, { "step_us", 0 }, { "run_us", 1000 }, { "pairs", 0 }, { "turn_us", 1000 },
};

struct thread {
	const char *kind;
	pid_t pid;
	long switches, migrations;
	double ms;
};

/* What a scheduler was loaded from, and how often each was called before. */
static struct program {
	int fd;
	unsigned long long calls;
} programs[PROGRAMS_MAX];

static struct thread threads[THREADS_MAX];
static int count, program_count;

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
	fprintf(stderr, "mix: no setting %s\n", name);
	exit(2);
}

static long of(const char *name)
{
	return find(name, strlen(name))->value;
}

static void sleep_until(long long due)
{
	struct timespec until = { due / SEC, due % SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Whether this is the child. */
static int begin(const char *kind)
{
	pid_t child = fork();

	if (child < 0 || count == THREADS_MAX)
		fail("fork");
	if (child) {
		threads[count++] = (struct thread){ .kind = kind, .pid = child };
		return 0;
	}
	if (mlockall(MCL_CURRENT) || prctl(PR_SET_TIMERSLACK, 1) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		fail(kind);
	return 1;
}

static _Noreturn void sleeper(long number, long long due)
{
	long long period = (of("period_us") + number * of("step_us")) * USEC;

	for (;; due += period) {
		sleep_until(due);
		compute(of("run_us") * USEC, of("insn_ns"));
	}
}

/* The turn is that of the partner with this number, 0 or 1. */
static _Noreturn void partner(int *turn, int number, long long due)
{
	sleep_until(due);
	for (;;) {
		while (__atomic_load_n(turn, __ATOMIC_SEQ_CST) != number)
			syscall(SYS_futex, turn, FUTEX_WAIT, 1 - number, NULL);
		compute(of("turn_us") * USEC, of("insn_ns"));
		__atomic_store_n(turn, 1 - number, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, turn, FUTEX_WAKE, 1);
	}
}

static void start_all(long long due)
{
	int *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (turns == MAP_FAILED)
		fail("mmap");
	for (long i = 0; i < of("sleepers"); i++)
		if (begin("sleeper"))
			sleeper(i, due);
	for (long i = 0; i < of("pairs"); i++)
		for (int number = 0; number < 2; number++)
			if (begin("partner"))
				partner(&turns[i * 16], number, due);
	for (long i = 0; i < of("hogs"); i++)
		if (begin("hog")) {
			if (setpriority(PRIO_PROCESS, 0, i * of("hog_nice_step")))
				fail("setpriority");
			compute_for_ever(of("insn_ns"));
		}
}

static int bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static struct bpf_prog_info told(int fd)
{
	struct bpf_prog_info info = {};
	union bpf_attr ask = { .info = { .bpf_fd = fd, .info_len = sizeof(info), .info = (unsigned long)&info } };

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &ask))
		fail("BPF_OBJ_GET_INFO_BY_FD");
	return info;
}

/* Has the kernel count calls, and keeps how many there were. */
static void find_programs(void)
{
	union bpf_attr next = {};
	int file = open(BPF_STATS, O_WRONLY);

	if (file < 0 || write(file, "1", 1) != 1)
		fail(BPF_STATS);
	close(file);
	for (; !bpf(BPF_PROG_GET_NEXT_ID, &next); next.start_id = next.next_id) {
		union bpf_attr open = { .prog_id = next.next_id };
		int fd = bpf(BPF_PROG_GET_FD_BY_ID, &open);

		if (fd < 0 || told(fd).type != BPF_PROG_TYPE_STRUCT_OPS)
			continue;
		if (program_count == PROGRAMS_MAX)
			fail("programs");
		programs[program_count++] = (struct program){ .fd = fd, .calls = told(fd).run_cnt };
	}
}

static void print_calls(void)
{
	for (int i = 0; i < program_count; i++) {
		struct bpf_prog_info info = told(programs[i].fd);

		printf("@called %s %llu\n", info.name, (unsigned long long)info.run_cnt - programs[i].calls);
	}
}

/* Adds what the kernel has counted of a thread, or takes it away. */
static void add(struct thread *thread, int sign)
{
	char path[64], line[256];
	long number;
	double ms;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/sched", thread->pid);
	in = fopen(path, "r");
	if (!in)
		fail(path);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "nr_switches : %ld", &number) == 1)
			thread->switches += sign * number;
		if (sscanf(line, "se.nr_migrations : %ld", &number) == 1)
			thread->migrations += sign * number;
		if (sscanf(line, "se.sum_exec_runtime : %lf", &ms) == 1)
			thread->ms += sign * ms;
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	long long start;

	for (int i = 1; i < argc; i++) {
		size_t length = strcspn(argv[i], "=");

		find(argv[i], length)->value = atol(argv[i] + length + 1);
	}
	if (mlockall(MCL_CURRENT))
		fail("mlockall");
	start = (monotonic_ns() / 100000000 + 5) * 100000000;
	start_all(start);
	sleep_until(start + SEC);
	find_programs();
	for (int i = 0; i < count; i++)
		add(&threads[i], -1);
	sleep_until(start + (1 + of("seconds")) * SEC);
	for (int i = 0; i < count; i++)
		add(&threads[i], 1);
	print_calls();
	for (int i = 0; i < count; i++)
		kill(threads[i].pid, SIGKILL);
	for (int i = 0; i < count; i++) {
		waitpid(threads[i].pid, NULL, 0);
		printf("@thread %s %ld %ld %.0f\n", threads[i].kind, threads[i].switches, threads[i].migrations, threads[i].ms * 1000);
	}
	return 0;
}
