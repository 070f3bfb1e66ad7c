// SPDX-License-Identifier: MIT OR Apache-2.0
//! How runs end: by themselves, at a limit, never.

use tandem_simulator::observer::{Observer, TaskInfo};
use tandem_simulator::simulation::{SimulationError, simulate};
use tandem_simulator::units::{MSEC, Nanos, SEC};

use super::support::{assert_time, machine, options, run, run_until, task, try_run};
use crate::common::workload;

#[test]
fn work_that_ends_with_the_limit_has_ended() {
    let report = run_until(&machine(1), r#"{ "tasks": { "a": { "loop": 1, "run": 10000 } } }"#, 10 * MSEC);
    assert_eq!((report.time_limited, report.apps[0].time_s), (false, Some(0.01)));
}

#[test]
fn one_nanosecond_less_is_a_limit() {
    let report = run_until(&machine(1), r#"{ "tasks": { "a": { "loop": 1, "run": 10000 } } }"#, 10 * MSEC - 1);
    assert_eq!((report.time_limited, report.apps[0].time_s), (true, None));
    assert_eq!((report.edp_js, report.ed2p_js2), (None, None));
}

#[test]
fn steps_without_length_that_repeat_for_ever_are_an_error() {
    for step in [r#""run": 0"#, r#""sleep": 0"#, r#""mem": 0"#, r#""runtime": 0"#] {
        let text = format!(r#"{{ "tasks": {{ "a": {{ "loop": 2147483647, {step} }} }} }}"#);
        match try_run(&machine(1), &text) {
            Err(SimulationError::NoProgress { thread, at: 0 }) => assert_eq!(thread, "a"),
            other => panic!("{step}: {other:?}"),
        }
    }
}

/// Counts the threads that come into being.
#[derive(Default)]
struct Births(usize);

impl Observer for Births {
    fn task_new(&mut self, _now: Nanos, _task: &TaskInfo) {
        self.0 += 1;
    }
}

#[test]
fn more_threads_than_there_may_be_are_refused_before_any_is_made() {
    let text = r#"{ "tasks": { "a": { "instance": 2000001, "loop": 1, "run": 10 } } }"#;
    let mut births = Births::default();
    let result = simulate(&machine(1), &workload(text), &options(), &mut births);
    assert_eq!(result.unwrap_err(), SimulationError::TooManyThreads { limit: 2_000_000, at: 0 });
    assert_eq!(births.0, 0);
}

/// Wants no more after so many questions.
struct Patience(usize);

impl Observer for Patience {
    fn stopped(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

#[test]
fn a_run_ends_without_a_report_when_its_observer_wants_no_more() {
    let text = r#"{ "tasks": { "a": { "loop": -1, "run": 10, "sleep": 10 } } }"#;
    let mut patience = Patience(3);
    match simulate(&machine(1), &workload(text), &options(), &mut patience) {
        // 3 times 1024 events; a round of the thread is two of them or a few more.
        Err(SimulationError::Stopped { at }) => assert!((10 * MSEC..100 * MSEC).contains(&at), "{at}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(patience.0, 0);
}

#[test]
fn yielding_for_ever_ends_at_the_limit() {
    let report =
        run_until(&machine(1), r#"{ "tasks": { "a": { "instance": 2, "loop": 2147483647, "yield": "" } } }"#, MSEC);
    assert_time(report.time_s, 0.001);
    assert!((report.cpus[0].busy_s - 0.001).abs() < 1e-9);
}

#[test]
fn noise_alone_ends_at_a_limit_that_says_why_and_does_no_negative_work() {
    let noise = r#"{ "tasks": { "noise": { "loop": 9, "run": 1000, "tandem": { "system": true } } } }"#;
    let report = run(&machine(1), noise);
    assert_eq!(report.warnings, ["there are only system tasks and no duration is given: ended after 10 s"]);
    assert!(report.throughput == 0.0 && report.throughput.is_sign_positive());
}

#[test]
fn noise_alone_runs_for_the_duration() {
    let noise = r#"{ "global": { "duration": 1 },
        "tasks": { "noise": { "loop": -1, "run": 1000, "sleep": 9000, "tandem": { "system": true } } } }"#;
    let report = run(&machine(1), noise);
    assert_time(report.time_s, 1.0);
    assert_time(task(&report, "noise").cpu_time_s, 0.1);
}

#[test]
fn a_forked_thread_that_never_ends_is_cut_off_as_any_other() {
    let report = run(
        &machine(1),
        r#"{ "tasks": { "parent": { "loop": 1, "fork": "child" },
            "child": { "instance": 0, "loop": -1, "run": 1000, "sleep": 9000 } } }"#,
    );
    assert!(report.time_limited);
    assert_time(report.time_s, 10.0);
}

#[test]
fn threads_that_fork_themselves_are_cut_off() {
    let report = run(
        &machine(1),
        r#"{ "tasks": { "a": { "loop": 1, "sleep": 1000, "fork": "b" },
            "b": { "instance": 0, "loop": 1, "sleep": 100000, "fork": "b" } } }"#,
    );
    assert!(report.time_limited);
}

mod long {
    use super::*;

    #[test]
    fn a_flood_of_threads_is_an_error() {
        let bomb = r#"{ "tasks": { "a": { "loop": 1, "fork": "b" }, "b": { "instance": 0, "loop": 1, "fork0": "b", "fork1": "b" } } }"#;
        match try_run(&machine(1), bomb) {
            Err(error) if error.to_string().contains("threads") => {}
            other => panic!("{:?}", other.map(|report| report.tasks.len())),
        }
    }
}

/// An application that waits for a system thread which it forked is not stuck.
#[test]
fn a_system_child_can_be_joined() {
    let report = run(
        &machine(2),
        r#"{ "tasks": { "parent": { "loop": 1, "phases": { "p": { "loop": 1, "fork": "helper", "tandem": { "join": true } } } },
            "helper": { "instance": 0, "loop": 1, "run": 5000, "tandem": { "system": true } } } }"#,
    );
    assert_time(report.time_s, 0.005);
}

/// Noise that locks a mutex of its own for ever does not hide an application that is stuck.
#[test]
fn busy_noise_does_not_hide_a_deadlock() {
    let text = r#"{ "tasks": {
        "a": { "loop": 1, "lock0": "m", "lock1": "m" },
        "noise": { "loop": -1, "lock": "n", "run": 100, "unlock": "n", "sleep": 900, "tandem": { "system": true } } } }"#;
    match try_run(&machine(1), text) {
        Err(SimulationError::Stuck { waiters, .. }) => {
            assert_eq!((waiters.len(), waiters[0].thread.as_str()), (1, "a"));
            assert!(waiters[0].waits_for.contains("held by a"), "{}", waiters[0].waits_for);
        }
        other => panic!("{other:?}"),
    }
}

/// The longest spans that a file can have, drawn from a spread and multiplied, do not overflow the clock.
#[test]
fn the_longest_spans_do_not_overflow() {
    let text = r#"{ "tasks": {
        "worker": { "instance": 2, "loop": 1, "phases": { "p": { "loop": 1, "tandem": { "parallel_for":
            { "name": "l", "iterations": 4000000, "work": 2147483647, "schedule": "static" } } } } },
        "sleeper": { "loop": 1, "sleep": 2147483647, "run": 2147483647, "tandem": { "run_spread": "exponential", "sleep_spread": "exponential" } } } }"#;
    let report = run_until(&machine(2), text, SEC);
    assert!(report.time_limited);
    assert_time(report.cpus[0].busy_s, 1.0);
}

/// A join waits for the threads that this thread forked, not for the threads that those forked in turn.
#[test]
fn a_join_waits_for_children_but_not_for_theirs() {
    let report = run(
        &machine(5),
        r#"{ "tasks": {
            "parent": { "loop": 1, "phases": { "p": { "loop": 1, "fork0": "child", "fork1": "child", "tandem": { "join": true } },
                "q": { "loop": 1, "run": 1000 } } },
            "child": { "instance": 0, "loop": 1, "fork": "grandchild", "run": 2000 },
            "grandchild": { "instance": 0, "loop": 1, "sleep": 10000, "run": 5000 } } }"#,
    );
    assert_eq!(report.tasks.len(), 5);
    assert_time(task(&report, "parent").cpu_time_s, 0.001);
    assert_time(report.time_s, 0.015);
}

#[test]
fn who_ends_with_a_mutex_is_named_by_those_that_wait_for_it() {
    let text = r#"{ "tasks": { "keeper": { "loop": 1, "lock": "m", "run": 1000 },
        "late": { "loop": 1, "sleep": 2000, "lock": "m" } } }"#;
    let error = try_run(&machine(1), text).unwrap_err().to_string();
    assert!(error.contains("held by keeper, which has ended"), "{error}");
}
