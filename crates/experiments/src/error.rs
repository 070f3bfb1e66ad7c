// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an experiment has no result.

use std::error::Error;
use std::path::PathBuf;

use tandem_simulator::input::InputError;
use tandem_simulator::simulation::SimulationError;

use crate::scenario::ScenarioError;

/// Why an experiment has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A mistake in a file: of a paper, a machine or a workload.
    #[error("{0}")]
    Input(#[from] InputError),
    /// A paper that the library does not have.
    #[error("no paper `{paper}` in {}; {valid}", folder.display())]
    NoPaper {
        /// The name as it was written.
        paper: String,
        /// The folder of all papers.
        folder: PathBuf,
        /// The valid names, the nearest first.
        valid: String,
    },
    /// Settings that do not fit a scheduler, or a scheduler that cannot be loaded.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// A simulation of a comparison has no report.
    #[error("{0}")]
    Simulation(#[from] SimulationError),
    /// A simulation that a number needs has no report.
    #[error("{run}: {source}")]
    Run {
        /// The paper, the experiment and the run, with its place.
        run: String,
        /// Why there is no report.
        source: SimulationError,
    },
    /// A search has nothing to compare with.
    #[error("{0}")]
    NoBase(String),
    /// A search for settings of a scheduler that has none.
    #[error("{0} has no settings to search; name a sched_ext scheduler")]
    NotTunable(String),
    /// A person asked to stop before all runs were done.
    #[error("interrupted")]
    Interrupted,
    /// The system gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(Box<dyn Error + Send + Sync>),
}
