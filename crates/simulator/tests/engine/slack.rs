// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers of fair threads go off late, and together.

use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;

use super::support::{assert_time, machine, options, run, run_with, workload};

fn with_slack(micros: &str, text: &str) -> Report {
    let mut options: Options = options();
    options.kernel.set("timer_slack_us", micros).unwrap();
    run_with(&machine(1), &workload(text), &options)
}

fn sleeper(more: &str) -> String {
    format!(r#"{{ "tasks": {{ "t": {{ "loop": 1, {more} "sleep": 1000 }} }} }}"#)
}

#[test]
fn a_fair_threads_sleep_is_longer_by_its_slack() {
    assert_time(with_slack("50", &sleeper("")).time_s, 0.001_050);
    assert_time(with_slack("50", &sleeper(r#""policy": "SCHED_IDLE","#)).time_s, 0.001_050);
    assert_time(with_slack("50", &sleeper(r#""policy": "SCHED_FIFO","#)).time_s, 0.001);
    assert_time(run(&machine(1), &sleeper("")).time_s, 0.001);
}

#[test]
fn a_threads_own_slack_comes_before_the_kernels() {
    let own = |micros: u32| sleeper(&format!(r#""tandem": {{ "timer_slack_us": {micros} }},"#));
    assert_time(with_slack("50", &own(200)).time_s, 0.001_200);
    assert_time(with_slack("50", &own(0)).time_s, 0.001);
    assert_time(run(&machine(1), &own(200)).time_s, 0.001_200);
}

/// The first may sleep up to 1.050 ms, the second from 1.040 ms on: one interrupt wakes both. The third may not wake yet.
#[test]
fn an_interrupt_wakes_all_that_may_wake() {
    let sleeper = |micros: u32| {
        format!(r#""t{micros}": {{ "loop": 1, "sleep": {micros}, "tandem": {{ "application": "{micros}" }} }}"#)
    };
    let text = format!(r#"{{ "tasks": {{ {}, {}, {} }} }}"#, sleeper(1000), sleeper(1040), sleeper(1051));
    let report = with_slack("50", &text);
    let ends: Vec<f64> = report.apps.iter().filter_map(|app| app.time_s).collect();
    assert_eq!(ends.len(), 3);
    for (end, expected) in ends.into_iter().zip([0.001_050, 0.001_050, 0.001_101]) {
        assert_time(end, expected);
    }
}

/// The tick is an interrupt, too: the thread computes for 2 ms and sleeps for 1 ms, while ticks come every millisecond. A tick
/// that comes within the slack of 900 us wakes it.
#[test]
fn a_tick_wakes_those_that_may_wake() {
    let mut options: Options = options();
    for (key, value) in [("timer_slack_us", "900"), ("hz", "1000")] {
        options.kernel.set(key, value).unwrap();
    }
    // The other thread keeps the CPU's tick going.
    let text = r#"{ "tasks": {
        "t": { "loop": 1, "sleep": 5000, "tandem": { "application": "t" } }, "busy": { "loop": 1, "run": 20000 } } }"#;
    let report = run_with(&machine(1), &workload(text), &options);
    let end = report.apps.iter().find(|app| app.name == "t").and_then(|app| app.time_s).unwrap();
    assert!((0.005..0.005_900).contains(&end), "{end}");
}
