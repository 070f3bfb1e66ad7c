/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that must stay where they are for a while: the kernel has disabled their migration (migrate_disable()).
 *
 * Under PREEMPT such a task loses its CPU like any other, and must come back to it. Its affinity does not say so at first:
 * `cpus_ptr` is narrowed to the CPU only after the task was queued (migrate_disable_switch), and `nr_cpus_allowed` never is. A
 * scheduler that sends it to another CPU's local queue is ejected; out of a queue that CPUs share only its own can take it.
 */
#ifndef __TANDEM_STATE_MIGRATION_H
#define __TANDEM_STATE_MIGRATION_H

#include "facts.bpf.h"

/* By CPU: whether ops.cpu_release is under way there, from which `enqueue` is called. */
bool releasing[MAX_CPUS];

/*
 * Whether a task's migration is disabled. Linux 6.12 disables the current task's around each callback, which this must not
 * take for the task's own; a callback that is called from another one is the second. Kernels do not always do so since 6.18,
 * and would be misread; but these queue what must stay on its CPU without asking (SCX_OPS_ENQ_MIGRATION_DISABLED), and only of such
 * a task is the answer used where it can be the current one.
 */
static __always_inline bool must_stay(const struct task_struct *p)
{
	u32 disabled = bpf_core_field_exists(p->migration_disabled) ? p->migration_disabled : 0;

	return disabled && (disabled > 2 ||
			    (disabled > 1 && !releasing[bpf_get_smp_processor_id() & (MAX_CPUS - 1)]) ||
			    p != bpf_get_current_task_btf());
}

#endif /* __TANDEM_STATE_MIGRATION_H */
