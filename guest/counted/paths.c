// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many instructions the kernel's paths of scheduling take. Runs in a guest where an instruction takes insn_ns nanoseconds of
 * all clocks: what a clock counts are instructions. Where the guest has several CPUs, they take turns and count together: paths
 * between them are counted, and no others.
 *
 *     paths [name=NAME] [insn_ns=1]
 *
 * Each path is taken ROUNDS times between two looks at the clock. Prints `@path NAME MEDIAN LEAST P90` in instructions, without
 * those of the looks. The median has no tick in it: one comes every four million instructions.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
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

#define ROUNDS 1000
/* Rounds that do not count: pages are touched then. */
#define WARM 100

static long insn_ns = 1;
static long spent[ROUNDS];
static long look;
/* Shared by a process and its partner. */
static struct shared {
	int turn, other, ready;
	long began;
} *shared;
static int forth[2], back[2];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

static void say(const char *name, int count, int per)
{
	qsort(spent, count, sizeof(*spent), ascending);
	printf("@path %s %ld %ld %ld\n", name, spent[count / 2] / per / insn_ns, spent[0] / per / insn_ns,
	       spent[count * 9 / 10] / per / insn_ns);
}

/* What a round takes, `per` of the path in each. */
static void measure(const char *name, int per, void (*path)(void))
{
	for (int i = -WARM; i < ROUNDS; i++) {
		long long began = now();

		path();
		if (i >= 0)
			spent[i] = now() - began - look;
	}
	if (!look) {
		qsort(spent, ROUNDS, sizeof(*spent), ascending);
		look = spent[ROUNDS / 2];
		printf("@path look %ld %ld %ld\n", look / insn_ns, look / insn_ns, look / insn_ns);
		return;
	}
	say(name, ROUNDS, per);
}

static void futex_wake(int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_wait(int *word, int value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void pin(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		fail("sched_setaffinity");
}

/* Lets the guest's other CPUs execute: the emulator goes on to the next one at this instruction. */
static void others(void)
{
	__builtin_ia32_pause();
}

static void set_policy(int policy, int priority)
{
	struct sched_param wanted = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &wanted))
		fail("sched_setscheduler");
}

/* A partner that lives until `end`. */
static pid_t partner(void (*life)(void))
{
	pid_t child = fork();

	if (child)
		return child;
	if (mlockall(MCL_CURRENT))
		fail("mlockall");
	life();
	_exit(0);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void nap(long ns)
{
	struct timespec time = { 0, ns };

	nanosleep(&time, NULL);
}

static void nothing(void)
{
}

static void call(void)
{
	syscall(SYS_getppid);
}

static void wake_nobody(void)
{
	futex_wake(&shared->other);
}

static void wait_for_nothing(void)
{
	futex_wait(&shared->other, 1);
}

static void yield(void)
{
	sched_yield();
}

static void yield_for_ever(void)
{
	set_policy(SCHED_FIFO, 10);
	for (;;)
		sched_yield();
}

static void spin(void)
{
	for (;;)
		;
}

/* Waits for its turn, gives it back. */
static void answer(void)
{
	for (;;) {
		while (__atomic_load_n(&shared->turn, __ATOMIC_SEQ_CST) != 1)
			futex_wait(&shared->turn, 0);
		__atomic_store_n(&shared->turn, 0, __ATOMIC_SEQ_CST);
		futex_wake(&shared->turn);
	}
}

static void ask(void)
{
	__atomic_store_n(&shared->turn, 1, __ATOMIC_SEQ_CST);
	futex_wake(&shared->turn);
	while (__atomic_load_n(&shared->turn, __ATOMIC_SEQ_CST) != 0)
		futex_wait(&shared->turn, 1);
}

static void answer_by_pipe(void)
{
	char byte;

	while (read(forth[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
}

static void ask_by_pipe(void)
{
	char byte = 0;

	if (write(forth[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
		fail("pipe");
}

/* Sleeps on the word again and again, but never takes the CPU from a thread of another policy. */
static void wait_meekly(void)
{
	set_policy(SCHED_IDLE, 0);
	for (;;)
		futex_wait(&shared->other, 0);
}

/* A waker that goes on: the woken thread gets the CPU only while the waker naps. */
static void wake_somebody(void)
{
	pid_t child = partner(wait_meekly);

	for (int i = -WARM; i < ROUNDS; i++) {
		long long began;

		nap(100000);
		began = now();
		futex_wake(&shared->other);
		if (i >= 0)
			spent[i] = now() - began - look;
	}
	end(child);
	say("futex-wake", ROUNDS, 1);
}

/* Interrupts of a thread that only looks at the clock: what is lost between two looks, where that is more than ten looks. */
static void interrupts(const char *name)
{
	long long last = now(), at;
	int found = 0;

	while (found < ROUNDS) {
		at = now();
		if (at - last > 10 * look && at - last < 1000000 * insn_ns)
			spent[found++] = at - last - look;
		last = at;
	}
	say(name, ROUNDS, 1);
}

/* From one thread's last look to the next thread's first one, in a round of threads that look all the time. */
static void look_for_ever(void)
{
	for (;;)
		__atomic_store_n(&shared->began, now(), __ATOMIC_SEQ_CST);
}

static void switches_by_tick(void)
{
	pid_t child = partner(look_for_ever);
	long long last = now(), at;
	int found = 0;

	while (found < ROUNDS / 4) {
		at = now();
		if (at - last > 1000000 * insn_ns)
			spent[found++] = at - shared->began - look;
		last = at;
	}
	end(child);
	say("tick-and-switch", ROUNDS / 4, 1);
}

/* From a due time to the look of the thread that slept until then, on a CPU that is idle, or beside one that spins. */
static void timer(const char *name)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		long long due = now() + 1370000;
		struct timespec until = { due / 1000000000, due % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		spent[i] = now() - due - look;
	}
	say(name, ROUNDS / 4, 1);
}

/* A thread that never takes the CPU from another one looks at the clock: the first look after a sleep began says what that took. */
static void look_meekly(void)
{
	long long last = 0, at;

	set_policy(SCHED_IDLE, 0);
	for (;;) {
		at = now();
		if (at - last > 10 * look)
			__atomic_store_n(&shared->began, at, __ATOMIC_SEQ_CST);
		last = at;
	}
}

static void falls_asleep(const char *name, int *word)
{
	pid_t child = partner(look_meekly);
	struct timespec until = { 0, 200000 };

	nap(20000000);
	for (int i = -WARM; i < ROUNDS / 2; i++) {
		long long began = now();

		if (word)
			syscall(SYS_futex, word, FUTEX_WAIT, 0, &until, NULL, 0);
		else
			nap(200000);
		if (i >= 0)
			spent[i] = shared->began - began - look;
	}
	end(child);
	say(name, ROUNDS / 2, 1);
}

static void fork_and_wait(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void *end_at_once(void *unused)
{
	return unused;
}

/* A thread is made, ends, and is waited for; and the first part of that alone. */
static void make_threads(void)
{
	static long made[ROUNDS];

	for (int i = -WARM; i < ROUNDS; i++) {
		long long began = now(), then;
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_at_once, NULL))
			fail("pthread_create");
		then = now();
		pthread_join(thread, NULL);
		if (i >= 0) {
			spent[i] = now() - began - 2 * look;
			made[i] = then - began - look;
		}
	}
	say("thread-whole", ROUNDS, 1);
	memcpy(spent, made, sizeof(spent));
	say("thread-made", ROUNDS, 1);
}

static void with_partner(const char *name, int per, void (*life)(void), void (*path)(void))
{
	pid_t child = partner(life);

	nap(20000000);
	measure(name, per, path);
	end(child);
}

/* The other CPU's thread sleeps until it is woken, and says when it runs. */
static void wake_up_there(void)
{
	pin(1);
	for (;;) {
		__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&shared->turn, __ATOMIC_SEQ_CST) != 1)
			futex_wait(&shared->turn, 0);
		__atomic_store_n(&shared->began, now(), __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared->turn, 0, __ATOMIC_SEQ_CST);
	}
}

/* Waits until the other CPU's thread sleeps and its CPU idles. */
static void let_it_sleep(void)
{
	while (!__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST))
		others();
	for (int i = 0; i < 100; i++)
		others();
	nap(300000);
}

/*
 * A thread that sleeps on an idle CPU is woken from another one: what the waker executes, interrupt sent, and then what the woken
 * CPU does up to the thread's first look.
 */
static void wake_remote(void)
{
	static long received[ROUNDS];
	pid_t child = partner(wake_up_there);

	pin(0);
	for (int i = -WARM; i < ROUNDS; i++) {
		long long began, sent;

		let_it_sleep();
		__atomic_store_n(&shared->ready, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared->began, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared->turn, 1, __ATOMIC_SEQ_CST);
		began = now();
		futex_wake(&shared->turn);
		sent = now();
		while (!__atomic_load_n(&shared->began, __ATOMIC_SEQ_CST))
			others();
		if (i >= 0) {
			spent[i] = sent - began - look;
			received[i] = shared->began - sent - look;
		}
	}
	end(child);
	say("wake-remote", ROUNDS, 1);
	memcpy(spent, received, sizeof(spent));
	say("wake-received", ROUNDS, 1);
}

/* Tells when it goes to sleep for good until the next turn, long enough that balancing pays. */
static void sleep_there(void)
{
	pin(1);
	for (;;) {
		nap(800000);
		__atomic_store_n(&shared->began, now(), __ATOMIC_SEQ_CST);
	}
}

/*
 * What another CPU executes between a thread's last look there and its halt: the system call, the switch to the idle thread, and a
 * pass of balancing if another CPU has more threads than one.
 */
static void going_idle(const char *name)
{
	pid_t child = partner(sleep_there);
	int found = 0;

	pin(0);
	while (found < ROUNDS / 10) {
		long long at;

		__atomic_store_n(&shared->began, 0, __ATOMIC_SEQ_CST);
		nap(765000);
		while (!__atomic_load_n(&shared->began, __ATOMIC_SEQ_CST))
			others();
		/* All that this CPU executes while the other one does is part of it: as little as can be. */
		others();
		at = now();
		spent[found++] = at - shared->began - look;
	}
	end(child);
	say(name, ROUNDS / 10, 1);
}

static void spin_here(void)
{
	pin(0);
	set_policy(SCHED_IDLE, 0);
	for (;;)
		;
}

static void between_cpus(void)
{
	pid_t child;

	wake_remote();
	going_idle("sleep-to-idle");
	child = partner(spin_here);
	going_idle("sleep-and-balance");
	end(child);
}

int main(int argc, char **argv)
{
	pid_t child;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "insn_ns=", 8))
			insn_ns = atol(argv[i] + 8);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED || pipe(forth) || pipe(back) || mlockall(MCL_CURRENT) || prctl(PR_SET_TIMERSLACK, 1))
		fail("paths");
	measure("look", 1, nothing);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		between_cpus();
		return 0;
	}
	measure("call", 1, call);
	measure("futex-wake-nobody", 1, wake_nobody);
	measure("futex-wait-refused", 1, wait_for_nothing);
	wake_somebody();
	with_partner("futex-turn", 2, answer, ask);
	with_partner("pipe-turn", 2, answer_by_pipe, ask_by_pipe);
	measure("fork-exit-wait", 1, fork_and_wait);
	make_threads();
	falls_asleep("sleep-begins", NULL);
	falls_asleep("futex-wait-begins", &shared->other);
	timer("timer-idle");
	interrupts("tick");
	switches_by_tick();
	child = partner(spin);
	timer("timer-busy");
	end(child);
	set_policy(SCHED_FIFO, 10);
	measure("yield-alone", 1, yield);
	with_partner("yield-turn", 2, yield_for_ever, yield);
	return 0;
}
