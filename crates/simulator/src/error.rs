// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a run has no report.

use tandem_bpf_vm::memory::OverBudget;

use crate::kernel::cpufreq::NotOffered;
use crate::scx::frontend::{MORE_MEMORY, SchedulerError};
use crate::units::{CpuId, Nanos, seconds};

/// Why a run has no report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// Every application thread waits for another one.
    #[error("the simulation cannot end: at {} s every thread waits\n{}", seconds(*.at), list(.waiters))]
    Stuck {
        /// Simulated time at which every thread waits.
        at: Nanos,
        /// Who waits for what.
        waiters: Vec<Waiter>,
    },
    /// The scheduler cannot be loaded.
    #[error("{scheduler}: {why}")]
    Scheduler {
        /// What it is called.
        scheduler: String,
        /// What is wrong with it.
        why: Box<SchedulerError>,
    },
    /// The machine's driver does not offer the governor.
    #[error("{0}")]
    Governor(#[from] NotOffered),
    /// A CPU that shall come or go is not one that is online at the start.
    #[error("CPU {cpu} cannot come or go: {machine} does not have it, or not online")]
    Hotplug {
        /// The CPU.
        cpu: CpuId,
        /// The machine's name.
        machine: String,
    },
    /// The scheduler's `init_task` refused a new thread, which on a kernel makes `fork` fail.
    #[error("the scheduler refused thread {thread}: ops.init_task() returned {errno}, so it could not be forked")]
    ForkRefused {
        /// Name of the thread.
        thread: String,
        /// Negative errno.
        errno: i32,
    },
    /// The simulated kernel has no memory left for a new thread: the scheduler's maps, or the threads, take it all. On a
    /// kernel, `fork` fails with `ENOMEM`.
    #[error("the simulated kernel ran out of memory at {} s: no room for thread {thread}: {why}; {MORE_MEMORY}", seconds(*.at))]
    KernelMemory {
        /// Name of the thread.
        thread: String,
        /// What was wanted, and what there is.
        why: String,
        /// Simulated time.
        at: Nanos,
    },
    /// This process may not spend as much memory as the run wants.
    #[error("the simulation wants more memory than it may have: {0}; TANDEM_MEMORY=SIZE, such as 8G, sets the budget")]
    Memory(#[from] OverBudget),
    /// Threads fork without end.
    #[error("the simulation cannot go on: at {} s there are more than {limit} threads", seconds(*.at))]
    TooManyThreads {
        /// How many there may be.
        limit: usize,
        /// Simulated time at which the limit was reached.
        at: Nanos,
    },
    /// A run that checks itself ([`Audit`](crate::options::Audit)) takes more steps than it may.
    #[error("the run does not end within {most_steps} steps")]
    Unfinished {
        /// How many it may take.
        most_steps: u64,
    },
    /// The run's observer wanted no more of it ([`Observer::stopped`](crate::Observer::stopped)).
    #[error("the simulation was stopped at {} s", seconds(*.at))]
    Stopped {
        /// Simulated time at which the run was stopped.
        at: Nanos,
    },
    /// A thread repeats steps that take no time.
    #[error("the simulation cannot go on: at {} s thread {thread} loops without consuming time", seconds(*.at))]
    NoProgress {
        /// Name of the thread that loops.
        thread: String,
        /// Simulated time at which the thread loops.
        at: Nanos,
    },
}

/// A thread that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// Name of the thread.
    pub thread: String,
    /// What it waits for, and who has it.
    pub waits_for: String,
    /// Number of the step it is at.
    pub step: u32,
}

/// Threads that a report of a deadlock names before it only counts.
const MAX_LISTED: usize = 20;

fn list(waiters: &[Waiter]) -> String {
    let mut lines: Vec<String> = waiters
        .iter()
        .take(MAX_LISTED)
        .map(|waiter| format!("  {} (step {}) waits for {}", waiter.thread, waiter.step, waiter.waits_for))
        .collect();
    if waiters.len() > MAX_LISTED {
        lines.push(format!("  and {} more", waiters.len() - MAX_LISTED));
    }
    lines.join("\n")
}
