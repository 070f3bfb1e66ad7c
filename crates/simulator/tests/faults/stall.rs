// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task that waits too long (`check_rq_for_timeouts`).
//!
//! The scheduler's `timeout_ms` is 1000: 250 ticks of 4 ms. The watchdog looks every 125 ticks, at 0.5 s, 1.0 s and so on.
//! A task is late when it has waited for more than 250 ticks.

use super::support::{assert_recorded, exit, options, says, try_run};

/// Two threads: one that never waits for anything, and one that is forgotten when it is to run for the second time,
/// after `sleep_ms`.
fn forgotten(sleep_ms: u32) -> String {
    format!(
        r#"{{ "tasks": {{ "lost": {{ "loop": 2, "run": 1000, "sleep": {} }} }}, "global": {{ "duration": 4 }} }}"#,
        sleep_ms * 1000
    )
}

fn stalled(sleep_ms: u32) -> (String, f64) {
    let report = try_run(&forgotten(sleep_ms), &options("faulty", ",fault=FAULT_STALL,after=2")).unwrap();
    let exit = exit(&report);
    assert_eq!((exit.kind.as_str(), exit.callback.as_deref()), ("SCX_EXIT_ERROR_STALL", None));
    assert_eq!(exit.reason, "runnable task stall");
    assert!(exit.backtrace.is_empty(), "no program was at work");
    assert_recorded(exit);
    let (_, _, message) = says(exit);
    (message.to_owned(), exit.at_s)
}

#[test]
fn a_forgotten_task_is_found_by_the_first_look_after_the_timeout() {
    // The lost thread's second turn comes at 1 ms + 399 ms = 0.400 s, tick 100. It is late from tick 351 on, 1.404 s.
    // The watchdog looks at tick 375: 275 ticks after the turn.
    assert_eq!(stalled(399), ("lost[2] failed to run for 1.100s".to_owned(), 1.5));
}

#[test]
fn a_task_that_waited_for_exactly_the_timeout_is_not_late() {
    // Tick 125 + 250 is tick 375, when the watchdog looks: the thread is not late yet. It is found at tick 500, 375
    // ticks after its turn.
    assert_eq!(stalled(499), ("lost[2] failed to run for 1.500s".to_owned(), 2.0));
}

#[test]
fn one_tick_more_is_late() {
    // The second turn comes at 0.499 s, tick 124: at tick 375 the thread has waited for 251 ticks.
    assert_eq!(stalled(498), ("lost[2] failed to run for 1.004s".to_owned(), 1.5));
}

/// The watchdog's work waits for a CPU, too, where real-time threads have all of them: it never looks, and a tick finds that.
/// 250 ticks after the scheduler was loaded are over with tick 251.
#[test]
fn a_watchdog_that_gets_no_cpu_is_missed() {
    let text = r#"{ "global": { "duration": 4 }, "tasks": {
        "hog": { "instance": 2, "policy": "SCHED_FIFO", "priority": 10, "loop": -1, "run": 1000000 },
        "waits": { "loop": 1, "delay": 10000, "run": 1000 } } }"#;
    let report = try_run(text, &options("faulty", "")).unwrap();
    let exit = exit(&report);
    // Ticks come at 276 us and every 4 ms from then on.
    assert!((1.004..1.008).contains(&exit.at_s), "{}", exit.at_s);
    assert_eq!(exit.kind, "SCX_EXIT_ERROR_STALL");
    assert_eq!(exit.message, "watchdog failed to check in for 1.004s");
}
