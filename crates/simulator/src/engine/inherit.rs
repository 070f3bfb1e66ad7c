// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel may refuse a thread, and mutexes whose owners inherit the priority of who waits for them.
//!
//! With `pi_enabled` an unlock hands the mutex over to the most urgent waiter (`FUTEX_UNLOCK_PI`), fair ones in the order
//! they came; nobody spins, and who does not hold a mutex cannot free it.

use super::Engine;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::dl::Refusal;
use crate::kernel::sync::WaitsFor;
use crate::units::{CpuId, TaskId};
use crate::workload::Scheduling;

/// Longest chain of owners that wait for each other (`max_lock_depth`).
const MAX_LOCK_DEPTH: u32 = 1024;

impl Engine<'_> {
    /// The scheduling that a new thread gets: what it asks for, unless the kernel refuses that.
    pub(super) fn admitted(&mut self, name: &str, wanted: Scheduling, allowed: Option<&CpuMask>) -> Scheduling {
        match self.scheduler.admit(None, wanted.policy, allowed) {
            Ok(()) => wanted,
            Err(why) => {
                self.warn_of_refusal(name, why, "it runs as SCHED_OTHER");
                Scheduling { policy: Scheduling::default().policy, ..wanted }
            }
        }
    }

    /// The running thread asks for other scheduling.
    pub(super) fn set_scheduling(&mut self, cpu: CpuId, task: TaskId, wanted: Scheduling) {
        let entry = self.scheduler.kernel.task(task);
        let (unchanged, allowed) = (entry.scheduling == wanted, entry.allowed.clone());
        if unchanged {
            return;
        }
        if !self.scheduler.scx_admits(task, wanted.policy) {
            let name = self.name_of(task);
            self.outcome.warn(format!("{name}: the scheduler does not want it (disallow); it keeps its policy"));
            return;
        }
        match self.scheduler.admit(Some(task), wanted.policy, allowed.as_deref()) {
            Ok(()) => self.scheduler.set_scheduling_of_current(cpu, wanted),
            Err(why) => {
                let name = self.name_of(task);
                self.warn_of_refusal(&name, why, "it keeps what it has");
            }
        }
    }

    /// Whether the kernel lets a thread change its affinity.
    pub(super) fn may_bind(&mut self, task: TaskId, allowed: Option<&CpuMask>) -> bool {
        let Err(why) = self.scheduler.admit_affinity(task, allowed) else { return true };
        let name = self.name_of(task);
        self.warn_of_refusal(&name, why, "its affinity stays");
        false
    }

    /// Whether one of the CPUs that a thread wants to be bound to is online now; else `sched_setaffinity` fails.
    pub(super) fn some_is_online(&mut self, task: TaskId, allowed: Option<&CpuMask>) -> bool {
        let online = &self.scheduler.kernel.topology.online;
        if allowed.is_none_or(|mask| online.iter().any(|cpu| mask.test(cpu))) {
            return true;
        }
        let name = self.name_of(task);
        self.outcome
            .warn(format!("{name}: all CPUs that it wants to be bound to are offline then; its affinity stays"));
        false
    }

    fn warn_of_refusal(&mut self, name: &str, why: Refusal, then: &str) {
        let why = match why {
            Refusal::Bandwidth => "there is not enough bandwidth for its deadline policy",
            Refusal::Affinity => "a deadline thread must be allowed on all CPUs",
        };
        self.outcome.warn(format!("{name}: {why}; {then}, where rt-app would end with an error"));
    }

    /// Somebody waits for `mutex`: its owner, and the owners that this one waits for, run with the priority that is their
    /// due (`rt_mutex_adjust_prio_chain`).
    pub(super) fn lend_priority(&mut self, mutex: u32) {
        if !self.workload.priority_inheritance {
            return;
        }
        let mut next = self.sync.owner(mutex);
        for _ in 0..MAX_LOCK_DEPTH {
            let Some(owner) = next else { return };
            self.adjust_prio(owner);
            next = match self.threads[owner.index()].waiting {
                Some(WaitsFor::Mutex(mutex)) => self.sync.owner(mutex).filter(|other| *other != owner),
                _ => None,
            };
        }
    }

    /// `rt_mutex_adjust_prio`: by the most urgent of all who wait for a mutex of `owner`.
    fn adjust_prio(&mut self, owner: TaskId) {
        let waiters = self.sync.held_by(owner).flat_map(|mutex| self.sync.waiters(mutex).iter().copied());
        let others = waiters.filter(|waiter| *waiter != owner);
        let top = others.max_by_key(|waiter| self.scheduler.urgency(*waiter));
        self.scheduler.rt_mutex_setprio(owner, top);
    }

    /// `unlock` of a mutex that inherits: the most urgent waiter has it now, the first of equals.
    pub(super) fn unlock_pi(&mut self, cpu: CpuId, task: TaskId, mutex: u32) {
        let owner = self.sync.owner(mutex);
        if let Some(owner) = owner.filter(|owner| *owner != task) {
            self.warn_of_unlock(task, mutex, owner, "refused, as inheriting mutexes check");
            return;
        }
        self.sync.unlock(mutex);
        let urgency = |waiter: &TaskId| self.scheduler.urgency(*waiter);
        // Of equals `max_by_key` takes the last.
        let top = self.sync.waiters(mutex).iter().rev().copied().max_by_key(urgency);
        let Some(top) = top else { return };
        self.sync.leave_mutex(mutex, top);
        self.sync.try_lock(mutex, top);
        let thread = &mut self.threads[top.index()];
        // The step that failed is done: a `lock`, or the second half of a `wait`.
        thread.pc += 1;
        thread.relock = false;
        self.adjust_prio(task);
        self.adjust_prio(top);
        self.satisfy(top, cpu);
    }
}
