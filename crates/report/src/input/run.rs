// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: what `tandem simulate --json` prints.

use serde::Serialize;
use tandem_simulator::Report;

use crate::error::ReportError;

/// Most threads of a run that a page lists; of more, those with the most CPU time.
const MOST_THREADS: usize = 1000;

/// A run, as the page has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// The report.
    #[serde(flatten)]
    pub report: Report,
    /// Threads that are not listed.
    more_tasks: usize,
}

impl Run {
    /// Reads the report `text` of `file`.
    pub fn read(file: &str, text: &str) -> Result<Self, ReportError> {
        let mut report: Report = super::read(file, text)?;
        let more_tasks = report.tasks.len().saturating_sub(MOST_THREADS);
        if more_tasks > 0 {
            report.tasks.sort_by(|one, other| other.cpu_time_s.total_cmp(&one.cpu_time_s));
            report.tasks.truncate(MOST_THREADS);
        }
        Ok(Self { report, more_tasks })
    }
}
