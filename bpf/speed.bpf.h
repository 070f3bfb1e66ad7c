/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast: clocks follow events (Richling et al.), the energy-delay product (Merkel & Bellosa) and isolation's static
 * points (Grant & Afsahi).
 */
#ifndef __TANDEM_SPEED_H
#define __TANDEM_SPEED_H

#include "tandem.bpf.h"

static void speed_init(void)
{
}

static __always_inline s32 speed_pick_idle(struct task_struct *p, s32 prev_cpu)
{
	return -1;
}

static void speed_running(struct task_struct *p, struct task_ctx *tctx)
{
}

static void speed_stopping(struct task_struct *p, struct task_ctx *tctx, u64 ran)
{
}

static void speed_update_idle(s32 cpu, bool idle)
{
}

#endif /* __TANDEM_SPEED_H */
