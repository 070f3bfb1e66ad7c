// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload asks for that the kernel model does not have; a report must say so.

use crate::workload::{Op, Policy, TaskSpec, Workload};

/// One warning per gap that `workload` touches.
pub(super) fn of(workload: &Workload) -> Vec<String> {
    let mut warnings = Vec::new();
    if workload.tasks.iter().any(uses_deadline) {
        warnings
            .push("SCHED_DEADLINE runs above all real-time priorities, without budget, deadline or admission".into());
    }
    if workload.priority_inheritance {
        warnings.push("`pi_enabled`: mutexes do not inherit priority".into());
    }
    if workload.tasks.iter().any(uses_task_group) {
        warnings.push("`taskgroup`: all threads compete as if in one group".into());
    }
    warnings
}

fn uses_deadline(kind: &TaskSpec) -> bool {
    let is_deadline = |policy: &Policy| matches!(policy, Policy::Deadline { .. });
    let changes = |op: &Op| matches!(op, Op::SetScheduling(scheduling) if is_deadline(&scheduling.policy));
    is_deadline(&kind.scheduling.policy) || kind.program.iter().any(changes)
}

fn uses_task_group(kind: &TaskSpec) -> bool {
    let changes = |op: &Op| matches!(op, Op::SetTaskGroup(Some(_)));
    kind.task_group.is_some() || kind.program.iter().any(changes)
}
