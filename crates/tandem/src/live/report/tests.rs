// SPDX-License-Identifier: GPL-2.0-only
//! Runs as people and programs read them.

use std::time::Duration;

use insta::assert_snapshot;
use tandem_live::Exit;
use tandem_live::meter::{Domain, Energy, Measured, Method, NotMeasured, Part, Why};

use super::*;

fn energy(source: &str, part: Part, package: u32, joules: f64) -> Energy {
    Energy { source: source.to_owned(), domain: Domain { part, package, die: 0 }, method: Method::Counted, joules }
}

fn named(counters: &[(&str, u64)]) -> Vec<(String, u64)> {
    counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn state(mechanism: &str, state: &str, why: Option<&str>) -> MechanismState {
    MechanismState { name: format!("{mechanism}_state"), state: state.to_owned(), why: why.map(str::to_owned) }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// 1,000 J in 10 s are 100 W; times 10 s 10,000 J·s.
fn measured() -> Measured {
    let energy = vec![
        energy("powercap intel-rapl:0 package-0", Part::Package, 0, 600.0),
        energy("powercap intel-rapl:0:0 core", Part::Core, 0, 400.0),
        energy("powercap intel-rapl:0:1 dram", Part::Dram, 0, 50.0),
        energy("powercap intel-rapl:1 package-1", Part::Package, 1, 300.0),
        energy("powercap intel-rapl:1:1 dram", Part::Dram, 1, 50.0),
    ];
    Measured { time: seconds(10.0), energy, missing: Vec::new() }
}

fn outcome() -> Outcome {
    Outcome {
        command: "make -j8".to_owned(),
        status: "exit status 0".to_owned(),
        backend: "sched_ext".to_owned(),
        time: seconds(10.0),
        cpu_time: Some(CpuTime { user: seconds(60.0), system: seconds(15.5) }),
        measured: measured(),
        states: vec![
            state("isolate", "off", None),
            state("longest", "one_kind", Some("All 4 CPUs are equally fast, within 5 %.")),
            state("serial_first", "active", None),
            state("sorted", "active", None),
            state("speed", "no_cpufreq", None),
        ],
        counters: named(&[
            ("base_idle", 12_345),
            ("base_queued", 678),
            ("pull_moved", 0),
            ("serial_parallel_phases", 2),
            ("serial_phases", 3),
            ("serial_promoted", 41),
            ("sorted_epochs", 9),
        ]),
        exit: Some(Exit {
            kind: 64,
            code: 0,
            reason: "unregistered from user space".to_owned(),
            message: String::new(),
            dump: String::new(),
        }),
        ..Outcome::default()
    }
}

fn ejected() -> Outcome {
    let dump: Vec<String> = (0..20).map(|line| format!("CPU {line}: running \u{1b}[31mtask-{line}")).collect();
    let exit = Exit {
        kind: 1026,
        code: 0,
        reason: "runnable task stall".to_owned(),
        message: "make[1234] failed to run for 30.1s".to_owned(),
        dump: format!("\n{}\n", dump.join("\n\n")),
    };
    Outcome { ejected: true, exit: Some(exit), status: "exit status 2".to_owned(), ..outcome() }
}

/// As where a virtual machine shows a counter that it does not have.
fn unmeasured() -> Outcome {
    let missing = vec![NotMeasured {
        source: "perf power/energy-psys/ on CPU 0".to_owned(),
        domain: Domain { part: Part::Platform, package: 0, die: 0 },
        why: Why::StandsStill(seconds(10.0)),
    }];
    let measured = Measured { missing, energy: Vec::new(), ..measured() };
    let notes = vec!["no governor is schedutil, so that clocks do not follow the scheduler".to_owned()];
    Outcome { measured, notes, cpu_time: None, ..outcome() }
}

#[test]
fn a_run_with_its_numbers() {
    assert_snapshot!(text(&outcome(), None));
}

#[test]
fn a_run_on_a_narrow_terminal_that_was_not_measured() {
    let text = text(&unmeasured(), Some(50));
    assert_snapshot!(text);
    assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
}

#[test]
fn a_run_whose_scheduler_was_ejected() {
    assert_snapshot!(text(&ejected(), Some(100)));
}

#[test]
fn a_run_without_a_scheduler_in_the_kernel_by_a_power_meter() {
    let method = Method::Sampled { longest_gap: seconds(1.25) };
    let meter = Energy { method, ..energy("hwmon hwmon2 power_meter 1", Part::Machine, 0, 2_500.0) };
    let measured = Measured { energy: vec![meter], ..measured() };
    let states = vec![state("isolate", "active", None)];
    let counters = named(&[("isolate_moved", 120), ("isolate_odd_ones", 3)]);
    let outcome = Outcome { backend: "affinity".to_owned(), measured, states, counters, exit: None, ..outcome() };
    assert_snapshot!(text(&outcome, Some(100)));
}

#[test]
fn more_meters_than_people_read_are_left_to_programs() {
    let sensors = (0..15).map(|number| energy(&format!("hwmon hwmon0 pmbus {number}"), Part::Other, 0, 1.0));
    let measured = Measured { energy: sensors.collect(), ..measured() };
    let text = text(&Outcome { measured, ..outcome() }, None);
    assert!(text.contains("pmbus 11") && !text.contains("pmbus 12") && text.contains("and 3 more"), "{text}");
    assert!(text.contains("no meter says that it covers the whole machine"), "{text}");
}

#[test]
fn runs_as_data() {
    let data = |outcome: &Outcome| serde_json::to_string_pretty(&json(outcome)).unwrap();
    assert_snapshot!("data", data(&outcome()));
    assert_snapshot!("data_of_an_ejection", data(&Outcome { exit: ejected().exit, ejected: true, ..unmeasured() }));
}
