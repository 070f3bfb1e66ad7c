// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator checks itself where a run asks for that.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Audit, Options, SimulationError, simulate};
use tandem_simulator::workload::Workload;

use super::support as small;
use crate::common::{run_with, workload};

fn run(audit: Option<Audit>) -> Result<Report, SimulationError> {
    let machine = Machine::load("hikey960").unwrap_or_else(|error| panic!("{error}"));
    let workload = Workload::load("noise".as_ref()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { time_limit: Some(200_000_000), audit, ..Options::default() };
    simulate(&machine, &workload, &options, &mut NoObserver)
}

#[test]
fn checks_change_nothing() {
    let audited = run(Some(Audit { most_steps: 1_000_000 })).unwrap();
    assert!(audited.events > 100);
    assert_eq!(serde_json::to_string(&audited).unwrap(), serde_json::to_string(&run(None).unwrap()).unwrap());
}

#[test]
fn a_run_of_too_many_steps_does_not_go_on() {
    assert_eq!(run(Some(Audit { most_steps: 100 })).unwrap_err(), SimulationError::Unfinished { most_steps: 100 });
}

#[test]
fn a_running_thread_that_is_queued_anew_is_placed_anew() {
    // The first thread has run for 5 ms when it takes another policy: without the lag that it left with, it begins where
    // the second one waits, which has not run at all.
    let text = r#"{ "tasks": {
        "first": { "cpus": [0], "loop": 1, "phases": {
            "one": { "run": 5000, "policy": "SCHED_OTHER" }, "two": { "run": 5000, "policy": "SCHED_BATCH" } } },
        "second": { "cpus": [0], "loop": 1, "delay": 1000, "run": 5000 } } }"#;
    let mut options = Options { audit: Some(Audit { most_steps: 1_000_000 }), ..small::options() };
    (options.kernel.place_lag, options.kernel.wakeup_preemption) = (false, false);
    options.kernel.base_slice = Some(100_000_000);
    let report = run_with(&small::machine(1), &workload(text), &options);
    small::assert_time(report.time_s, 0.015);
}
