/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's end: the exit record, by the names that loaders look for (tools/sched_ext/include/scx/user_exit_info.h), and the
 * request to be loaded again.
 */
#ifndef __TANDEM_STATE_EXIT_H
#define __TANDEM_STATE_EXIT_H

#include "state.bpf.h"

struct user_exit_info {
	int kind;
	s64 exit_code;
	char reason[128];
	char msg[1024];
};

struct user_exit_info uei;

void BPF_STRUCT_OPS(tandem_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(uei.reason, sizeof(uei.reason), info->reason);
	bpf_probe_read_kernel_str(uei.msg, sizeof(uei.msg), info->msg);
	uei.exit_code = info->exit_code;
	/* The kind is written last, as loaders wait for it. */
	__sync_fetch_and_or(&uei.kind, info->kind);
}

/*
 * Asks to be loaded again because a CPU comes or goes. The kernel does the same for a scheduler without callbacks for CPUs
 * (handle_hotplug).
 */
static void restart_for(s32 cpu, bool online)
{
	scx_exit(SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG, "cpu %d going %s, exiting scheduler", cpu,
		 (u64)(online ? "online" : "offline"));
}

#endif /* __TANDEM_STATE_EXIT_H */
