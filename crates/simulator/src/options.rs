// SPDX-License-Identifier: MIT OR Apache-2.0
//! How to run: scheduler, governor, seed, time limit, kernel parameters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tandem_bpf_vm::object::Object;

use crate::input::valid_names;
use crate::kernel::cpufreq::{Governor, SchedutilTunables};
use crate::kernel::params::KernelParameters;
use crate::scx::abi::profile::Profile;
use crate::scx::frontend::sidecar::Sidecar;
use crate::units::Nanos;

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
    /// A sched_ext object.
    SchedExt(Arc<SchedExt>),
}

/// A sched_ext object, and how to load it.
#[derive(Debug, Clone)]
pub struct SchedExt {
    /// How the user named it.
    pub name: String,
    /// The object.
    pub object: Arc<Object>,
    /// What its own loader would do, from the TOML file beside it.
    pub sidecar: Option<Sidecar>,
    /// Global variables to set, by name.
    pub settings: Vec<(String, String)>,
    /// The kernel version to run it on; `None`: the sidecar's, or the one that the object was built for.
    pub profile: Option<Profile>,
}

impl PartialEq for SchedExt {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.settings == other.settings && self.profile == other.profile
    }
}

impl Eq for SchedExt {}

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
            Self::SchedExt(scheduler) => f.write_str(&scheduler.name),
        }
    }
}
