// SPDX-License-Identifier: MIT OR Apache-2.0
//! The energy that the machine takes, as far as something in it counts that.
//!
//! - `powercap`: the processor's own counters (RAPL), which only root may read.
//! - `perf`: the same counters as performance events.
//! - `hwmon`: other counters and power meters on the board.
//! - `battery`: what a battery gives while nothing charges it.
//! - `source`: what one of them counted. `measured`: all of them together, so that nothing is counted twice. `public`: what
//!   of it is for everybody.
//!
//! What nothing counts is not measured: no number here comes from a model, from a nominal power or from a time. And a
//! counter that says nothing (it is not allowed, it stands still, it went away) comes with its reason, [`Why`].

mod battery;
mod hwmon;
mod measured;
mod perf;
mod powercap;
mod public;
mod source;
#[cfg(test)]
mod tests;
mod why;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

pub use measured::{Energy, Measured, NotMeasured, Total};
pub use perf::{EnergyEvent, EnergyEvents, KernelEvents};
pub use source::{Amount, Domain, Method, Part, Probe};
pub use why::Why;

use source::{Found, Source};

/// Everything that counts energy in this machine.
#[derive(Debug)]
pub struct Meters {
    sources: Vec<Source>,
    refused: Vec<NotMeasured>,
    clock: Instant,
    /// On `clock`.
    begun: Duration,
    /// The latest sample, on `clock`.
    latest: Duration,
}

impl Meters {
    /// How often to call [`sample`](Self::sample): counters start again after a while (hours at idle, minutes at hundreds
    /// of watts), and of power meters nothing is known between two samples.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// Finds the meters below `root` (`/`), and begins to count.
    ///
    /// For each part of the machine it takes the first that can be read: powercap, then perf, then hwmon. None is no error.
    pub fn find(root: &Path) -> Self {
        Self::find_with(root, &KernelEvents, Instant::now())
    }

    /// Does the same as [`find`](Self::find), with events that `open` opens, from the time `clock` on.
    pub(crate) fn find_with(root: &Path, open: &dyn EnergyEvents, clock: Instant) -> Self {
        let found = [
            powercap::find(root),
            perf::find(root, open),
            hwmon::find(root),
            battery::find(root).into_iter().collect(),
        ];
        let (mut sources, mut refused, mut measured) = (Vec::new(), Vec::new(), BTreeSet::new());
        for Found { name, domain, unit, probe } in found.into_iter().flatten() {
            if domain.part.is_of_processor() && measured.contains(&domain) {
                continue;
            }
            match probe.and_then(|probe| Source::new(name.clone(), domain, unit, probe)) {
                Ok(source) => {
                    measured.insert(domain);
                    sources.push(source);
                }
                Err(why) => refused.push(NotMeasured { source: name, domain, why }),
            }
        }
        // What another one counts is not missing.
        refused.retain(|refused| !(refused.domain.part.is_of_processor() && measured.contains(&refused.domain)));
        Self { sources, refused, clock, begun: Duration::ZERO, latest: Duration::ZERO }
    }

    /// Whether anything can be read at all.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Reads all meters, as must be done every now and then ([`INTERVAL`](Self::INTERVAL)).
    pub fn sample(&mut self) {
        self.sample_at(self.on_clock(Instant::now()));
    }

    /// A time on the meters' clock.
    pub(crate) fn on_clock(&self, time: Instant) -> Duration {
        time.saturating_duration_since(self.clock)
    }

    pub(crate) fn sample_at(&mut self, now: Duration) {
        for source in &mut self.sources {
            source.sample(now);
        }
        self.latest = now;
    }

    /// Begins again: what comes counts from now on.
    pub fn restart(&mut self) {
        self.restart_at(self.on_clock(Instant::now()));
    }

    pub(crate) fn restart_at(&mut self, now: Duration) {
        self.sample_at(now);
        for source in &mut self.sources {
            source.restart();
        }
        self.begun = now;
    }

    /// Reads all meters, and says what they counted since they were found, or since [`restart`](Self::restart).
    pub fn read(&mut self) -> Measured {
        self.sample();
        self.measured()
    }

    /// What they counted up to the latest sample.
    pub fn measured(&self) -> Measured {
        let time = self.latest.saturating_sub(self.begun);
        Measured::new(time, &self.sources, &self.refused)
    }
}
