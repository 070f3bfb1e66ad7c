/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory intensity of tasks, from performance counters.
 */
#ifndef __TANDEM_COUNTERS_H
#define __TANDEM_COUNTERS_H

#include "tandem.bpf.h"

static __always_inline void counters_running(struct task_ctx *tctx)
{
}

static __always_inline void counters_stopping(struct task_ctx *tctx, u64 ran)
{
}

#endif /* __TANDEM_COUNTERS_H */
