/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler that writes what only the kernel may write, or has the kernel's functions work without end, as the
 * setting `fault` chooses. The kernel's verifier would refuse to load any of it.
 *
 * The line that is stopped ends in a comment.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

enum fault {
	FAULT_NONE,
	FAULT_FORGED_TASK,
	FAULT_FORGED_MM,
	FAULT_FORGED_RQ,
	FAULT_FORGED_STACK,
	FAULT_FORGED_QUEUE,
	FAULT_LEFT_ITERATOR,
	FAULT_LEFT_QUEUE,
	FAULT_WRITTEN_KPTR,
	FAULT_LONG_COPIES,
};

const volatile enum fault fault;

/* The mistake is made from this enqueued task on. */
const volatile u64 after = 10;

u64 nr_enqueued;

/* What only bpf_kptr_xchg may write. */
struct bpf_cpumask __kptr *owned;

char original[1 << 20];
char copy[1 << 20];

UEI_DEFINE(uei);

int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *words, u32 nr_words) __ksym __weak;
void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym __weak;

/* An iterator as a kernel has one over 128 bits: the address of a copy of the bits, their number. */
static void forge(u64 bits)
{
	struct bpf_iter_bits it;

	((volatile u64 *)&it)[0] = bits;
	((volatile u64 *)&it)[1] = 128;
	bpf_iter_bits_destroy(&it);						/* FORGED */
}

static void free_what_is_not_ours(struct task_struct *p)
{
	u64 frame;

	asm volatile("%0 = r10" : "=r"(frame));
	if (fault == FAULT_FORGED_TASK)
		forge((u64)p);
	if (fault == FAULT_FORGED_MM)
		forge((u64)p->mm);
	if (fault == FAULT_FORGED_RQ)
		forge((u64)scx_bpf_cpu_rq(0));
	if (fault == FAULT_FORGED_STACK)
		forge(frame - 512);
}

static void misuse_iterators(void)
{
	struct bpf_iter_scx_dsq queue;
	struct bpf_iter_bits bits;
	u64 word = 5;

	if (fault == FAULT_FORGED_QUEUE) {
		*(volatile u64 *)&queue = 1;
		bpf_iter_scx_dsq_next(&queue);					/* FAULT_FORGED_QUEUE */
	}
	if (fault == FAULT_LEFT_ITERATOR)
		bpf_iter_bits_new(&bits, &word, 1);
	if (fault == FAULT_LEFT_QUEUE)
		bpf_iter_scx_dsq_new(&queue, 0, 0);
}

void BPF_STRUCT_OPS(forging_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (++nr_enqueued >= after) {
		free_what_is_not_ours(p);
		misuse_iterators();
		if (fault == FAULT_WRITTEN_KPTR)
			*(volatile u64 *)&owned = (u64)p;			/* FAULT_WRITTEN_KPTR */
		if (fault == FAULT_LONG_COPIES) {
			bpf_repeat(1024)
				bpf_probe_read_kernel(copy, sizeof(copy), original);	/* FAULT_LONG_COPIES */
		}
	}
	scx_bpf_dispatch(p, 0, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(forging_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_consume(0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(forging_init)
{
	return scx_bpf_create_dsq(0, -1);
}

void BPF_STRUCT_OPS(forging_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(forging_ops,
	       .enqueue			= (void *)forging_enqueue,
	       .dispatch		= (void *)forging_dispatch,
	       .init			= (void *)forging_init,
	       .exit			= (void *)forging_exit,
	       .name			= "forging");
