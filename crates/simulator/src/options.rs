// SPDX-License-Identifier: MIT OR Apache-2.0
//! How to run: scheduler, governor, seed, time limit, kernel parameters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tandem_bpf_vm::memory::Budget;

use crate::input::valid_names;
use crate::kernel::cpufreq::{Governor, SchedutilTunables};
use crate::kernel::params::KernelParameters;
use crate::scx::frontend::scheduler::{OpenError, SchedExt};
use crate::units::{CpuId, Nanos};

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Scheduler.
    pub scheduler: Scheduler,
    /// Frequency governor, of every performance domain that has a driver.
    pub governor: Governor,
    /// Seed of all random streams: spans that vary, the kernel's own choices, the phase of the tick, what BPF programs draw.
    pub seed: u64,
    /// Simulated time after which the run ends; `None`: the workload's `duration`, or when all its threads have ended.
    pub time_limit: Option<Nanos>,
    /// Kernel parameters.
    pub kernel: KernelParameters,
    /// CPUs that go offline or come back during the run, in any order.
    pub hotplug: Vec<Hotplug>,
    /// The memory of this process that runs may spend, all that share it together. What a run yields never depends on it, only
    /// whether there is a report.
    pub memory: Budget,
    /// Whether the simulator checks itself meanwhile, which finds mistakes of its own and takes long; `None`: it does not.
    pub audit: Option<Audit>,
}

/// Checks of the simulator by itself: after each event, whether everything that it knows agrees. It panics where
/// something does not. Nothing else changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    /// Events, decisions and turns of a loaded scheduler (a CPU reschedules, a timer goes off, and the like) after which the
    /// run should have ended.
    pub most_steps: u64,
}

/// A CPU comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hotplug {
    /// Time from the start of the run.
    pub at: Nanos,
    /// Which, one of those that the machine has online at the start.
    pub cpu: CpuId,
    /// Whether it comes.
    pub online: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::Fair,
            governor: Governor::Schedutil(SchedutilTunables::default()),
            seed: 1,
            time_limit: None,
            kernel: KernelParameters::default(),
            hotplug: Vec::new(),
            audit: None,
            memory: Budget::default(),
        }
    }
}

/// A scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduler {
    /// Linux's own: EEVDF as in 6.12, under the real-time class.
    Fair,
    /// A sched_ext object.
    SchedExt(Arc<SchedExt>),
}

/// What names no scheduler.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnknownScheduler {
    /// The text is neither a name nor a path.
    #[error("no scheduler `{name}`; {valid}, or the path of a sched_ext object such as ./scx_simple.bpf.o")]
    Name {
        /// As written.
        name: String,
        /// The valid names.
        valid: String,
    },
    /// The object at a path cannot be used.
    #[error("{0}")]
    Object(#[from] OpenError),
}

impl FromStr for Scheduler {
    type Err = UnknownScheduler;

    /// `fair`, or the path of a sched_ext object with variables to set behind it: `./scx_simple.bpf.o,fifo_sched=true`.
    /// A path has a `/` or ends in `.o`: see [`SchedExt::path_in`].
    fn from_str(text: &str) -> Result<Self, UnknownScheduler> {
        match text {
            "fair" => Ok(Self::Fair),
            _ if SchedExt::path_in(text).is_some() => Ok(Self::SchedExt(Arc::new(SchedExt::open(text)?))),
            _ => Err(UnknownScheduler::Name { name: text.to_owned(), valid: valid_names(text, &["fair"]) }),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fair => f.write_str("fair"),
            Self::SchedExt(scheduler) => f.write_str(&scheduler.name),
        }
    }
}
