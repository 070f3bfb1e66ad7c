/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's end: its record, and the request to be loaded again.
 */
#ifndef __TANDEM_STATE_EXIT_H
#define __TANDEM_STATE_EXIT_H

#include "state.bpf.h"
#include "../include/exit.bpf.h"

void BPF_STRUCT_OPS(tandem_exit, struct scx_exit_info *info)
{
	exit_record(info);
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
