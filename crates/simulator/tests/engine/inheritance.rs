// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority inheritance by the owner of a mutex, on one CPU.

use tandem_simulator::metrics::Report;
use tandem_simulator::units::SEC;

use super::support::{assert_time, machine, run, run_until, task};

fn with(pi: bool, tasks: &str) -> String {
    format!(r#"{{ "global": {{ "pi_enabled": {pi} }}, "tasks": {{ {tasks} }} }}"#)
}

fn fifo(name: &str, priority: u8, delay_ms: u64, events: &str) -> String {
    format!(
        r#""{name}": {{ "policy": "SCHED_FIFO", "priority": {priority}, "delay": {}, "loop": 1, {events} }}"#,
        delay_ms * 1000
    )
}

const CRITICAL: &str = r#""lock": "m", "run": 10000, "unlock": "m""#;

/// The classic: "low" takes the mutex at 0, "high" wants it at 1 ms, "middle" comes at 2 ms and runs for 50 ms.
fn inversion(pi: bool, low: &str) -> Report {
    let high = fifo("high", 30, 1, r#""lock": "m", "run": 5000, "unlock": "m""#);
    let middle = fifo("middle", 20, 2, r#""run": 50000"#);
    run(&machine(1), &with(pi, &format!("{low}, {high}, {middle}")))
}

#[test]
fn a_middle_priority_delays_the_highest_unless_it_is_inherited() {
    for low in [fifo("low", 10, 0, CRITICAL), format!(r#""low": {{ "loop": 1, {CRITICAL} }}"#)] {
        // Without inheritance: when "middle" comes, 8 ms of the critical section are left, and all of "middle" comes
        // before them.
        let report = inversion(false, &low);
        assert_time(task(&report, "high").cpu_time_s, 0.005);
        assert_time(task(&report, "middle").wait_time_s, 0.0);
        assert_time(task(&report, "low").wait_time_s, 0.050);
        // With inheritance: "low" runs on to 10 ms, "high" from there to 15 ms, then "middle".
        let report = inversion(true, &low);
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        assert_time(task(&report, "low").wait_time_s, 0.0);
        assert_time(task(&report, "middle").wait_time_s, 0.013);
        assert_time(report.time_s, 0.065);
    }
}

/// "owner" holds m1; "between" holds m2 and waits for m1; "high" waits for m2: both inherit.
#[test]
fn inheritance_goes_along_a_chain_of_owners() {
    let tasks = [
        r#""owner": { "loop": 1, "lock": "m1", "run": 10000, "unlock": "m1" }"#.to_owned(),
        fifo("between", 5, 1, r#""lock": "m2", "lock1": "m1", "run": 2000, "unlock1": "m1", "unlock": "m2""#),
        fifo("high", 30, 2, r#""lock": "m2", "run": 1000, "unlock": "m2""#),
        fifo("middle", 20, 3, r#""run": 50000"#),
    ];
    let report = run(&machine(1), &with(true, &tasks.join(",")));
    // "owner" runs to 10 ms, "between" to 12 ms and "high" to 13 ms, all before "middle", which came at 3 ms.
    assert_time(task(&report, "middle").wait_time_s, 0.010);
    let report = run(&machine(1), &with(false, &tasks.join(",")));
    assert_time(task(&report, "middle").wait_time_s, 0.0);
}

/// A thread that holds two mutexes frees the first and keeps the priority that the second one gives it.
#[test]
fn what_is_inherited_ends_with_the_mutex_that_gave_it() {
    let low = r#""low": { "loop": 1, "lock": "a", "lock1": "b", "run": 10000, "unlock": "a", "run1": 10000, "unlock1": "b", "run2": 10000 }"#;
    let tasks = [
        low.to_owned(),
        fifo("high", 30, 1, r#""lock": "a", "run": 1000, "unlock": "a""#),
        fifo("less", 20, 2, r#""lock": "b", "run": 1000, "unlock": "b""#),
        fifo("between", 25, 3, r#""run": 4000"#),
        fifo("middle", 10, 4, r#""run": 5000"#),
    ];
    let report = run(&machine(1), &with(true, &tasks.join(",")));
    // low at 30 to 10 ms; high to 11; between to 15; low at 20 to 25; less to 26; middle to 31; low to 41.
    assert_time(task(&report, "between").wait_time_s, 0.008);
    assert_time(task(&report, "middle").wait_time_s, 0.022);
    assert_time(report.time_s, 0.041);
}

/// The most urgent waiter gets the mutex, not the first waiter.
#[test]
fn an_unlock_hands_over_to_the_most_urgent() {
    let order = |pi: bool| {
        let tasks = [
            fifo("owner", 40, 0, r#""lock": "m", "sleep": 10000, "unlock": "m""#),
            fifo("first", 10, 1, r#""lock": "m", "run": 5000, "unlock": "m""#),
            fifo("second", 20, 2, r#""lock": "m", "run": 5000, "unlock": "m", "run1": 20000"#),
        ];
        let report = run(&machine(1), &with(pi, &tasks.join(",")));
        task(&report, "first").wait_time_s
    };
    // Without inheritance, "first" is woken at 10 ms and keeps the CPU to 15 ms. With it, "first" is handed the mutex
    // at 15 ms, while "second" runs on to 35 ms.
    assert_time(order(false), 0.0);
    assert_time(order(true), 0.020);
}

/// A fair owner that waits in a queue is taken out of it at once; an owner that sleeps is as urgent when it wakes.
#[test]
fn a_waiting_and_a_sleeping_owner_inherit() {
    let tasks = [
        r#""owner": { "loop": 1, "lock": "m", "run": 1000, "sleep": 5000, "run1": 4000, "unlock": "m" }"#.to_owned(),
        r#""hogs": { "instance": 3, "loop": -1, "run": 1000000 }"#.to_owned(),
        fifo("high", 30, 20, r#""lock": "m", "run": 1000, "unlock": "m""#),
    ];
    // From 20 ms on only the owner's own steps, at most 10 ms, come before the waiter.
    let report = run_until(&machine(1), &with(true, &tasks.join(",")), SEC);
    let ended = task(&report, "high").cpu_time_s;
    assert_time(ended, 0.001);
    assert!(task(&report, "owner").wait_time_s < 0.020, "{}", task(&report, "owner").wait_time_s);
}

/// An owner runs within the reservation of its waiter: before FIFO threads, and unthrottled.
#[test]
fn a_deadline_waiter_lends_its_deadline() {
    let tasks = [
        fifo("owner", 1, 0, r#""lock": "m", "run": 20000, "unlock": "m""#),
        fifo("middle", 99, 2, r#""run": 50000"#),
        r#""dl": { "policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-period": 50000, "delay": 1000, "loop": 1,
            "lock": "m", "run": 1000, "unlock": "m" }"#
            .to_owned(),
    ];
    let report = run(&machine(1), &with(true, &tasks.join(",")));
    assert_time(task(&report, "owner").wait_time_s, 0.0);
    assert_time(task(&report, "middle").wait_time_s, 0.019);
    let report = run(&machine(1), &with(false, &tasks.join(",")));
    assert_time(task(&report, "middle").wait_time_s, 0.0);
}

/// A thread that does not hold an inheriting mutex cannot free it.
#[test]
fn only_the_owner_unlocks() {
    let tasks = r#""owner": { "loop": 1, "lock": "m", "run": 5000, "unlock": "m" },
        "other": { "loop": 1, "delay": 1000, "unlock": "m", "run": 100 }"#;
    let report = run(&machine(2), &with(true, tasks));
    assert!(report.warnings.iter().any(|warning| warning.contains("refused")), "{:?}", report.warnings);
}
