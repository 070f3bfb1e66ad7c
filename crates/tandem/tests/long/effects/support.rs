// SPDX-License-Identifier: GPL-2.0-only
//! Runs over seeds, their means and intervals, and a line for each.

use std::fmt;
use std::ops::Range;

use serde_json::Value;
use tandem_experiments::{Estimate as Interval, generated_workload};
use tandem_simulator::workload;

use crate::schedulers::Opened;
use crate::simulated;

/// Seeds of an experiment.
pub const SEEDS: Range<u64> = 0..10;
/// Seeds where hardly anything differs from one to the next, or far less than the asserted effect.
pub const FEW: Range<u64> = 0..3;

/// A workload, from JSON or a generator.
pub struct Workload(workload::Workload);

impl Workload {
    /// From rt-app JSON.
    pub fn new(json: &Value) -> Self {
        Self(simulated::workload(&json.to_string()))
    }

    /// What `tandem workload` generates from `arguments`.
    pub fn generated(arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self(simulated::workload(&generated_workload(&arguments).unwrap_or_else(|error| panic!("{error}"))))
    }
}

/// The report of one run.
pub struct Report(pub Value);

impl Report {
    /// Runs `workload` on `machine` under `scheduler`, as in `tandem,sorted=true+schedutil`, with further
    /// `options`. A scheduler that was ejected fails.
    pub fn of(workload: &Workload, machine: &str, scheduler: &str, seed: u64, options: &[&str]) -> Self {
        static OPENED: Opened = Opened::new();
        let report = simulated::report(&OPENED, &workload.0, machine, scheduler, seed, options);
        assert!(report["sched_ext"]["exit"].is_null(), "{scheduler} on {machine}: {}", report["sched_ext"]["exit"]);
        Self(report)
    }

    /// A number of the report, as in `/energy_j/total`.
    pub fn number(&self, pointer: &str) -> f64 {
        self.0.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {}", self.0))
    }

    /// Seconds until all was done.
    pub fn time(&self) -> f64 {
        self.number("/time_s")
    }

    /// Joules.
    pub fn energy(&self) -> f64 {
        self.number("/energy_j/total")
    }

    /// Energy times time, joule seconds.
    pub fn edp(&self) -> f64 {
        self.number("/edp_js")
    }

    /// A counter of the sched_ext scheduler; 0 if it never counted.
    pub fn count(&self, name: &str) -> u64 {
        self.0["sched_ext"]["statistics"][name].as_u64().unwrap_or(0)
    }

    /// The share of its time that a CPU spent at `mhz`.
    pub fn share_at(&self, cpu: usize, mhz: u64) -> f64 {
        let residency = self.0["cpus"][cpu]["freq_residency"].as_object().unwrap();
        let seconds = |value: &Value| value.as_f64().unwrap();
        let all: f64 = residency.values().map(seconds).sum();
        residency.get(&(mhz * 1000).to_string()).map_or(0.0, seconds) / all
    }
}

/// A mean over seeds and half of its 95 % confidence interval, by Student's distribution.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub mean: f64,
    pub half: f64,
}

impl Estimate {
    /// Of values that are independent of each other.
    pub fn of(values: &[f64]) -> Self {
        let Interval { mean, half_width } = Interval::of_mean(values).unwrap();
        Self { mean, half: half_width.unwrap() }
    }

    /// Of what `value` gives for each of `SEEDS`.
    pub fn over_seeds(value: impl Fn(u64) -> f64) -> Self {
        Self::of(&SEEDS.map(value).collect::<Vec<_>>())
    }

    /// The whole interval lies below `value`.
    pub fn is_below(&self, value: f64) -> bool {
        self.mean + self.half < value
    }

    /// The whole interval lies above `value`.
    pub fn is_above(&self, value: f64) -> bool {
        self.mean - self.half > value
    }

    /// The mean lies between two values.
    pub fn is_within(&self, range: std::ops::RangeInclusive<f64>) -> bool {
        range.contains(&self.mean)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ± {:.3}", self.mean, self.half)
    }
}

/// Prints a line of a table: what was measured, the estimate, what the paper says.
pub fn print(what: &str, estimate: Estimate, paper: &str) {
    println!("{what:<60} {:<18} paper: {paper}", estimate.to_string());
}

#[test]
fn an_interval_is_that_of_students_distribution() {
    // Deviation √2.5, standard error √0.5, t(0.975, 4) = 2.776.
    let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(estimate.to_string(), "3.000 ± 1.963");
    assert!(estimate.is_above(1.0) && estimate.is_below(5.0) && !estimate.is_above(1.1) && !estimate.is_below(4.9));
}
