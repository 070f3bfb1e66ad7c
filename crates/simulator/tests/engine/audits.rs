// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator checks itself where a run asks for that.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Audit, Options, simulate};
use tandem_simulator::workload::Workload;

fn run(audit: Option<Audit>) -> Report {
    let machine = Machine::load("hikey960").unwrap_or_else(|error| panic!("{error}"));
    let workload = Workload::load("noise".as_ref()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { time_limit: Some(200_000_000), audit, ..Options::default() };
    simulate(&machine, &workload, &options, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn checks_change_nothing() {
    let audited = run(Some(Audit { most_steps: 1_000_000 }));
    assert!(audited.events > 100);
    assert_eq!(serde_json::to_string(&audited).unwrap(), serde_json::to_string(&run(None)).unwrap());
}

#[test]
#[should_panic(expected = "the run does not end within 100 steps")]
fn a_run_of_too_many_steps_does_not_go_on() {
    run(Some(Audit { most_steps: 100 }));
}
