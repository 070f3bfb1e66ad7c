/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler with a mode, and a wish that its loader tells it.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

enum steered_mode {
	STEERED_MODE_NONE,
	STEERED_MODE_AUTO,
	STEERED_MODE_PERFORMANCE,
	STEERED_MODE_BALANCED,
	STEERED_MODE_POWERSAVE,
};

enum steered_wish {
	STEERED_WISH_PERFORMANCE,
	STEERED_WISH_BALANCED,
	STEERED_WISH_POWERSAVE,
	STEERED_WISH_UNTOLD,
};

const volatile enum steered_mode mode = STEERED_MODE_NONE;

/* Alone in its section: a loader writes a section as a whole. */
volatile enum steered_wish wish SEC(".data.wish") = STEERED_WISH_UNTOLD;

UEI_DEFINE(uei);

void BPF_STRUCT_OPS(steered_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dispatch(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(steered_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(steered_ops,
	       .enqueue = (void *)steered_enqueue,
	       .exit = (void *)steered_exit,
	       .name = "steered");
