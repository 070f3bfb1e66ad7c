/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that must stay where they are for a while: the kernel has disabled their migration (migrate_disable()).
 *
 * Under PREEMPT a task of this kind loses its CPU like any other, and must come back to that CPU. Its affinity does not show that at
 * first: `cpus_ptr` is narrowed to the CPU only after the task was queued (migrate_disable_switch), and `nr_cpus_allowed` never is. A
 * scheduler that sends the task to another CPU's local queue is ejected. From a queue that CPUs share, only the task's own CPU can take
 * it.
 */
#ifndef __TANDEM_STATE_MIGRATION_H
#define __TANDEM_STATE_MIGRATION_H

#include "facts.bpf.h"

/* By CPU: whether ops.cpu_release is running there, which calls `enqueue`. */
bool releasing[MAX_CPUS];

/*
 * Whether a task's migration is disabled. Linux 6.12 disables the current task's migration around each callback, and a second time in a
 * callback that is called from another one. These must not be taken for the task's own. Since 6.18 kernels do not always do this, so that
 * the count of the current task would be misread. But these kernels queue a task that must stay on its CPU without asking the scheduler
 * (SCX_OPS_ENQ_MIGRATION_DISABLED). Where the task may be the current one, the answer is used for these tasks only.
 */
static __always_inline bool must_stay(const struct task_struct *p)
{
	u32 disabled = bpf_core_field_exists(p->migration_disabled) ? p->migration_disabled : 0;

	return disabled && (disabled > 2 ||
			    (disabled > 1 && !releasing[bpf_get_smp_processor_id() & (MAX_CPUS - 1)]) ||
			    p != bpf_get_current_task_btf());
}

#endif /* __TANDEM_STATE_MIGRATION_H */
