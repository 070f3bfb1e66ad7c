/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU: the longest job on the fastest CPU (Lakshminarayana & Kim, LJFPF).
 */
#ifndef __TANDEM_LONGEST_H
#define __TANDEM_LONGEST_H

#include "tandem.bpf.h"

static void longest_init(void)
{
}

static __always_inline enum wish longest_wish(struct task_struct *p, struct task_ctx *tctx)
{
	return WISH_ANY;
}

static void longest_init_task(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
}

static void longest_exit_task(struct task_struct *p, struct task_ctx *tctx)
{
}

static void longest_runnable(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
}

static void longest_quiescent(struct task_struct *p, struct task_ctx *tctx, u64 deq_flags)
{
}

static void longest_stopping(struct task_struct *p, struct task_ctx *tctx, u64 ran, bool runnable)
{
}

#endif /* __TANDEM_LONGEST_H */
