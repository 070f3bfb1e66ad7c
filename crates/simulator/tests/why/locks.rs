// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for a mutex, and the culprits.

use tandem_simulator::why::Cause;

use super::small::{assert_time, machine};
use super::{why, within};

/// One CPU. At 1 ms `high` wants the mutex that `low` holds for 5 ms; at 2 ms `middle`, which wants no mutex, takes the CPU
/// for 20 ms.
const INVERSION: &str = r#"{ "tasks": {
    "low": { "loop": 1, "lock": "m", "run": 5000, "unlock": "m" },
    "middle": { "policy": "SCHED_FIFO", "priority": 50, "delay": 2000, "loop": 1, "run": 20000 },
    "high": { "policy": "SCHED_FIFO", "priority": 90, "delay": 1000, "loop": 1, "lock": "m", "run": 1000, "unlock": "m" } }
    GLOBAL }"#;

#[test]
fn priority_inversion() {
    let why = why(&machine(1), &INVERSION.replace("GLOBAL", ""), &within(200));
    let wait = &why.locks[0];
    assert_eq!((wait.task.as_str(), wait.mutex.as_str(), wait.cause), ("high", "m", Cause::PriorityInversion));
    assert_eq!((wait.holders[0].task.as_str(), wait.ran_instead[0].task.as_str()), ("low", "middle"));
    // The rest of the 5 ms, and the 20 ms of the thread between.
    assert_time(wait.since_s, 0.001);
    assert_time(wait.waited_s, 0.024);
    assert_time(wait.holder_waited_s, 0.020);
}

#[test]
fn mutexes_that_inherit_priority_know_no_inversion() {
    let inherits = INVERSION.replace("GLOBAL", r#", "global": { "pi_enabled": true }"#);
    let why = why(&machine(1), &inherits, &within(200));
    let wait = &why.locks[0];
    assert_eq!((wait.task.as_str(), wait.cause), ("high", Cause::LockHeld));
    assert_time(wait.waited_s, 0.004);
}

#[test]
fn a_lock_convoy() {
    // Eight threads on eight CPUs, each of which holds the same mutex for 1 ms.
    let convoy = r#"{ "tasks": { "worker": { "instance": 8, "loop": 20, "lock": "m", "run": 1000, "unlock": "m" } } }"#;
    let why = why(&machine(8), convoy, &within(1000));
    let wait = &why.locks[0];
    assert_eq!(wait.cause, Cause::LockConvoy);
    assert!(wait.holders.len() >= 6, "{:?}", wait.holders);
    assert_eq!(why.lock_causes[0].cause, Cause::LockConvoy);
}

#[test]
fn a_lock_that_is_held_long() {
    let held = r#"{ "tasks": {
        "keeper": { "loop": 1, "lock": "m", "run": 40000, "unlock": "m" },
        "other": { "delay": 1000, "loop": 1, "lock": "m", "run": 1000, "unlock": "m" } } }"#;
    let why = why(&machine(2), held, &within(200));
    let wait = &why.locks[0];
    assert_eq!((wait.task.as_str(), wait.cause), ("other", Cause::LockHeld));
    assert_eq!(wait.holders[0].task, "keeper");
    assert_time(wait.holders[0].time_s, 0.039);
}
