// SPDX-License-Identifier: MIT OR Apache-2.0
//! The virtual time of a fair task that runs only grows.

use crate::sched::core::Sched;
use crate::units::{CgroupId, CpuId, TaskId};

/// What runs on each CPU, at the last check, and how far its virtual time had come.
#[derive(Debug, Default)]
pub(super) struct VirtualTimes(Vec<Option<(Turn, i64)>>);

/// A task, its group and weight, and the number of its last entry into a queue.
type Turn = (TaskId, CgroupId, u32, u64);

impl VirtualTimes {
    /// Asserts that no task has gone back that has run on since. One that was queued anew was placed anew, too, even if it
    /// ran before and runs again: the end of a loaded scheduler takes each task off its queue and puts it back, and so does a
    /// change of its group.
    pub fn check(&mut self, sched: &Sched) {
        let cpus = (0..sched.kernel.topology.nr_cpus).map(CpuId::at);
        let now: Vec<_> = cpus.map(|cpu| sched.fair.virtual_time(cpu)).collect();
        for (before, after) in self.0.iter().zip(&now) {
            if let (Some((running, before)), Some((same, after))) = (before, after)
                && running == same
            {
                assert!(after >= before, "the virtual time of task {} goes back from {before} to {after}", running.0);
            }
        }
        self.0 = now;
    }
}
