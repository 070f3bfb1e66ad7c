// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stand-in with the signatures that the command line needs; the engine's own module takes its place.

use std::fmt;
use std::str::FromStr;

use crate::input::valid_names;
pub use crate::kernel::cpufreq::Governor;
pub use crate::kernel::params::{KernelParameters, SettingError};
use crate::machine::Machine;
use crate::metrics::Report;
use crate::observer::Observer;
use crate::units::Nanos;
use crate::workload::Workload;

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Scheduler.
    pub scheduler: Scheduler,
    /// Frequency governor.
    pub governor: Governor,
    /// Seed of all random streams.
    pub seed: u64,
    /// Simulated time after which the run ends.
    pub time_limit: Option<Nanos>,
    /// Kernel parameters.
    pub kernel: KernelParameters,
}

/// A scheduler.
#[derive(Debug, Clone, PartialEq)]
pub enum Scheduler {
    /// EEVDF.
    Fair,
}

/// A name that is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

impl FromStr for Scheduler {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            "fair" => Ok(Self::Fair),
            _ => Err(NameError(format!("no scheduler `{text}`; {}", valid_names(text, &["fair"])))),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fair")
    }
}

/// Why a run has no report.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SimulationError {
    /// Nothing can happen any more, yet threads wait.
    #[error("the simulation cannot end:\n{0}")]
    Stuck(String),
}

/// Runs `workload` on `machine`.
pub fn simulate(
    _machine: &Machine,
    _workload: &Workload,
    options: &Options,
    _observer: &mut dyn Observer,
) -> Result<Report, SimulationError> {
    if options.time_limit.is_some_and(|limit| limit > 10_000 * crate::units::SEC) {
        // As long as a simulation of hours would take: enough time to interrupt it.
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    Err(SimulationError::Stuck("  this build has no engine".to_owned()))
}
