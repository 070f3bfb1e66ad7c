// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has become of a run so far: counts, warnings, and whether the run goes on.

use crate::error::SimulationError;

/// Counts and warnings of a run, and its end.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Events so far.
    pub events: u64,
    /// Context switches so far.
    pub switches: u64,
    /// The time limit was reached.
    pub time_limited: bool,
    /// The run is over.
    pub ended: bool,
    /// No application thread can go on, and the machine idles up to the time limit.
    pub stuck: bool,
    /// Warnings for the report, each once.
    pub warnings: Vec<String>,
    /// Why the run cannot go on.
    failure: Option<SimulationError>,
}

impl Outcome {
    /// Adds a warning, unless the report has it already.
    pub fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The run cannot go on after this instant; the first reason counts.
    pub fn fail(&mut self, failure: SimulationError) {
        self.failure.get_or_insert(failure);
    }

    /// Whether the run cannot go on.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// # Errors
    /// The run cannot go on.
    #[inline]
    pub fn check(&mut self) -> Result<(), SimulationError> {
        // Asked after every step: looked at, and not taken out, where there is none.
        if self.failure.is_none() { Ok(()) } else { self.failure.take().map_or(Ok(()), Err) }
    }
}
