/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that makes one mistake on purpose, which the setting `fault` chooses: one for each way in which
 * sched_ext ends a scheduler, or stops a program.
 *
 * The line that makes the mistake ends in a comment with the fault's name, so that a test can look up its number.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

enum fault {
	FAULT_NONE,

	/* sched_ext ends the scheduler: SCX_EXIT_ERROR */
	FAULT_UNKNOWN_DSQ,
	FAULT_CONSUME_UNKNOWN_DSQ,
	FAULT_SELECT_CPU,
	FAULT_KICK_CPU,
	FAULT_DOUBLE_DISPATCH,
	FAULT_DISALLOWED_CPU,
	FAULT_VTIME_BUILTIN,
	FAULT_VTIME_MIXED,
	FAULT_DISPATCH_OVERFLOW,
	FAULT_WRONG_CONTEXT,
	FAULT_ENQ_FLAGS,
	FAULT_DESTROY_BUSY_DSQ,
	FAULT_FORK_DISALLOW,

	/* the watchdog does: SCX_EXIT_ERROR_STALL */
	FAULT_STALL,

	/* the scheduler asks for it: SCX_EXIT_ERROR_BPF, SCX_EXIT_UNREG_BPF */
	FAULT_ERROR,
	FAULT_EXIT,
	FAULT_RESTART,

	/* the program itself goes wrong; the kernel's verifier would refuse to load it */
	FAULT_OUT_OF_BOUNDS,
	FAULT_NULL,
	FAULT_ENDLESS_LOOP,

	/* loading or forking fails */
	FAULT_INIT,
	FAULT_INIT_TASK,
	FAULT_FORK,
};

enum {
	SHARED_DSQ = 0,
	NO_SUCH_DSQ = 0xdead,
	MAX_BATCH = 4,
};

const volatile enum fault fault;

/* The mistake is made from this enqueued task on. */
const volatile u64 after = 10;

const volatile bool forever = true;

u64 nr_enqueued;
u64 nr_dispatched;
s32 last_pid;
bool dropped;

UEI_DEFINE(uei);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

/* In a section of its own: no object lies behind it. */
u64 table[4] SEC(".data.table");

static __always_inline bool due(enum fault which)
{
	return fault == which && nr_enqueued >= after;
}

/* A value that the compiler cannot know. */
#define HIDDEN(value)					\
({							\
	u64 __hidden_value = (value);			\
	asm volatile("" : "+r"(__hidden_value));	\
	__hidden_value;					\
})

/* Keeps the compiler from making one call, of no line, out of those of several branches. */
#define APART asm volatile("" : : "i"(__LINE__))

static s32 disallowed_cpu(const struct task_struct *p)
{
	s32 cpu;

	bpf_for(cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			return cpu;
	}
	return -1;
}

s32 BPF_STRUCT_OPS(faulty_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	if (due(FAULT_SELECT_CPU))
		return 1 << 20;							/* FAULT_SELECT_CPU */

	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (due(FAULT_DOUBLE_DISPATCH)) {
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		scx_bpf_dispatch(p, SHARED_DSQ, SCX_SLICE_DFL, 0);		/* FAULT_DOUBLE_DISPATCH */
	}
	return cpu;
}

/* Mistakes of the program itself. */
static void go_wrong(void)
{
	u32 key = 4;
	u64 *counter;

	if (due(FAULT_OUT_OF_BOUNDS))
		table[HIDDEN(4)] = 1;						/* FAULT_OUT_OF_BOUNDS */

	if (due(FAULT_NULL)) {
		counter = bpf_map_lookup_elem(&counters, &key);
		*counter += 1;							/* FAULT_NULL */
	}

	if (due(FAULT_ENDLESS_LOOP)) {
		while (forever)							/* FAULT_ENDLESS_LOOP */
			;
	}
}

/* What the scheduler asks for. */
static void ask_for_exit(struct task_struct *p)
{
	if (due(FAULT_ERROR))
		scx_bpf_error("%s[%d] is unwanted", p->comm, p->pid);		/* FAULT_ERROR */

	if (due(FAULT_EXIT))
		scx_bpf_exit(42, "enough after %llu tasks", nr_enqueued);	/* FAULT_EXIT */

	if (due(FAULT_RESTART))
		scx_bpf_exit(SCX_ECODE_ACT_RESTART | 7, "once more");		/* FAULT_RESTART */
}

/* Whether the task was queued by mistake. */
static bool queue_wrong(struct task_struct *p, u64 enq_flags)
{
	u64 slice = SCX_SLICE_DFL;
	s32 cpu;

	if (due(FAULT_UNKNOWN_DSQ)) {
		scx_bpf_dispatch(p, NO_SUCH_DSQ, slice, enq_flags);		/* FAULT_UNKNOWN_DSQ */
		APART;
		return true;
	}
	if (due(FAULT_DISALLOWED_CPU) && (cpu = disallowed_cpu(p)) >= 0) {
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL_ON | cpu, slice, enq_flags);	/* FAULT_DISALLOWED_CPU */
		APART;
		return true;
	}
	if (due(FAULT_VTIME_BUILTIN)) {
		scx_bpf_dispatch_vtime(p, SCX_DSQ_GLOBAL, slice, 0, enq_flags);	/* FAULT_VTIME_BUILTIN */
		APART;
		return true;
	}
	if (due(FAULT_VTIME_MIXED) && scx_bpf_dsq_nr_queued(SHARED_DSQ)) {
		scx_bpf_dispatch_vtime(p, SHARED_DSQ, slice, 0, enq_flags);	/* FAULT_VTIME_MIXED */
		APART;
		return true;
	}
	if (due(FAULT_ENQ_FLAGS)) {
		scx_bpf_dispatch(p, SHARED_DSQ, slice, SCX_ENQ_DSQ_PRIQ);	/* FAULT_ENQ_FLAGS */
		APART;
		return true;
	}
	if (due(FAULT_STALL) && !dropped) {
		dropped = true;
		return true;							/* FAULT_STALL */
	}
	return false;
}

void BPF_STRUCT_OPS(faulty_enqueue, struct task_struct *p, u64 enq_flags)
{
	nr_enqueued++;
	last_pid = p->pid;

	go_wrong();
	ask_for_exit(p);

	if (due(FAULT_KICK_CPU))
		scx_bpf_kick_cpu(1 << 20, 0);					/* FAULT_KICK_CPU */
	if (due(FAULT_DESTROY_BUSY_DSQ) && scx_bpf_dsq_nr_queued(SHARED_DSQ))
		scx_bpf_destroy_dsq(SHARED_DSQ);				/* FAULT_DESTROY_BUSY_DSQ */

	if (!queue_wrong(p, enq_flags))
		scx_bpf_dispatch(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(faulty_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p;

	nr_dispatched++;

	if (due(FAULT_CONSUME_UNKNOWN_DSQ))
		scx_bpf_consume(NO_SUCH_DSQ);					/* FAULT_CONSUME_UNKNOWN_DSQ */

	if (due(FAULT_DISPATCH_OVERFLOW) && (p = bpf_task_from_pid(last_pid))) {
		bpf_repeat(MAX_BATCH + 1)
			scx_bpf_dispatch(p, SHARED_DSQ, SCX_SLICE_DFL, 0);	/* FAULT_DISPATCH_OVERFLOW */
		bpf_task_release(p);
	}

	scx_bpf_consume(SHARED_DSQ);
}

void BPF_STRUCT_OPS(faulty_running, struct task_struct *p)
{
	if (due(FAULT_WRONG_CONTEXT))
		scx_bpf_dispatch(p, SHARED_DSQ, SCX_SLICE_DFL, 0);		/* FAULT_WRONG_CONTEXT */
}

s32 BPF_STRUCT_OPS(faulty_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	if (fault == FAULT_INIT_TASK && !args->fork)
		return -ENOSPC;							/* FAULT_INIT_TASK */
	if (fault == FAULT_FORK && args->fork)
		return -EAGAIN;							/* FAULT_FORK */
	if (fault == FAULT_FORK_DISALLOW && args->fork)
		p->scx.disallow = true;						/* FAULT_FORK_DISALLOW */
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(faulty_init)
{
	if (fault == FAULT_INIT)
		return -ENOMEM;							/* FAULT_INIT */

	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

void BPF_STRUCT_OPS(faulty_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(faulty_ops,
	       .select_cpu		= (void *)faulty_select_cpu,
	       .enqueue			= (void *)faulty_enqueue,
	       .dispatch		= (void *)faulty_dispatch,
	       .running			= (void *)faulty_running,
	       .init_task		= (void *)faulty_init_task,
	       .init			= (void *)faulty_init,
	       .exit			= (void *)faulty_exit,
	       .dispatch_max_batch	= MAX_BATCH,
	       .timeout_ms		= 1000,
	       .name			= "faulty");
