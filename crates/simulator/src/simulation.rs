// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running a workload on a machine: options in, report out.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::engine::Engine;
use crate::input::valid_names;
pub use crate::kernel::cpufreq::{ConservativeTunables, Governor, GovernorError, OndemandTunables, SchedutilTunables};
pub use crate::kernel::params::{KernelParameters, SettingError};
use crate::machine::Machine;
use crate::metrics::Report;
use crate::observer::Observer;
use crate::units::{Nanos, SEC, seconds};
use crate::workload::{Op, Workload};

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Scheduler.
    pub scheduler: Scheduler,
    /// Frequency governor, of every performance domain that has a driver.
    pub governor: Governor,
    /// Seed of all random streams: spans that vary, the kernel's own choices, the phase of the tick.
    pub seed: u64,
    /// Simulated time after which the run ends; `None`: the workload's `duration`, or when all its threads have ended.
    pub time_limit: Option<Nanos>,
    /// Kernel parameters.
    pub kernel: KernelParameters,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::Fair,
            governor: Governor::Schedutil(SchedutilTunables::default()),
            seed: 1,
            time_limit: None,
            kernel: KernelParameters::default(),
        }
    }
}

/// A scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduler {
    /// Linux's own: EEVDF as in 6.12, under the real-time class.
    Fair,
}

/// A scheduler's name that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no scheduler `{name}`; {valid}")]
pub struct UnknownScheduler {
    name: String,
    valid: String,
}

impl FromStr for Scheduler {
    type Err = UnknownScheduler;

    fn from_str(text: &str) -> Result<Self, UnknownScheduler> {
        match text {
            "fair" => Ok(Self::Fair),
            _ => Err(UnknownScheduler { name: text.to_owned(), valid: valid_names(text, &["fair"]) }),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fair => f.write_str("fair"),
        }
    }
}

/// Why a run has no report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// Every application thread waits for another one.
    #[error("the simulation cannot end: at {} s every thread waits\n{}", seconds(*.at), list(.waiters))]
    Stuck {
        /// When.
        at: Nanos,
        /// Who waits for what.
        waiters: Vec<Waiter>,
    },
    /// Threads fork without end.
    #[error("the simulation cannot go on: at {} s there are more than {limit} threads", seconds(*.at))]
    TooManyThreads {
        /// How many there may be.
        limit: usize,
        /// When.
        at: Nanos,
    },
    /// A thread repeats steps that take no time.
    #[error("the simulation cannot go on: at {} s thread {thread} loops without consuming time", seconds(*.at))]
    NoProgress {
        /// Which.
        thread: String,
        /// When.
        at: Nanos,
    },
}

/// A thread that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// Its name.
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

/// Time limit of a workload that neither ends by itself nor has a duration.
const ENDLESS_LIMIT: Nanos = 10 * SEC;

/// Runs `workload` on `machine`.
///
/// The same inputs give the same report, to the last bit.
///
/// # Errors
/// See [`SimulationError`].
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, SimulationError> {
    let endless = options.time_limit.is_none() && workload.duration.is_none() && never_ends(workload);
    let options =
        &Options { time_limit: if endless { Some(ENDLESS_LIMIT) } else { options.time_limit }, ..options.clone() };
    let mut engine = Engine::new(machine, workload, options, observer);
    engine.run()?;
    let mut report = engine.report();
    if endless {
        let limit = seconds(ENDLESS_LIMIT);
        report.warnings.push(format!("some thread never ends and no duration is given: ended after {limit} s"));
    }
    Ok(report)
}

/// Whether some application thread loops for ever, or forks threads for ever that fork again; or there is nothing but
/// system tasks.
fn never_ends(workload: &Workload) -> bool {
    let endless = |op: &Op| matches!(op, Op::LoopStart { count: None, .. });
    let starts: Vec<usize> = (0..workload.tasks.len()).filter(|kind| workload.tasks[*kind].instances > 0).collect();
    let kinds = forked_by(workload, &starts);
    let mut applications = kinds.iter().filter(|kind| !workload.tasks[**kind].system).peekable();
    if applications.peek().is_none() {
        return !starts.is_empty();
    }
    let forks_itself = |kind: usize| forked_by(workload, &forks(workload, kind)).contains(&kind);
    applications.any(|kind| workload.tasks[*kind].program.iter().any(endless) || forks_itself(*kind))
}

/// The kinds that threads of `kind` fork.
fn forks(workload: &Workload, kind: usize) -> Vec<usize> {
    let forked = |op: &Op| match op {
        Op::Fork(kind) => Some(*kind as usize),
        _ => None,
    };
    workload.tasks[kind].program.iter().filter_map(forked).collect()
}

/// `starts` and all kinds that come of them by forks.
fn forked_by(workload: &Workload, starts: &[usize]) -> BTreeSet<usize> {
    let mut known = BTreeSet::new();
    let mut open = starts.to_vec();
    while let Some(kind) = open.pop() {
        if known.insert(kind) {
            open.extend(forks(workload, kind));
        }
    }
    known
}
