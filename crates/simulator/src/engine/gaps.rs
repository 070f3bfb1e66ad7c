// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload asks for that the kernel model does not have; a report must say so.

use crate::options::Scheduler;
use crate::workload::{Op, TaskSpec, Workload};

/// One warning per gap that `workload` touches under `scheduler`.
pub(super) fn of(workload: &Workload, scheduler: &Scheduler) -> Vec<String> {
    let mut warnings = Vec::new();
    // A loaded scheduler has the groups; what it makes of them is its own affair.
    if *scheduler == Scheduler::Fair && workload.tasks.iter().any(uses_task_group) {
        warnings.push("`taskgroup`: all threads of the fair class compete as if in one group".into());
    }
    warnings
}

fn uses_task_group(kind: &TaskSpec) -> bool {
    let changes = |op: &Op| matches!(op, Op::SetTaskGroup(Some(_)));
    kind.task_group.is_some() || kind.program.iter().any(changes)
}
