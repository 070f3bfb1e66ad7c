// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that tick only where something needs it (`nohz_full`).

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;

use super::support::{machine_from, options, run_with, task, text, workload};

/// A tick takes 10 us, so that threads show how many they had.
fn ticking(cpus: usize) -> Machine {
    machine_from(&text(cpus).replace("tick_us = 0", "tick_us = 10"))
}

fn with(cpus: usize, nohz_full: &str, tasks: &str) -> Report {
    let mut options = options();
    if !nohz_full.is_empty() {
        options.kernel.set("nohz_full", nohz_full).unwrap();
    }
    run_with(&ticking(cpus), &workload(&format!(r#"{{ "tasks": {{ {tasks} }} }}"#)), &options)
}

/// What a thread lost to ticks, in ticks.
fn ticks(report: &Report, name: &str) -> f64 {
    let task = task(report, name);
    (task.cpu_time_s - task.work_s) / 10e-6
}

const ALONE: &str = r#""t": { "loop": 1, "cpus": [1], "run": 1000000 }"#;

#[test]
fn a_thread_alone_on_its_cpu_has_no_ticks() {
    // A second at 250 Hz, and the quarter of a tick's time that ticks make of it.
    assert!((249.0..=252.0).contains(&ticks(&with(2, "", ALONE), "t")));
    assert!(ticks(&with(2, "1", ALONE), "t") < 0.5);
}

#[test]
fn the_cpu_that_keeps_the_time_ticks_always() {
    let first = ALONE.replace("[1]", "[0]");
    assert!((249.0..=252.0).contains(&ticks(&with(2, "0-1", &first), "t")));
}

/// Two threads share the CPU, as the tick comes back when the second one wakes, and goes again when it ends.
#[test]
fn two_threads_take_turns_by_ticks() {
    let report = with(
        2,
        "1",
        r#""a": { "loop": 1, "cpus": [1], "run": 300000 },
           "b": { "loop": 1, "cpus": [1], "delay": 100000, "run": 100000 }"#,
    );
    // Alone for 100 ms and again for the last 100 ms; in between 200 ms with 50 ticks for both.
    let both = ticks(&report, "a") + ticks(&report, "b");
    assert!((48.0..=53.0).contains(&both), "{both}");
    assert!(task(&report, "a").switches > 10);
}

/// Round robin needs ticks for two threads of a priority, FIFO never does.
#[test]
fn real_time_threads_need_ticks_for_round_robin_alone() {
    let two = |policy: &str| {
        let tasks = format!(r#""t": {{ "instance": 2, "policy": "{policy}", "cpus": [1], "loop": 1, "run": 300000 }}"#);
        let report = with(2, "1", &tasks);
        ticks(&report, "t-0") + ticks(&report, "t-1")
    };
    assert!(two("SCHED_FIFO") < 0.5, "{}", two("SCHED_FIFO"));
    assert!(two("SCHED_RR") > 120.0, "{}", two("SCHED_RR"));
}
