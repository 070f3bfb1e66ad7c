// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs under the scheduler that errs, and checks of their reports.

use tandem_simulator::metrics::{ExitReport, Frame, Report, SchedExtReport};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SimulationError, simulate};

use crate::common::workload;
use crate::engine::support as small;
use crate::objects::{line_of, object_path};

/// Four threads that compute for 20 ms each in turns of 1 ms, on two CPUs.
pub const WORKERS: &str = r#"{ "tasks": { "worker": { "instance": 4, "loop": 20, "run": 1000, "sleep": 500 } } }"#;

/// The options of a run under the object `name` with these settings, written as they would be behind a path on the
/// command line.
pub fn options(name: &str, settings: &str) -> Options {
    let scheduler = format!("{}{settings}", object_path(name).display());
    Options { scheduler: scheduler.parse().unwrap_or_else(|error| panic!("{error}")), ..small::options() }
}

/// Runs a workload on two CPUs.
pub fn try_run(text: &str, options: &Options) -> Result<Report, SimulationError> {
    simulate(&small::machine(2), &workload(text), options, &mut NoObserver)
}

/// A run of the four threads under the scheduler that makes this mistake: all work is done.
#[track_caller]
pub fn run(fault: &str) -> Report {
    run_on(WORKERS, fault)
}

/// A run of another workload; each of its threads does all its work.
#[track_caller]
pub fn run_on(text: &str, fault: &str) -> Report {
    let report =
        try_run(text, &options("faulty", &format!(",fault={fault}"))).unwrap_or_else(|error| panic!("{error}"));
    assert!(!report.time_limited);
    for task in &report.tasks {
        small::assert_time(task.work_s, 0.020);
    }
    report
}

/// What the scheduler did.
#[track_caller]
pub fn sched_ext(report: &Report) -> &SchedExtReport {
    report.sched_ext.as_ref().expect("a scheduler was loaded")
}

/// Why the scheduler was ejected.
#[track_caller]
pub fn exit(report: &Report) -> &ExitReport {
    sched_ext(report).exit.as_ref().expect("the scheduler was ejected")
}

/// Kind, callback and message of an exit.
pub fn says(exit: &ExitReport) -> (&str, Option<&str>, &str) {
    (&exit.kind, exit.callback.as_deref(), &exit.message)
}

/// Asserts that the innermost place is the line that ends in the fault's name, and that the functions around it are
/// `outer`.
#[track_caller]
pub fn assert_place(exit: &ExitReport, fault: &str, outer: &[&str]) {
    let mark = format!("/* {fault} */");
    assert_line(&exit.backtrace[0], &mark);
    assert!(exit.backtrace[0].text.ends_with(&mark), "{:?}", exit.backtrace[0]);
    let functions: Vec<&str> = exit.backtrace[1..].iter().map(|frame| frame.function.as_str()).collect();
    assert_eq!(functions, outer);
}

/// Asserts that the place is in the source that errs, on the first line that contains `text`.
#[track_caller]
pub fn assert_line(frame: &Frame, text: &str) {
    assert!(frame.file.ends_with("crates/simulator/tests/bpf/faulty.bpf.c"), "{frame:?}");
    assert_eq!(frame.line, line_of("faulty.bpf.c", text), "{frame:?}");
}

/// Asserts that the scheduler's `exit` was told the same, and recorded it for its loader.
#[track_caller]
pub fn assert_recorded(exit: &ExitReport) {
    let recorded = exit.recorded.as_ref().expect("the object has a record");
    let (kind, code) = (recorded.kind.as_str(), recorded.code);
    assert_eq!((kind, code), (exit.kind.as_str(), exit.code));
    assert_eq!((&recorded.reason, &recorded.message), (&exit.reason, &exit.message));
}
