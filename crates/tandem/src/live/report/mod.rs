// SPDX-License-Identifier: GPL-2.0-only
//! What a command's run under Tandem was: a pure function of what was seen ([`Outcome`]), as [`text()`] for people and as
//! [`json()`] for programs.
//!
//! Numbers are measured, or are not there: time by the clock, energy by a meter or by none, and what the scheduler counted.

mod json;
mod mechanisms;
#[cfg(test)]
mod tests;
mod text;

use std::time::Duration;

use tandem_live::Exit;
use tandem_live::meter::Measured;
use tandem_live::session::{CpuTime, MechanismState};

pub use json::json;
pub use text::text;

/// What was seen of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The command, as it was typed.
    pub command: String,
    /// How it ended: `exit status 0`, `killed by SIGTERM`.
    pub status: String,
    /// What acted: `sched_ext`, `affinity`.
    pub backend: String,
    /// How long the command ran.
    pub time: Duration,
    /// What it and its descendants computed, if that is known.
    pub cpu_time: Option<CpuTime>,
    /// Energy in that time.
    pub measured: Measured,
    /// What became of the mechanisms.
    pub states: Vec<MechanismState>,
    /// What it counted, as it names that: `serial_phases`.
    pub counters: Vec<(String, u64)>,
    /// What the kernel said at the end; `None` if there was no scheduler in it, or none that keeps a record.
    pub exit: Option<Exit>,
    /// Whether the scheduler went before the command was done.
    pub ejected: bool,
    /// What else people should know.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Joules, and of what; `None` if nobody knows.
    fn energy(&self) -> Option<(f64, String)> {
        self.measured.total().map(|total| (total.joules, total.covers))
    }

    /// Mean power while it was measured.
    fn watts(&self) -> Option<f64> {
        let seconds = self.measured.time.as_secs_f64();
        self.energy().filter(|_| seconds > 0.0).map(|(joules, _)| joules / seconds)
    }

    /// Energy × time.
    fn joule_seconds(&self) -> Option<f64> {
        self.energy().map(|(joules, _)| joules * self.time.as_secs_f64())
    }
}
