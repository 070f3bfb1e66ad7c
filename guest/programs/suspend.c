// SPDX-License-Identifier: GPL-2.0-only
// Suspends the machine in steps (Documentation/power/basic-pm-debugging.rst), beside threads that compute and that sleep, and
// looks whether all goes on afterwards.
//
//   suspend stays|returns THREADS LEVEL...
//
// A level is one of the kernel's pm_test: freezer, devices, platform, processors, core; or it is no test: memory (S3), from which
// somebody outside has to wake the machine. Says of each whether it came to its end, which scheduler there is and how
// often one was loaded, which CPUs are online, how often the scheduler was told that one goes or comes and was asked for a task within
// the second after, and how many threads went on in that second. Exit status: 0 if all is as it should be: the scheduler `stays`, and
// hears of each CPU; or, where CPUs go, it leaves and `returns`, loaded once more, within ten minutes.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
#define SCHED_EXT "/sys/kernel/sched_ext/"

// Threads, bytes of a word, and seconds that a scheduler may take to return.
enum { THREADS_MOST = 64, WORD_MOST = 128, RETURN_S = 600 };

static atomic_long done[THREADS_MOST];

// Writes a word to a file of the kernel's; the error, or 0.
static int put(const char *path, const char *word)
{
	int file = open(path, O_WRONLY), error = 0;

	if (file < 0 || write(file, word, strlen(word)) < 0)
		error = errno;
	if (file >= 0)
		close(file);
	return error;
}

// The first line of a file; empty if it cannot be read.
static void get(const char *path, char *word)
{
	int file = open(path, O_RDONLY);
	ssize_t length = file < 0 ? 0 : read(file, word, WORD_MOST - 1);

	if (file >= 0)
		close(file);
	word[length > 0 ? length : 0] = 0;
	word[strcspn(word, "\n")] = 0;
}

// Every second one computes, every second one sleeps; the last one computes on the last CPU.
static void *work(void *number)
{
	long own = (long)number;

	for (;;) {
		for (volatile int turn = 0; turn < 10000; turn++)
			;
		atomic_fetch_add(&done[own], 1);
		if (own % 2 == 0)
			usleep(2000);
	}
	return NULL;
}

static void begin(long threads)
{
	for (long number = 0; number < threads; number++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)number))
			exit(2);
		if (number == threads - 1) {
			cpu_set_t last;

			CPU_ZERO(&last);
			CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
			pthread_setaffinity_np(thread, sizeof(last), &last);
		}
	}
}

// How many threads do something within a second.
static int going_on(long threads)
{
	long before[THREADS_MOST];
	int count = 0;

	for (long number = 0; number < threads; number++)
		before[number] = done[number];
	sleep(1);
	for (long number = 0; number < threads; number++)
		count += done[number] > before[number];
	return count;
}

// The scheduler's name and how often one has been loaded.
static void scheduler(char *said)
{
	char name[WORD_MOST], loaded[WORD_MOST];

	get(SCHED_EXT "root/ops", name);
	get(SCHED_EXT "enable_seq", loaded);
	snprintf(said, 2 * WORD_MOST, "%.100s, loaded %.20s", *name ? name : "none", loaded);
}

static bool is_loaded(void)
{
	char name[WORD_MOST];

	get(SCHED_EXT "root/ops", name);
	return *name;
}

static long bpf(int what, union bpf_attr *attr)
{
	return syscall(SYS_bpf, what, attr, sizeof(*attr));
}

// How often loaded programs of this name have been called, since the kernel counts it; names have 15 characters.
static long calls(const char *name)
{
	union bpf_attr next = {}, open, ask;
	long count = 0;

	while (!bpf(BPF_PROG_GET_NEXT_ID, &next)) {
		struct bpf_prog_info info = {};

		next.start_id = next.next_id;
		memset(&open, 0, sizeof(open));
		open.prog_id = next.next_id;
		long program = bpf(BPF_PROG_GET_FD_BY_ID, &open);
		if (program < 0)
			continue;
		memset(&ask, 0, sizeof(ask));
		ask.info.bpf_fd = program;
		ask.info.info_len = sizeof(info);
		ask.info.info = (unsigned long)&info;
		if (!bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) && !strncmp(info.name, name, sizeof(info.name) - 1))
			count += info.run_cnt;
		close(program);
	}
	return count;
}

struct level {
	const char *name;
	const char *test;
	bool takes_cpus;
};

// What is written to pm_test, and whether all CPUs but one go offline.
static const struct level levels[] = {
	{ "freezer", "freezer", false },
	{ "devices", "devices", false },
	{ "platform", "platform", false },
	{ "processors", "processors", true },
	{ "core", "core", true },
	{ "memory", "none", true },
};

static const struct level *level_of(const char *name)
{
	for (size_t number = 0; number < sizeof(levels) / sizeof(*levels); number++)
		if (!strcmp(levels[number].name, name))
			return &levels[number];
	fprintf(stderr, "there is no level %s\n", name);
	exit(2);
}

// Suspends, and comes back; the error, or 0. So long it took in seconds.
static int suspend(const struct level *level, double *took)
{
	struct timespec began, ended;
	int error = put("/sys/power/pm_test", level->test);

	if (!error)
		error = put("/sys/power/mem_sleep", "deep");
	clock_gettime(CLOCK_BOOTTIME, &began);
	if (!error)
		error = put("/sys/power/state", "mem");
	clock_gettime(CLOCK_BOOTTIME, &ended);
	*took = ended.tv_sec - began.tv_sec + (ended.tv_nsec - began.tv_nsec) / 1e9;
	return error;
}

// Waits until a scheduler is there that has been loaded since; its name and number otherwise. The verifier takes a while if emulated.
static void await(const char *before, char *after)
{
	for (int tries = 0; tries < RETURN_S * 10; tries++) {
		scheduler(after);
		if (strcmp(before, after) && is_loaded())
			return;
		usleep(100000);
	}
}

// Whether a scheduler that was loaded so often was loaded once more.
static bool once_more(const char *before, const char *after)
{
	const char *one = strrchr(before, ' '), *two = strrchr(after, ' ');

	return one - before == two - after && !strncmp(before, after, one - before) && atol(two) == atol(one) + 1;
}

static bool try(const struct level *level, bool returns, long threads)
{
	char before[2 * WORD_MOST], after[2 * WORD_MOST], online[WORD_MOST], again[WORD_MOST];
	bool had = is_loaded(), leaves = returns && level->takes_cpus && had, right;
	long gone = calls("tandem_cpu_offline"), came = calls("tandem_cpu_online"), asked, wanted;
	double took;

	scheduler(before);
	get(ONLINE, online);
	int error = suspend(level, &took);
	if (leaves && !error)
		await(before, after);
	gone = calls("tandem_cpu_offline") - gone;
	came = calls("tandem_cpu_online") - came;
	asked = calls("tandem_dispatch");
	int count = going_on(threads);
	asked = calls("tandem_dispatch") - asked;
	scheduler(after);
	get(ONLINE, again);
	wanted = had && level->takes_cpus ? sysconf(_SC_NPROCESSORS_ONLN) - 1 : 0;
	right = !error && !strcmp(online, again) && count == threads && (asked > 0) == had;
	right = right && (leaves ? once_more(before, after) : !strcmp(before, after) && gone == wanted && came == wanted);
	printf("%s %s: %s, after %.1f s; %s, before %s; CPUs %s of %s; %ld went, %ld came; asked for %ld tasks; %d of %ld threads went on\n",
	       right ? "right" : "wrong", level->name, error ? strerror(error) : "came back", took, after, before, again, online, gone, came,
	       asked, count, threads);
	return right;
}

int main(int count, char **words)
{
	union bpf_attr statistics = { .enable_stats.type = BPF_STATS_RUN_TIME };
	long threads = count > 3 ? atol(words[2]) : 0;
	bool returns = count > 3 && !strcmp(words[1], "returns");
	int wrong = 0;

	if (threads < 1 || threads > THREADS_MOST || (!returns && strcmp(words[1], "stays")))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (bpf(BPF_ENABLE_STATS, &statistics) < 0)
		perror("BPF_ENABLE_STATS");
	begin(threads);
	sleep(1);
	for (int level = 3; level < count; level++)
		wrong += !try(level_of(words[level]), returns, threads);
	return wrong > 0;
}
