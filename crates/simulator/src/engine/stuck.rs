// SPDX-License-Identifier: MIT OR Apache-2.0
//! When nothing can happen any more: which thread waits for what, and which one has it.

use super::shared::Shared;
use super::threads::Threads;
use crate::error::{SimulationError, Waiter};
use crate::kernel::sync::WaitsFor;
use crate::units::{Nanos, TaskId};

/// The report of what each thread waits for at `now`.
pub(super) fn report(threads: &Threads<'_>, shared: &Shared, now: Nanos) -> SimulationError {
    let waiter = |task: TaskId| {
        let thread = &threads[task];
        let waits_for = describe(thread.waiting?, threads, shared);
        Some(Waiter { thread: thread.name(), waits_for, step: thread.pc })
    };
    SimulationError::Stuck { at: now, waiters: threads.ids().filter_map(waiter).collect() }
}

fn describe(what: WaitsFor, threads: &Threads<'_>, shared: &Shared) -> String {
    let objects = &threads.workload.objects;
    match what {
        WaitsFor::Mutex(mutex) => {
            let name = &objects.mutexes[mutex as usize];
            match shared.sync.owner(mutex) {
                Some(owner) => format!("mutex `{name}`, held by {}", holder(owner, threads)),
                None => format!("mutex `{name}`, held by nobody"),
            }
        }
        WaitsFor::Condition(condition) => {
            format!("condition `{}`, which nobody signals", objects.conditions[condition as usize])
        }
        WaitsFor::Barrier(barrier) => {
            let (arrived, parties) = shared.sync.arrivals(barrier);
            let name = &objects.barriers[barrier as usize].0;
            format!("barrier `{name}`, where {arrived} of {parties} threads have arrived")
        }
        WaitsFor::Semaphore(semaphore) => {
            format!("semaphore `{}`, which nobody posts", objects.semaphores[semaphore as usize])
        }
        WaitsFor::Resume(_) => "a `resume`".to_owned(),
        WaitsFor::Loop(id) => {
            let (arrived, parties) = (shared.arrived_at_end(id), threads.workload.loops[id as usize].participants);
            let name = &threads.workload.loops[id as usize].name;
            format!("the end of parallel loop `{name}`, where {arrived} of {parties} threads have arrived")
        }
        WaitsFor::Children => "the end of the threads it forked".to_owned(),
    }
}

fn holder(owner: TaskId, threads: &Threads<'_>) -> String {
    let name = threads[owner].name();
    match threads[owner].stats.ended {
        Some(_) => format!("{name}, which has ended"),
        None => name,
    }
}
