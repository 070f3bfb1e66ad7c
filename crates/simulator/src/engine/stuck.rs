// SPDX-License-Identifier: MIT OR Apache-2.0
//! When nothing can happen any more: who waits for what, and who has it.

use super::Engine;
use crate::kernel::sync::WaitsFor;
use crate::simulation::{SimulationError, Waiter};
use crate::units::TaskId;
use crate::workload::{Op, Workload};

/// Whether system tasks take part in synchronisation, so that one of them might wake an application.
pub(super) fn system_syncs(workload: &Workload) -> bool {
    let syncs = |op: &Op| {
        matches!(
            op,
            Op::Unlock(_)
                | Op::Signal(_)
                | Op::Broadcast(_)
                | Op::Barrier(_)
                | Op::Resume(_)
                | Op::SemPost(_)
                | Op::Fork(_)
                | Op::ParallelLoop(_)
        )
    };
    workload.tasks.iter().any(|kind| kind.system && kind.program.iter().any(syncs))
}

impl Engine<'_> {
    /// Whether every application thread waits for another one.
    ///
    /// System tasks go on for ever, so their timers do not count, unless they synchronise with applications.
    pub(super) fn nothing_can_happen(&self) -> bool {
        if self.blocked_applications == 0 || self.blocked_applications < self.live_applications {
            return false;
        }
        !self.system_syncs || (self.sleepers == 0 && self.running.iter().all(|running| running.task.is_none()))
    }

    /// The report of who waits for what.
    pub(super) fn stuck(&self) -> SimulationError {
        let waiters = (0..self.threads.len()).filter_map(|index| self.waiter(TaskId::at(index))).collect();
        SimulationError::Stuck { at: self.now, waiters }
    }

    fn waiter(&self, task: TaskId) -> Option<Waiter> {
        let thread = &self.threads[task.index()];
        let what = thread.waiting?;
        Some(Waiter { thread: self.name_of(task), waits_for: self.describe(what), step: thread.pc })
    }

    /// The name of a thread, with its instance.
    pub(super) fn name_of(&self, task: TaskId) -> String {
        let thread = &self.threads[task.index()];
        thread.name(&self.workload.tasks[thread.spec as usize])
    }

    fn describe(&self, what: WaitsFor) -> String {
        let objects = &self.workload.objects;
        match what {
            WaitsFor::Mutex(mutex) => {
                let name = &objects.mutexes[mutex as usize];
                match self.sync.owner(mutex) {
                    Some(owner) => format!("mutex `{name}`, held by {}", self.holder(owner)),
                    None => format!("mutex `{name}`, held by nobody"),
                }
            }
            WaitsFor::Condition(condition) => {
                format!("condition `{}`, which nobody signals", objects.conditions[condition as usize])
            }
            WaitsFor::Barrier(barrier) => {
                let (arrived, parties) = self.sync.arrivals(barrier);
                format!(
                    "barrier `{}`, where {arrived} of {parties} threads have arrived",
                    objects.barriers[barrier as usize].0
                )
            }
            WaitsFor::Semaphore(semaphore) => {
                format!("semaphore `{}`, which nobody posts", objects.semaphores[semaphore as usize])
            }
            WaitsFor::Resume => "a `resume`".to_owned(),
            WaitsFor::Loop(id) => {
                let (arrived, parties) = self.loop_arrivals(id);
                let name = &self.workload.loops[id as usize].name;
                format!("the end of parallel loop `{name}`, where {arrived} of {parties} threads have arrived")
            }
            WaitsFor::Children => "the end of the threads it forked".to_owned(),
        }
    }

    fn holder(&self, owner: TaskId) -> String {
        let name = self.name_of(owner);
        match self.threads[owner.index()].stats.ended {
            Some(_) => format!("{name}, which has ended"),
            None => name,
        }
    }
}
