// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads wait, and whether anything can happen any more.

use std::collections::BTreeSet;

use crate::kernel::sync::WaitsFor;
use crate::workload::{Op, TaskSpec, Workload};

/// Counts of the threads that live and wait.
#[derive(Debug)]
pub(super) struct Waits {
    live_applications: u32,
    /// Application threads that wait for another thread.
    blocked_applications: u32,
    /// Of these, those whose wait a system task could end.
    blocked_on_system: u32,
    /// Sleeping threads with a timer.
    sleepers: u32,
    /// What system tasks could give to waiting applications.
    help_of_system: BTreeSet<WaitsFor>,
}

impl Waits {
    /// No thread of `workload` exists yet.
    pub fn of(workload: &Workload) -> Self {
        Self {
            live_applications: 0,
            blocked_applications: 0,
            blocked_on_system: 0,
            sleepers: 0,
            help_of_system: help_of_system(workload),
        }
    }

    /// A thread of this kind begins.
    pub fn begins(&mut self, kind: &TaskSpec) {
        self.live_applications += u32::from(!kind.system);
    }

    /// A thread of this kind has ended; whether it was the last one of all applications.
    pub fn ends(&mut self, kind: &TaskSpec) -> bool {
        self.live_applications -= u32::from(!kind.system);
        !kind.system && self.live_applications == 0
    }

    /// Whether a thread of an application lives.
    pub fn applications_live(&self) -> bool {
        self.live_applications > 0
    }

    /// A thread sleeps until its timer expires.
    pub fn sleeps(&mut self) {
        self.sleepers += 1;
    }

    /// The timer of a sleeping thread has expired.
    pub fn expires(&mut self) {
        self.sleepers -= 1;
    }

    /// A thread of this kind blocks on what it waits for.
    pub fn blocks(&mut self, kind: &TaskSpec, waiting: Option<WaitsFor>) {
        if !kind.system {
            self.blocked_applications += 1;
            self.blocked_on_system += u32::from(self.helped(waiting));
        }
    }

    /// A thread of this kind, which was blocked on this, wakes.
    pub fn unblocks(&mut self, kind: &TaskSpec, waited: Option<WaitsFor>) {
        if !kind.system {
            self.blocked_applications -= 1;
            self.blocked_on_system -= u32::from(self.helped(waited));
        }
    }

    fn helped(&self, waiting: Option<WaitsFor>) -> bool {
        waiting.is_some_and(|what| self.help_of_system.contains(&what))
    }

    /// Whether every application thread waits for another one.
    #[inline]
    pub fn all_applications_block(&self) -> bool {
        self.blocked_applications > 0 && self.blocked_applications >= self.live_applications
    }

    /// Whether no system task could end an application's wait, `idle` saying that no thread runs or will by itself.
    ///
    /// System tasks go on for ever, so their timers do not count, unless one of them could give what is waited for.
    pub fn nobody_helps(&self, idle: impl Fn() -> bool) -> bool {
        self.blocked_on_system == 0 || (self.sleepers == 0 && idle())
    }
}

/// What system tasks could give to an application that waits for it, one day.
fn help_of_system(workload: &Workload) -> BTreeSet<WaitsFor> {
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
        Op::MigrateDisable | Op::MigrateEnable | Op::SameRound(_) => None,
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
