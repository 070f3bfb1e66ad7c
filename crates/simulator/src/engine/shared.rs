// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads share: locks and the like, parallel loops, timers.

use crate::kernel::sync::SyncObjects;
use crate::units::{Nanos, TaskId};
use crate::workload::{LoopSchedule, ParallelLoop, Workload};

/// The objects that the threads of a workload share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Locks, conditions, barriers, semaphores.
    pub sync: SyncObjects,
    /// Parallel loops, by [`crate::workload::LoopId`].
    pub loops: Vec<LoopState>,
    /// Shared timers: next expiry, once used.
    pub timers: Vec<Option<Nanos>>,
}

impl Shared {
    /// The objects of `workload`, all unused.
    pub fn new(workload: &Workload) -> Self {
        Self {
            sync: SyncObjects::new(&workload.objects, workload.tasks.len()),
            loops: workload.loops.iter().map(|_| LoopState::default()).collect(),
            timers: vec![None; workload.objects.timers.len()],
        }
    }

    /// How many participants wait at the end of a loop.
    pub fn arrived_at_end(&self, id: u32) -> usize {
        self.loops[id as usize].waiting.len()
    }
}

/// A parallel loop in execution.
#[derive(Debug, Default)]
pub(super) struct LoopState {
    /// Iterations not dealt yet; `None`: not in execution.
    left: Option<u64>,
    /// Participants that have come.
    entered: u32,
    /// Participants that found nothing left to do, and wait.
    waiting: Vec<TaskId>,
}

impl LoopState {
    /// Deals iterations to a participant, which comes for the first time if `enters`: how many; 0 once all are dealt.
    pub fn deal(&mut self, spec: &ParallelLoop, enters: bool) -> u64 {
        let left = self.left.get_or_insert(spec.iterations);
        let parties = u64::from(spec.participants.max(1));
        self.entered += u32::from(enters);
        let share = match spec.schedule {
            LoopSchedule::Static if enters => {
                // Equal shares; the first ones take what is left of the division.
                let (base, extra) = (spec.iterations / parties, spec.iterations % parties);
                base + u64::from(u64::from(self.entered) <= extra)
            }
            LoopSchedule::Static => 0,
            LoopSchedule::Dynamic { chunk } => chunk,
            LoopSchedule::Guided { chunk } => (*left / parties).max(chunk),
        }
        .min(*left);
        *left -= share;
        share
    }

    /// A participant reaches the end: `None` if it must wait there for others; the last one gets those that wait, and the
    /// loop can begin again.
    pub fn end(&mut self, spec: &ParallelLoop, task: TaskId) -> Option<Vec<TaskId>> {
        if (self.waiting.len() as u64) + 1 < u64::from(spec.participants.max(1)) {
            self.waiting.push(task);
            return None;
        }
        (self.left, self.entered) = (None, 0);
        Some(std::mem::take(&mut self.waiting))
    }
}
