// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of what threads wait for, as their workload has them.

use super::detail::{WaitReason, WaitsFor};
use crate::workload::Workload;

/// Names of what the threads of a workload share.
#[derive(Debug, Default)]
pub struct ObjectNames {
    kinds: Vec<String>,
    mutexes: Vec<String>,
    conditions: Vec<String>,
    barriers: Vec<String>,
    semaphores: Vec<String>,
}

impl ObjectNames {
    /// The names in `workload`.
    pub fn of(workload: &Workload) -> Self {
        let objects = &workload.objects;
        Self {
            kinds: workload.tasks.iter().map(|kind| kind.name.clone()).collect(),
            mutexes: objects.mutexes.clone(),
            conditions: objects.conditions.clone(),
            barriers: objects.barriers.iter().map(|(name, _)| name.clone()).collect(),
            semaphores: objects.semaphores.clone(),
        }
    }

    /// A mutex; its number, where its name is not known.
    pub fn mutex(&self, index: u32) -> String {
        name(&self.mutexes, index)
    }

    /// A reason in words: `mutex m`, `barrier b`, `timer`. What has no name is numbered.
    pub fn reason(&self, reason: WaitReason) -> String {
        let WaitReason::Object(what) = reason else { return "timer".to_owned() };
        match what {
            WaitsFor::Mutex(index) => format!("mutex {}", self.mutex(index)),
            WaitsFor::Condition(index) => format!("condition {}", name(&self.conditions, index)),
            WaitsFor::Barrier(index) => format!("barrier {}", name(&self.barriers, index)),
            WaitsFor::Semaphore(index) => format!("semaphore {}", name(&self.semaphores, index)),
            WaitsFor::Resume(kind) => format!("resume of {}", name(&self.kinds, kind)),
            WaitsFor::Loop(index) => format!("end of parallel loop {index}"),
            WaitsFor::Children => "join".to_owned(),
        }
    }
}

fn name(names: &[String], index: u32) -> String {
    names.get(index as usize).cloned().unwrap_or_else(|| index.to_string())
}
