// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an experiment has no result.

use tandem_simulator::simulation::SimulationError;

use crate::scenario::ScenarioError;

/// Why an experiment has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Settings that do not fit a scheduler, or a scheduler that cannot be loaded.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// A simulation has no report.
    #[error("{0}")]
    Simulation(#[from] SimulationError),
}
