// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by tests of whole runs: reading a workload, running it, finding a thread in the report.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, TaskReport};
use tandem_simulator::observer::{NoObserver, Observer};
use tandem_simulator::simulation::{Options, simulate};
use tandem_simulator::workload::Workload;

/// The workload of an rt-app file with this text.
#[track_caller]
pub fn workload(text: &str) -> Workload {
    Workload::parse(Path::new("test.json"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the workload; the run must end well.
#[track_caller]
pub fn run_with(machine: &Machine, workload: &Workload, options: &Options) -> Report {
    watch(machine, workload, options, &mut NoObserver)
}

/// Runs the workload before an observer; the run must end well.
#[track_caller]
pub fn watch(machine: &Machine, workload: &Workload, options: &Options, observer: &mut dyn Observer) -> Report {
    simulate(machine, workload, options, observer).unwrap_or_else(|error| panic!("{error}"))
}

/// The thread of this name.
#[track_caller]
pub fn task<'r>(report: &'r Report, name: &str) -> &'r TaskReport {
    let names = || report.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(", ");
    report.tasks.iter().find(|task| task.name == name).unwrap_or_else(|| panic!("no thread {name} among {}", names()))
}
