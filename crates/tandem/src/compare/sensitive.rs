// SPDX-License-Identifier: GPL-2.0-only
//! `--sensitivity`: which values of the machines the comparison hangs on.

use clap::{Args, ValueEnum};
use tandem_experiments::{Pair, Progress, Scenario, Sensitivity, SensitivityError, SensitivityRuns, Simulator, Which};

use super::formats::Format;
use super::plan::Plan;
use crate::failure::Failure;

/// The option.
#[derive(Debug, Args)]
pub struct SensitiveOption {
    /// Say which values of the machines matter: each that nobody measured is moved by 20 % down and up, and everything runs again
    /// with the same seeds; with `=all`, each value
    #[arg(
        long,
        value_name = "VALUES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "assumed",
        value_enum
    )]
    sensitivity: Option<Moved>,
}

/// Which values are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Moved {
    /// Values that nobody measured.
    Assumed,
    /// All.
    All,
}

impl SensitiveOption {
    /// Whether the format that is printed has a place for it.
    ///
    /// # Errors
    /// The format has a row per run.
    pub fn check(&self, printed: Option<Format>) -> Result<(), Failure> {
        match printed {
            Some(format @ (Format::Lines | Format::Csv)) if self.sensitivity.is_some() => {
                Err(Failure::Options(format!(
                    "{format} has a row per run, and no place for --sensitivity\n  help: {format}=FILE writes them beside the text"
                )))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Moves the values of each machine, for each workload; nothing unless it was asked for.
    ///
    /// # Errors
    /// A run without a report; a person asked to stop.
    pub fn run(
        &self,
        plan: &Plan,
        (scenario, pairs, seeds): (&Scenario, &[Pair], &[u64]),
        (simulator, progress): (&dyn Simulator, &dyn Progress),
    ) -> Result<Vec<Sensitivity>, Failure> {
        let Some(moved) = self.sensitivity else { return Ok(Vec::new()) };
        let which = match moved {
            Moved::Assumed => Which::Assumed,
            Moved::All => Which::All,
        };
        let mut found = Vec::new();
        for description in &plan.descriptions {
            for workload in &plan.workloads {
                let runs = SensitivityRuns { description, workload, scenario, pairs, seeds, which };
                found.push(runs.run(simulator, progress)?);
            }
        }
        Ok(found)
    }
}

impl From<SensitivityError> for Failure {
    fn from(error: SensitivityError) -> Self {
        match error {
            SensitivityError::Description(error) => error.into(),
            SensitivityError::Runs(error) => error.into(),
        }
    }
}
