/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that never comes to rest: in each mode it asks, for everything that is done, for one thing more. A kernel
 * would be kept busy by it, and would give threads no time.
 */
#include "include/either.bpf.h"

char _license[] SEC("license") = "GPL";

enum mode {
	/* A CPU that looks for work kicks itself. */
	MODE_KICK,
	/* A CPU that looks for work kicks its neighbour. */
	MODE_KICK_OTHER,
	/* A task that is enqueued takes the CPU of the one that runs. */
	MODE_PREEMPT,
	/* A CPU that looks for work sets a timer for at once, which kicks the CPU. */
	MODE_TIMER,
	/* A task that goes into the shared queue is to be given back (7.x). */
	MODE_REENQ,
	/* As many queues as there is memory for. */
	MODE_QUEUES,
	/* A value for each task. */
	MODE_STORAGE,
	/* As many CPU masks as there is memory for. */
	MODE_MASKS,
};

enum {
	SHARED_DSQ = 0,
	FIRST_DSQ = 1,
	MOST = 1 << 20,
	VALUE_SIZE = 60000,
};

#define CLOCK_MONOTONIC 1

const volatile enum mode mode;

/* How often memory was given and refused, and the last error. */
u64 nr_given, nr_refused;
s64 errno;

UEI_DEFINE(uei);

struct alarm {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct alarm);
} alarms SEC(".maps");

struct large {
	u8 bytes[VALUE_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct large);
} storage SEC(".maps");

static struct alarm *alarm(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&alarms, &key);
}

static int alarm_fired(void *map, int *key, struct alarm *value)
{
	scx_bpf_kick_cpu(bpf_get_smp_processor_id(), 0);
	return 0;
}

void BPF_STRUCT_OPS(restless_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (mode == MODE_PREEMPT) {
		insert(p, SCX_DSQ_LOCAL, enq_flags | SCX_ENQ_PREEMPT);
		return;
	}
	insert(p, SHARED_DSQ, enq_flags);
	if (mode == MODE_REENQ && bpf_ksym_exists(scx_bpf_dsq_reenq))
		scx_bpf_dsq_reenq(SHARED_DSQ, 0);
}

void BPF_STRUCT_OPS(restless_dispatch, s32 cpu, struct task_struct *prev)
{
	struct alarm *own;

	if (mode == MODE_KICK)
		scx_bpf_kick_cpu(cpu, 0);
	if (mode == MODE_KICK_OTHER)
		scx_bpf_kick_cpu(cpu ^ 1, 0);
	if (mode == MODE_TIMER && (own = alarm()))
		bpf_timer_start(&own->timer, 0, 0);

	move_to_local(SHARED_DSQ);
}

s32 BPF_STRUCT_OPS(restless_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	if (mode != MODE_STORAGE)
		return 0;
	if (bpf_task_storage_get(&storage, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		nr_given++;
	else
		nr_refused++;
	return 0;
}

static void say(void)
{
	bpf_printk("given %llu refused %llu errno %lld", nr_given, nr_refused, errno);
}

static void make_queues(void)
{
	u32 number;

	bpf_for(number, 0, MOST) {
		errno = scx_bpf_create_dsq(FIRST_DSQ + number, -1);
		if (errno)
			return;
		nr_given++;
	}
}

static void make_masks(void)
{
	struct bpf_cpumask *mask;
	u32 number;

	bpf_for(number, 0, MOST) {
		mask = bpf_cpumask_create();
		if (!mask) {
			nr_refused++;
			return;
		}
		/* It stays: nothing says so to the verifier, which would refuse this. */
		nr_given++;
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(restless_init)
{
	struct alarm *own = alarm();
	s32 err;

	if (!own)
		return -ENOENT;
	bpf_timer_init(&own->timer, &alarms, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&own->timer, alarm_fired);
	err = scx_bpf_create_dsq(SHARED_DSQ, -1);
	if (mode == MODE_QUEUES)
		make_queues();
	if (mode == MODE_MASKS)
		make_masks();
	if (nr_given) {
		/* Nothing is left for tasks. */
		say();
		return -ENOMEM;
	}
	return err;
}

void BPF_STRUCT_OPS(restless_exit, struct scx_exit_info *ei)
{
	say();
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(restless_ops,
	       .enqueue			= (void *)restless_enqueue,
	       .dispatch		= (void *)restless_dispatch,
	       .init_task		= (void *)restless_init_task,
	       .init			= (void *)restless_init,
	       .exit			= (void *)restless_exit,
	       .name			= "restless");
