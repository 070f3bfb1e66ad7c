// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real-time class as `kernel/sched/rt.c` has it.

use tandem_simulator::units::SEC;

use super::support::{assert_time, machine, run, run_until, task};

/// A preempted FIFO thread runs again before others of its priority.
#[test]
fn a_preempted_fifo_thread_stays_first() {
    let report = run(
        &machine(1),
        r#"{ "tasks": {
            "first": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "run": 10000 },
            "second": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "delay": 1000, "run": 10000 },
            "urgent": { "policy": "SCHED_FIFO", "priority": 20, "loop": 1, "delay": 2000, "run": 1000 } } }"#,
    );
    assert_time(task(&report, "first").wait_time_s, 0.001);
    assert_time(task(&report, "second").wait_time_s, 0.010);
}

/// A thread that lowers its own priority goes to the head of the lower queue (`ENQUEUE_HEAD`).
#[test]
fn who_lowers_its_priority_stays_first() {
    let report = run(
        &machine(1),
        r#"{ "tasks": {
            "lowers": { "loop": 1, "phases": {
                "high": { "loop": 1, "policy": "SCHED_FIFO", "priority": 20, "run": 5000 },
                "low": { "loop": 1, "policy": "SCHED_FIFO", "priority": 10, "run": 5000 } } },
            "equal": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "delay": 1000, "run": 5000 } } }"#,
    );
    assert_time(task(&report, "lowers").wait_time_s, 0.0);
    assert_time(task(&report, "equal").wait_time_s, 0.009);
}

/// Round robin changes hands every 100 ms, FIFO never.
#[test]
fn round_robin_alternates() {
    let switches = |policy: &str| {
        let text = format!(
            r#"{{ "global": {{ "duration": 2 }}, "tasks": {{ "a": {{ "instance": 2, "policy": "{policy}", "loop": 1, "run": 450000 }} }} }}"#
        );
        let report = run(&machine(1), &text);
        task(&report, "a-0").switches + task(&report, "a-1").switches
    };
    assert_eq!(switches("SCHED_FIFO"), 2);
    assert!((9..=11).contains(&switches("SCHED_RR")), "{}", switches("SCHED_RR"));
}

/// A real-time thread preempted by a thread bound to its CPU is pushed to another CPU at once.
#[test]
fn a_preempted_thread_is_pushed_away() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "bound": { "policy": "SCHED_FIFO", "priority": 50, "cpus": [0], "loop": 1, "delay": 2000, "run": 10000 },
            "free": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "run": 10000 } } }"#,
    );
    assert_time(task(&report, "free").wait_time_s, 0.0);
    assert_time(report.time_s, 0.012);
}

/// A real-time thread wakes on its last CPU: it preempts a fair thread there although another CPU idles
/// (`select_task_rq_rt`).
#[test]
fn a_real_time_thread_does_not_look_for_an_idle_cpu() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "fair": { "loop": 1, "cpus": [0], "run": 10000 },
            "rt": { "policy": "SCHED_FIFO", "loop": 3, "sleep": 1000, "run": 1000 } } }"#,
    );
    assert_eq!(task(&report, "rt").migrations, 0);
    assert_time(task(&report, "fair").wait_time_s, 0.003);
}

/// Fair threads that starve get 50 ms of every second, also if real-time threads had the CPU alone for long before.
#[test]
fn a_fair_thread_gets_its_share_of_each_second_and_no_more() {
    let report = run_until(
        &machine(1),
        r#"{ "tasks": {
            "hog": { "policy": "SCHED_FIFO", "loop": -1, "run": 1000000 },
            "fair": { "delay": 20000000, "loop": -1, "run": 1000000 } } }"#,
        30 * SEC,
    );
    let fair = task(&report, "fair").cpu_time_s;
    assert!((0.44..=0.56).contains(&fair), "{fair}");
    let waited = task(&report, "fair").timing.wakeup_latency_ns.as_ref().map_or(0, |latency| latency.max);
    assert!(waited <= 960_000_000, "{waited}");
}

/// The share of fair threads ends when these sleep: real-time threads go on at once.
#[test]
fn a_throttled_class_runs_when_nobody_else_wants_to() {
    let report = run_until(
        &machine(1),
        r#"{ "tasks": {
            "hog": { "policy": "SCHED_FIFO", "loop": -1, "run": 1000000 },
            "fair": { "loop": -1, "run": 1000, "sleep": 1000 } } }"#,
        5 * SEC,
    );
    assert!(report.cpus[0].busy_s > 4.9999, "{}", report.cpus[0].busy_s);
}

/// Eight equal threads that start on one CPU run on eight at once, although none is more urgent than the thread that
/// runs on their CPU.
#[test]
fn equal_threads_spread_over_all_cpus() {
    let text = r#"{ "tasks": { "a": { "instance": 8, "policy": "SCHED_FIFO", "loop": 1, "run": 10000 } } }"#;
    let report = run(&machine(8), text);
    assert_time(report.time_s, 0.010);
    assert!(report.cpus.iter().all(|cpu| cpu.busy_s > 0.009));
}

/// If CPUs differ, a real-time thread goes to a large one, unless its clamp says that it needs none.
#[test]
fn real_time_threads_prefer_large_cpus() {
    let machine = tandem_simulator::machine::Machine::load("hikey960").unwrap();
    let big_share = |clamp: &str| {
        let text = format!(
            r#"{{ "tasks": {{ "a": {{ "policy": "SCHED_FIFO", {clamp} "loop": 20, "runtime": 1000, "sleep": 1000 }} }} }}"#
        );
        let report = run(&machine, &text);
        let busy = |cpus: std::ops::Range<usize>| report.cpus[cpus].iter().map(|cpu| cpu.busy_s).sum::<f64>();
        busy(4..8) / busy(0..8)
    };
    assert!(big_share("") > 0.99, "{}", big_share(""));
    assert!(big_share(r#""util_min": 100,"#) < 0.01, "{}", big_share(r#""util_min": 100,"#));
}
