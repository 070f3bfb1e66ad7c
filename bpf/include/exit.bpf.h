/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a scheduler's end, by the names that loaders look for (tools/sched_ext/include/scx/user_exit_info.h).
 */
#ifndef __TANDEM_EXIT_H
#define __TANDEM_EXIT_H

#include "scx.bpf.h"

struct user_exit_info {
	int kind;
	s64 exit_code;
	char reason[128];
	char msg[1024];
};

struct user_exit_info uei;

static __always_inline void exit_record(struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(uei.reason, sizeof(uei.reason), info->reason);
	bpf_probe_read_kernel_str(uei.msg, sizeof(uei.msg), info->msg);
	uei.exit_code = info->exit_code;
	/* The kind is written last, as loaders wait for it. */
	__sync_fetch_and_or(&uei.kind, info->kind);
}

#endif /* __TANDEM_EXIT_H */
