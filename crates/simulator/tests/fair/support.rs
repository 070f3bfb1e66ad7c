// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads as a few words, runs of them, and what is asked of the reports.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{AppReport, Report, TaskReport};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, simulate};
use tandem_simulator::units::{Nanos, SEC};
use tandem_simulator::workload::Workload;

/// A workload of `tasks`, each `"name" : { ... }` as rt-app writes it.
pub fn workload(tasks: &[String]) -> Workload {
    let text = format!(r#"{{ "tasks" : {{ {} }} }}"#, tasks.join(", "));
    Workload::parse(Path::new("test.json"), &text).unwrap()
}

/// `count` threads of `application` that never stop running; `more` are further fields of the task.
pub fn spinning(application: &str, count: u32, more: &str) -> String {
    format!(
        r#""{application}" : {{ "instance" : {count}, "tandem" : {{ "application" : "{application}" }},
            "loop" : -1, "run" : 1000000 {more} }}"#
    )
}

/// Options that leave the clock at its highest.
pub fn options(seed: u64, limit: Nanos) -> Options {
    Options { seed, time_limit: Some(limit), governor: Governor::Performance, ..Options::default() }
}

pub fn run_with(machine: &Machine, tasks: &[String], options: &Options) -> Report {
    simulate(machine, &workload(tasks), options, &mut NoObserver).unwrap()
}

/// A run at the highest clock of a bundled machine.
pub fn run(machine: &str, tasks: &[String], seed: u64, secs: u64) -> Report {
    run_with(&Machine::load(machine).unwrap(), tasks, &options(seed, secs * SEC))
}

pub fn app<'a>(report: &'a Report, name: &str) -> &'a AppReport {
    report.apps.iter().find(|app| app.name == name).unwrap()
}

pub fn tasks_of<'a>(report: &'a Report, app: &str) -> Vec<&'a TaskReport> {
    report.tasks.iter().filter(|task| task.app.as_deref() == Some(app)).collect()
}
