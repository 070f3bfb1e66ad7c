// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run over time: who ran where, clocks, idle states and power, in columns.
//!
//! A [`Recorder`] watches a simulation, [`of_trace`] reads what `tandem simulate --trace` wrote; both give a [`Timeline`]. `levels`:
//! what changes in steps; `pack`: the columns as few bytes.
//!
//! Memory is bounded: after [`MOST_SLICES`] slices no more are kept, and a power that changes very often is kept as means.

mod levels;
mod pack;
mod recorder;
mod trace;

use serde::Serialize;
use tandem_simulator::observer::TimesUpTo;
use tandem_simulator::units::Nanos;

pub use levels::{Levels, Means};
pub(crate) use pack::Counts;
pub use recorder::Recorder;
pub use trace::{Traced, of_trace};

/// Most slices that are kept of a run, and most changes of clocks and idle states together.
pub const MOST_SLICES: usize = 4 << 20;

/// A run over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// The end of the run, in ns.
    pub end: Nanos,
    /// From where on nothing is kept but power: there was too much.
    pub cut: Option<Nanos>,
    /// Threads, in order of their identifiers.
    pub threads: Vec<Thread>,
    /// Names of the applications.
    pub applications: Vec<String>,
    /// CPUs, offline ones too.
    pub cpus: Vec<CpuLine>,
    /// Watts of each package.
    pub packages: Vec<Means>,
    /// What the cores drew, by who had them.
    pub energy: Energy,
    /// How late threads were, of an application by its index, of all with `None`.
    pub distributions: Vec<Distribution>,
}

/// What cores and clusters drew, by whose threads ran there meanwhile, in joules.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Energy {
    /// By application.
    pub applications: Vec<f64>,
    /// System tasks.
    pub system: f64,
    /// Nobody: the CPU was idle.
    pub idle: f64,
}

impl Energy {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.applications.iter().sum::<f64>() + self.system + self.idle
    }
}

/// A thread of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Thread {
    /// The thread's name, with its instance.
    pub name: String,
    /// Index of its application; `None` of system tasks.
    pub application: Option<usize>,
}

/// What a CPU did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuLine {
    /// What ran, in order of time.
    pub slices: Slices,
    /// The clock, in kHz.
    pub khz: Levels<u32>,
    /// The idle state plus 1; 0 is awake.
    pub idle: Levels<u32>,
    /// Watts: its share of its core and cluster.
    pub watts: Means,
}

/// What ran on a CPU: entry `n` of each column is of slice `n`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slices {
    /// When the thread got the CPU, in ns.
    pub start: Vec<Nanos>,
    /// For how long, in ns.
    pub length: Vec<Nanos>,
    /// Index of the thread.
    pub thread: Vec<u32>,
    /// How the slice ended.
    pub left: Vec<Left>,
    /// For how long the thread had been runnable before, in ns.
    pub waited: Vec<Nanos>,
}

/// How a slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The thread is still runnable: it was preempted, or yielded.
    Runnable = 0,
    /// The thread waits.
    Sleeping = 1,
    /// The thread ended.
    Dead = 2,
    /// The run ended.
    Cut = 3,
}

/// Times that were measured of the threads of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// Index of the application; `None`: all of them.
    pub application: Option<usize>,
    /// What was measured.
    pub what: What,
    /// How many times up to which length, the shortest first.
    pub times: Vec<TimesUpTo>,
}

/// What there are distributions of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// From a wakeup to the first instruction, as the report has it.
    WakeupLatency,
    /// From what activates a round to the end of its work, as the report has it.
    Response,
    /// From a wakeup to the switch to the thread: what a trace has.
    UntilSwitch,
}

impl Timeline {
    /// How many slices there are.
    pub fn slices(&self) -> usize {
        self.cpus.iter().map(|cpu| cpu.slices.start.len()).sum()
    }
}
