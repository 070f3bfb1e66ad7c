// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel may refuse a thread, and mutexes whose owners inherit the priority of the threads that wait for them.
//!
//! With `pi_enabled` an unlock hands the mutex over to the most urgent waiter (`FUTEX_UNLOCK_PI`), fair ones in the order
//! they came; no thread spins, and a thread that does not hold a mutex cannot free it.

use super::Engine;
use super::outcome::Outcome;
use super::thread::Thread;
use super::threads::Threads;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::dl::Refusal;
use crate::kernel::sync::{SyncObjects, WaitsFor};
use crate::sched::core::Sched;
use crate::units::{CpuId, TaskId};
use crate::workload::{Scheduling, TaskSpec};

/// Longest chain of owners that wait for each other (`max_lock_depth`).
const MAX_LOCK_DEPTH: u32 = 1024;

/// The scheduling that a new thread of `kind` gets: what it asks for, unless the kernel refuses that.
pub(super) fn admitted(sched: &Sched, kind: &TaskSpec, allowed: Option<&CpuMask>, outcome: &mut Outcome) -> Scheduling {
    match sched.admit(None, kind.scheduling.policy, allowed) {
        Ok(()) => kind.scheduling,
        Err(why) => {
            warn_of_refusal(&kind.name, why, "it runs as SCHED_OTHER", outcome);
            Scheduling { policy: Scheduling::default().policy, ..kind.scheduling }
        }
    }
}

/// Whether the kernel lets a thread change its affinity to `allowed`: not if it is a deadline task that needs other CPUs,
/// nor if none of the CPUs is online now.
pub(super) fn may_bind(
    sched: &Sched,
    (task, thread): (TaskId, &Thread<'_>),
    allowed: Option<&CpuMask>,
    outcome: &mut Outcome,
) -> bool {
    if let Err(why) = sched.admit_affinity(task, allowed) {
        warn_of_refusal(&thread.name(), why, "its affinity stays", outcome);
        return false;
    }
    let online = &sched.kernel.topology.online;
    let some_is_online = allowed.is_none_or(|mask| online.iter().any(|cpu| mask.test(cpu)));
    if !some_is_online {
        let name = thread.name();
        outcome.warn(format!("{name}: all CPUs that it wants to be bound to are offline then; its affinity stays"));
    }
    some_is_online
}

fn warn_of_refusal(name: &str, why: Refusal, then: &str, outcome: &mut Outcome) {
    let why = match why {
        Refusal::Bandwidth => "there is not enough bandwidth for its deadline policy",
        Refusal::Affinity => "a deadline thread must be allowed on all CPUs",
    };
    outcome.warn(format!("{name}: {why}; {then}, where rt-app would end with an error"));
}

/// A thread waits for `mutex`: its owner, and the owners that this one waits for, run with the priority that is their due
/// (`rt_mutex_adjust_prio_chain`).
pub(super) fn lend_priority(mutex: u32, threads: &Threads<'_>, sync: &SyncObjects, sched: &mut Sched) {
    if !threads.workload.priority_inheritance {
        return;
    }
    let mut next = sync.owner(mutex);
    for _ in 0..MAX_LOCK_DEPTH {
        let Some(owner) = next else { return };
        adjust_prio(owner, sync, sched);
        next = match threads[owner].waiting {
            Some(WaitsFor::Mutex(mutex)) => sync.owner(mutex).filter(|other| *other != owner),
            _ => None,
        };
    }
}

/// `rt_mutex_adjust_prio`: by the most urgent of all that wait for a mutex of `owner`.
fn adjust_prio(owner: TaskId, sync: &SyncObjects, sched: &mut Sched) {
    let waiters = sync.held_by(owner).flat_map(|mutex| sync.waiters(mutex).iter().copied());
    let others = waiters.filter(|waiter| *waiter != owner);
    let top = others.max_by_key(|waiter| sched.urgency(*waiter));
    sched.rt_mutex_setprio(owner, top);
}

impl Engine<'_> {
    /// The running thread asks for other scheduling.
    pub(super) fn set_scheduling(&mut self, cpu: CpuId, task: TaskId, wanted: Scheduling) {
        let entry = self.sched.kernel.task(task);
        let (unchanged, allowed) = (entry.scheduling == wanted, entry.allowed.clone());
        if unchanged {
            return;
        }
        if !self.sched.scx_admits(task, wanted.policy) {
            let name = self.threads[task].name();
            self.outcome.warn(format!("{name}: the scheduler does not want it (disallow); it keeps its policy"));
            return;
        }
        match self.sched.admit(Some(task), wanted.policy, allowed.as_deref()) {
            Ok(()) => {
                let thread = &mut self.threads[task];
                thread.rounds.set_policy(thread.kind, wanted.policy);
                self.sched.set_scheduling_of_current(cpu, wanted);
            }
            Err(why) => {
                warn_of_refusal(&self.threads[task].name(), why, "it keeps what it has", &mut self.outcome);
            }
        }
    }

    /// `unlock` of a mutex that inherits: the most urgent waiter has it now, the first of equals.
    pub(super) fn unlock_pi(&mut self, cpu: CpuId, task: TaskId, mutex: u32) {
        let sync = &mut self.shared.sync;
        if let Some(owner) = sync.owner(mutex).filter(|owner| *owner != task) {
            let warning = self.threads.wrong_unlock(task, mutex, owner, "refused, as inheriting mutexes check");
            self.outcome.warn(warning);
            return;
        }
        sync.unlock(mutex);
        let urgency = |waiter: &TaskId| self.sched.urgency(*waiter);
        // Of equals `max_by_key` takes the last.
        let top = sync.waiters(mutex).iter().rev().copied().max_by_key(urgency);
        let Some(top) = top else { return };
        sync.leave_mutex(mutex, top);
        sync.try_lock(mutex, top);
        let thread = &mut self.threads[top];
        // The step that failed is done: a `lock`, or the second half of a `wait`.
        thread.pc += 1;
        thread.relock = false;
        adjust_prio(task, sync, &mut self.sched);
        adjust_prio(top, sync, &mut self.sched);
        self.satisfy(top, cpu);
    }
}
