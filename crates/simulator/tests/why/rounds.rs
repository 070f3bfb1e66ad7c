// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds of periodic threads that end too late, and the culprits.

use tandem_simulator::simulation::{Governor, Options};
use tandem_simulator::why::Cause;

use super::small::{assert_time, machine};
use super::{why, within};

/// 8 ms of work at the highest clock, every 10 ms.
const PERIODIC: &str =
    r#"{ "tasks": { "beat": { "loop": 20, "run": 8000, "timer": { "ref": "tick", "period": 10000 } } } }"#;

#[test]
fn a_late_clock() {
    // The governor looks every 100 ms; until then the clock is at half of its highest, and the first rounds take 16 ms.
    let governor = "ondemand=100ms".parse::<Governor>().unwrap();
    let why = why(&machine(1), PERIODIC, &Options { governor, ..within(1000) });
    let miss = why.misses.last().expect("the first rounds are late");
    assert_eq!((miss.task.as_str(), miss.cause), ("beat", Cause::LateClock));
    let first = why.misses.iter().find(|miss| miss.backlog_s == 0.0).expect("the first late round inherits nothing");
    assert_time(first.lost_to_clock_s, 0.008);
    assert_time(first.work_s, 0.008);
    assert_time(first.late_s, 0.006);
}

#[test]
fn rounds_in_time_are_no_misses() {
    let why = why(&machine(1), PERIODIC, &within(1000));
    assert_eq!((why.misses.len(), why.late_rounds, why.rounds), (0, 0, 20));
}

#[test]
fn a_thread_that_has_ended_is_late_for_nothing() {
    // After its twentieth round, at 200 ms, it is gone; the other one works for 500 ms.
    let beside =
        PERIODIC.replace(r#"{ "tasks": {"#, r#"{ "tasks": { "long": { "loop": 1, "cpus": [1], "run": 500000 },"#);
    let why = why(&machine(2), &beside, &within(1000));
    assert_eq!((why.misses.len(), why.late_rounds, why.rounds), (0, 0, 20));
}

#[test]
fn too_much_work() {
    let why = why(&machine(1), &PERIODIC.replace("8000", "11000"), &within(1000));
    assert_eq!(why.misses[0].cause, Cause::TooMuchWork);
    assert_eq!((why.late_rounds, why.rounds), (20, 20));
}

#[test]
fn a_round_that_waits_takes_the_cause_of_its_longest_wait() {
    let disturbed = PERIODIC.replace(
        r#"{ "tasks": {"#,
        r#"{ "tasks": { "storm": { "policy": "SCHED_FIFO", "priority": 50, "delay": 31000, "loop": 1, "run": 9000 },"#,
    );
    let why = why(&machine(1), &disturbed, &within(1000));
    let miss = why.misses.iter().find(|miss| miss.backlog_s == 0.0).expect("a round is late");
    assert_eq!((miss.task.as_str(), miss.cause), ("beat", Cause::HigherClass));
    assert_time(miss.waited_s, 0.009);
    let wait = miss.longest_wait.as_ref().expect("it waited");
    assert_eq!(super::runner(wait), "storm");
}
