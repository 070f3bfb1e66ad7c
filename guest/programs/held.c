// SPDX-License-Identifier: GPL-2.0-only
// Threads that are in BPF programs nearly all the time, where their migration is disabled: the kernel runs a program that only
// returns a million times for each, and enables migration between two runs where it wants the CPU back. With full preemption it
// takes the CPU within a run, too.
//
//   held THREADS SECONDS
//
// Says how many million runs there were.

#define _GNU_SOURCE
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { REPEAT = 1000000 };

static int program;
static time_t end;
static atomic_long rounds;

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

// r0 = 0; exit
static int load(void)
{
	static const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (unsigned long)instructions,
		.insn_cnt = 2,
		.license = (unsigned long)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

// A program's test wants a packet, of an Ethernet header at least.
static void *run(void *unused)
{
	char packet[64] = { 0 };

	while (time(NULL) < end) {
		union bpf_attr attr = { .test = {
			.prog_fd = program,
			.data_in = (unsigned long)packet,
			.data_size_in = sizeof(packet),
			.repeat = REPEAT,
		} };

		if (bpf(BPF_PROG_TEST_RUN, &attr)) {
			perror("held: the program does not run");
			exit(1);
		}
		atomic_fetch_add(&rounds, 1);
		usleep(100);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4, seconds = argc > 2 ? atoi(argv[2]) : 5;

	program = load();
	if (program < 0) {
		perror("held: the program cannot be loaded");
		return 1;
	}
	end = time(NULL) + seconds;
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL)) {
			perror("held: no thread");
			return 1;
		}
		pthread_detach(thread);
	}
	while (time(NULL) <= end)
		usleep(100000);
	printf("held: %ld million runs\n", atomic_load(&rounds));
	return 0;
}
