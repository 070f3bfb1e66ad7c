// SPDX-License-Identifier: MIT OR Apache-2.0
//! How to run: scheduler, governor, seed, time limit, kernel parameters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tandem_bpf_vm::compile::{self, When};
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
    /// How programs of a loaded scheduler run. Nothing that a run yields depends on it.
    pub bpf: Bpf,
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

/// How programs of a loaded scheduler run: the same instructions with the same checks, so the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bpf {
    /// One instruction after the other is looked at and done.
    Interpreter,
    /// Each function is turned into this computer's instructions once that is worth its time, and interpreted before.
    Auto,
    /// Each function is turned into this computer's instructions when it first runs.
    Compiled,
    /// As [`Bpf::Interpreter`], and the report says how many instructions were executed of each source line.
    Profiled,
}

impl Default for Bpf {
    /// Compiled as soon as that is worth its time, where this computer's processor is one that there is a compiler for.
    fn default() -> Self {
        if compile::AVAILABLE { Self::Auto } else { Self::Interpreter }
    }
}

impl Bpf {
    /// The ways as they are written.
    pub const NAMES: [&'static str; 3] = ["interpreter", "compiled", "auto"];

    /// When functions are compiled, if ever.
    pub(crate) fn compiles(self) -> Option<When> {
        match self {
            Self::Interpreter | Self::Profiled => None,
            Self::Auto => Some(When::Worthwhile),
            Self::Compiled => Some(When::Entered),
        }
    }
}

/// What names no way to run programs on this computer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownBpf {
    /// The name is none of these.
    #[error("no way to run BPF programs is called `{name}`; {valid}")]
    Name {
        /// As written.
        name: String,
        /// The valid names.
        valid: String,
    },
    /// There is no compiler for this computer.
    #[error("there is no compiler for this processor: `interpreter` runs the same, only longer")]
    NoCompiler,
}

impl FromStr for Bpf {
    type Err = UnknownBpf;

    fn from_str(text: &str) -> Result<Self, UnknownBpf> {
        match text {
            "interpreter" => Ok(Self::Interpreter),
            "compiled" if compile::AVAILABLE => Ok(Self::Compiled),
            "compiled" => Err(UnknownBpf::NoCompiler),
            "auto" => Ok(Self::default()),
            _ => Err(UnknownBpf::Name { name: text.to_owned(), valid: valid_names(text, &Self::NAMES) }),
        }
    }
}

impl fmt::Display for Bpf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interpreter => "interpreter",
            Self::Compiled => "compiled",
            Self::Auto => "auto",
            Self::Profiled => "profiled",
        })
    }
}

/// A CPU comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hotplug {
    /// Time from the start of the run. What goes at 0 is offline before a scheduler is loaded.
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
            bpf: Bpf::default(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_run_programs_are_written_as_they_are_shown() {
        for name in Bpf::NAMES.into_iter().filter(|name| compile::AVAILABLE || *name == "interpreter") {
            assert_eq!(name.parse::<Bpf>().map(|bpf| bpf.to_string()), Ok(name.to_owned()));
        }
        let error = "compild".parse::<Bpf>().unwrap_err().to_string();
        assert!(error.contains("`compild`; did you mean `compiled`?"), "{error}");
        assert_eq!(Bpf::default() == Bpf::Interpreter, !compile::AVAILABLE);
    }
}
