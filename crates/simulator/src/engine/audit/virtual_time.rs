// SPDX-License-Identifier: MIT OR Apache-2.0
//! The virtual time of a fair task that runs only grows.

use crate::sched::core::Sched;
use crate::units::{CpuId, TaskId};

/// What runs on each CPU, at the last check: the task, its weight, how far its virtual time had come.
#[derive(Debug, Default)]
pub(super) struct VirtualTimes(Vec<Option<(TaskId, u32, i64)>>);

impl VirtualTimes {
    /// Asserts that no task has gone back that has run on since. (One that is queued anew is placed anew.)
    pub fn check(&mut self, sched: &Sched) {
        let cpus = (0..sched.kernel.topology.nr_cpus).map(CpuId::at);
        let now: Vec<_> = cpus.map(|cpu| sched.fair.virtual_time(cpu)).collect();
        for (before, after) in self.0.iter().zip(&now) {
            if let (Some((task, weight, before)), Some((same, unchanged, after))) = (before, after)
                && (task, weight) == (same, unchanged)
            {
                assert!(after >= before, "the virtual time of task {task} goes back from {before} to {after}");
            }
        }
        self.0 = now;
    }
}
