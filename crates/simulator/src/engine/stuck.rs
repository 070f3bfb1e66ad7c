// SPDX-License-Identifier: MIT OR Apache-2.0
//! When nothing can happen any more: who waits for what, and who has it.

use std::collections::BTreeSet;

use super::Engine;
use crate::error::{SimulationError, Waiter};
use crate::kernel::sync::WaitsFor;
use crate::units::TaskId;
use crate::workload::{Op, Workload};

/// What system tasks could give to an application that waits for it, one day.
pub(super) fn help_of_system(workload: &Workload) -> BTreeSet<WaitsFor> {
    let help = |op: &Op| match op {
        Op::Unlock(mutex) | Op::Wait { mutex, .. } => Some(WaitsFor::Mutex(*mutex)),
        Op::Signal(condition) | Op::Broadcast(condition) => Some(WaitsFor::Condition(*condition)),
        Op::Barrier(barrier) => Some(WaitsFor::Barrier(*barrier)),
        Op::Resume(kind) => Some(WaitsFor::Resume(*kind)),
        Op::SemPost(semaphore) => Some(WaitsFor::Semaphore(*semaphore)),
        Op::ParallelLoop(id) => Some(WaitsFor::Loop(id.0)),
        Op::Run { .. }
        | Op::Runtime { .. }
        | Op::Memory { .. }
        | Op::Chase { .. }
        | Op::Sleep(_)
        | Op::Timer { .. } => None,
        Op::Lock(_) | Op::SemWait(_) | Op::Suspend | Op::Yield | Op::Fork(_) | Op::Join => None,
        Op::Behave(_) | Op::SetScheduling(_) | Op::SetAffinity(_) | Op::SetTaskGroup(_) => None,
        Op::LoopStart { .. } | Op::LoopEnd { .. } => None,
    };
    let system = workload.tasks.iter().filter(|kind| kind.system);
    let mut helped: BTreeSet<WaitsFor> = system.flat_map(|kind| kind.program.iter().filter_map(help)).collect();
    let forks_system = |op: &Op| matches!(op, Op::Fork(kind) if workload.tasks[*kind as usize].system);
    if workload.tasks.iter().any(|kind| kind.program.iter().any(forks_system)) {
        helped.insert(WaitsFor::Children);
    }
    helped
}

impl Engine<'_> {
    /// Counts an application thread that blocks, or one that wakes.
    pub(super) fn count_blocked(&mut self, task: TaskId, blocks: bool) {
        let thread = &self.threads[task.index()];
        if self.workload.tasks[thread.spec as usize].system {
            return;
        }
        let helped = thread.waiting.is_some_and(|what| self.help_of_system.contains(&what));
        let change = |count: &mut u32| if blocks { *count += 1 } else { *count -= 1 };
        change(&mut self.blocked_applications);
        if helped {
            change(&mut self.blocked_on_system);
        }
    }

    /// Whether every application thread waits for another one.
    ///
    /// System tasks go on for ever, so their timers do not count, unless one of them could give what is waited for.
    pub(super) fn nothing_can_happen(&self) -> bool {
        if self.blocked_applications == 0 || self.blocked_applications < self.live_applications {
            return false;
        }
        let nobody_runs = || self.running.iter().all(|running| running.task.is_none());
        self.blocked_on_system == 0 || (self.sleepers == 0 && nobody_runs() && !self.scheduler.dl.has_throttled())
    }

    /// The report of who waits for what.
    pub(super) fn stuck(&self) -> SimulationError {
        let waiters = (0..self.threads.len()).filter_map(|index| self.waiter(TaskId::at(index))).collect();
        SimulationError::Stuck { at: self.agenda.now(), waiters }
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
            WaitsFor::Resume(_) => "a `resume`".to_owned(),
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
