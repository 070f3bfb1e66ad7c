// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the tests: machines and workloads in a few words, running them, and looking at the result.

pub mod any_hotplug;
pub mod any_machine;
pub mod any_options;
pub mod any_workload;
pub mod audit;
pub mod machine;
pub mod observers;
pub mod scheduler;
pub mod starvation;
pub mod workload;

pub use crate::common::{run_with, task};
pub use any_options::{any_options, cases};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, SimulationError, simulate};
use tandem_simulator::workload::{Behaviour, Workload};

/// Options with the governor of this name; everything else by default.
pub fn governed(governor: &str) -> Options {
    Options { governor: governor.parse::<Governor>().expect("a governor"), ..Options::default() }
}

/// Runs under the `performance` governor.
pub fn run(machine: &Machine, workload: &Workload) -> Report {
    run_with(machine, workload, &governed("performance"))
}

/// Whether a run that its time limit cut off ends where no thread refills a cache.
///
/// Where a refill takes several slices and its end happens to fall just before that of a slice, round after round, the
/// thread does next to no work. Without footprints nothing excuses a workload that does not end.
pub fn ends_without_footprints(machine: &Machine, workload: &Workload, options: &Options) -> bool {
    let behaviours = workload.behaviours.iter().map(|each| Behaviour { footprint: 0, ..each.clone() }).collect();
    !run_with(machine, &Workload { behaviours, ..workload.clone() }, options).time_limited
}

/// Runs a workload; the run must fail.
pub fn fail(machine: &Machine, workload: &Workload) -> SimulationError {
    simulate(machine, workload, &governed("performance"), &mut NoObserver).expect_err("a run that cannot end")
}

/// Asserts that two numbers are equal to a nanosecond, or to a millionth if they are large.
#[track_caller]
pub fn same(measured: f64, expected: f64) {
    assert!((measured - expected).abs() <= 2e-9 + 1e-6 * expected.abs(), "measured {measured}, expected {expected}");
}

/// Asserts that two numbers differ by at most this share.
#[track_caller]
pub fn about(measured: f64, expected: f64, share: f64) {
    assert!((measured - expected).abs() <= share * expected.abs(), "measured {measured}, expected about {expected}");
}
