// SPDX-License-Identifier: MIT OR Apache-2.0
//! What docs/models.md says of models that work together: runs whose numbers follow by hand.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, TaskReport};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, simulate};
use tandem_simulator::workload::Workload;

fn options(settings: &[(&str, &str)]) -> Options {
    let mut options = Options { governor: Governor::Performance, ..Options::default() };
    for (key, value) in settings {
        options.kernel.set(key, value).unwrap();
    }
    options
}

fn run_with(machine: &str, workload: &str, options: &Options) -> Report {
    let machine = Machine::load(machine).unwrap();
    let workload = Workload::parse(Path::new("test.json"), workload).unwrap();
    simulate(&machine, &workload, options, &mut NoObserver).unwrap()
}

fn run(machine: &str, workload: &str) -> Report {
    run_with(machine, workload, &options(&[]))
}

fn task<'r>(report: &'r Report, name: &str) -> &'r TaskReport {
    report.tasks.iter().find(|task| task.name == name).unwrap()
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} is not {expected}");
}

const MIX: &str = r#"{ "global" : { "duration" : 1 }, "tasks" : {
    "light" : { "instance" : 4, "loop" : -1, "run" : 2000, "timer" : { "ref" : "unique", "period" : 50000 } },
    "heavy" : { "loop" : -1, "run" : 6000, "timer" : { "ref" : "unique", "period" : 40000 } } } }"#;

/// `sched_is_eas_possible` refuses machines with SMT.
#[test]
fn energy_aware_placement_needs_an_asymmetric_machine_without_smt() {
    for (machine, matters) in [("hikey960", true), ("i9-12900k", false)] {
        let energy = |aware| {
            let schedutil = Options { governor: "schedutil".parse().unwrap(), ..options(&[("energy_aware", aware)]) };
            run_with(machine, MIX, &schedutil).energy_j.total
        };
        assert_eq!(energy("true") != energy("false"), matters, "{machine}");
    }
}

/// The fair task comes after 20 s in which the real-time task had the CPU to itself. From then on it gets 50 ms of each
/// second; nothing is owed for the time before.
#[test]
fn a_real_time_task_does_not_pay_for_the_time_when_nobody_waited() {
    let report = run(
        "smp-8",
        r#"{ "global" : { "duration" : 40 }, "tasks" : {
            "rt" : { "loop" : -1, "cpus" : [0], "run" : 1000000, "policy" : "SCHED_FIFO", "priority" : 10 },
            "fair" : { "loop" : -1, "cpus" : [0], "delay" : 20000000, "run" : 1000000 } } }"#,
    );
    let fair = task(&report, "fair").cpu_time_s;
    assert!((0.95..=1.05).contains(&fair), "{fair} s of 20");
}

/// What a file asks for and the models do not do is said.
#[test]
fn what_has_no_model_is_a_warning() {
    let report = run(
        "smp-8",
        r#"{ "global" : { "pi_enabled" : true }, "tasks" : {
            "d" : { "loop" : 1, "policy" : "SCHED_DEADLINE", "dl-runtime" : 1000, "dl-period" : 10000,
                    "lock" : "m", "run" : 1000, "unlock" : "m" } } }"#,
    );
    for words in ["SCHED_DEADLINE", "pi_enabled"] {
        assert!(report.warnings.iter().any(|warning| warning.contains(words)), "{words}: {:?}", report.warnings);
    }
    assert!(run("smp-8", MIX).warnings.is_empty());
}
