/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When: serial phases first, then seniority among parallel applications (Morad, Kolodny & Weiser).
 */
#ifndef __TANDEM_SERIAL_H
#define __TANDEM_SERIAL_H

#include "tandem.bpf.h"

static void serial_init(void)
{
}

static __always_inline enum rank serial_rank(struct task_struct *p, struct task_ctx *tctx)
{
	return RANK_NORMAL;
}

static void serial_preempt(struct task_struct *p, struct task_ctx *tctx)
{
}

static bool serial_dispatch(s32 cpu)
{
	return dsq_move_to_local(QUEUE_SERIAL) || dsq_move_to_local(QUEUE_SENIOR);
}

static void serial_runnable(struct task_struct *p, struct task_ctx *tctx)
{
}

static void serial_quiescent(struct task_struct *p, struct task_ctx *tctx)
{
}

static void serial_stopping(struct task_struct *p, struct task_ctx *tctx, u64 ran)
{
}

#endif /* __TANDEM_SERIAL_H */
