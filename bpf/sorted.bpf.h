/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With whom: run queues sorted by memory intensity, in synchronised epochs (Merkel & Bellosa).
 */
#ifndef __TANDEM_SORTED_H
#define __TANDEM_SORTED_H

#include "tandem.bpf.h"

static void sorted_init(void)
{
}

static void sorted_enqueue(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	dsq_insert_vtime(p, QUEUE_NORMAL, slice_ns(), p->scx.dsq_vtime, enq_flags);
}

static bool sorted_dispatch(s32 cpu)
{
	return false;
}

static void sorted_running(struct task_struct *p, struct task_ctx *tctx)
{
}

static void sorted_stopping(struct task_struct *p, struct task_ctx *tctx, u64 ran, bool runnable)
{
}

#endif /* __TANDEM_SORTED_H */
