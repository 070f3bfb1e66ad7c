// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for a CPU, and the culprits.

use tandem_simulator::why::Cause;
use tandem_simulator::why::report::{StartReport, WhatReport};

use super::small::{assert_time, machine, machine_from, text};
use super::{runner, why, within};
use crate::faults::support::options as under;

#[test]
fn wrong_affinity() {
    // Two threads that may use CPU 0 only, with CPU 1 idle all the time.
    let pinned = r#"{ "tasks": {
        "left": { "cpus": [0], "loop": 1, "run": 20000 },
        "right": { "cpus": [0], "loop": 1, "run": 20000 } } }"#;
    let why = why(&machine(2), pinned, &within(100));
    let wait = &why.waits[0];
    assert_eq!(wait.cause, Cause::Affinity);
    assert_eq!(wait.earlier, None, "no CPU that it may use was idle");
    let idle = &wait.idle[0];
    assert_eq!((idle.cpu, idle.allowed), (1, false));
    assert_time(idle.idle_s, wait.waited_s);
    assert_ne!(runner(wait), wait.task);
}

#[test]
fn starvation_by_weight() {
    // Nice 19 weighs 15, nice -5 weighs 3121.
    let unequal = r#"{ "tasks": {
        "light": { "priority": 19, "loop": -1, "run": 1000 },
        "heavy": { "priority": -5, "loop": -1, "run": 1000 } } }"#;
    let why = why(&machine(1), unequal, &within(2000));
    let wait = &why.waits[0];
    assert_eq!((wait.task.as_str(), wait.cause, runner(wait)), ("light", Cause::Weight, "heavy"));
    assert_eq!((wait.urgency.weight, wait.ran_instead[0].urgency.weight), (15, 3121));
    assert_time(wait.ran_instead[0].time_s, wait.waited_s);
}

#[test]
fn a_missed_idle_cpu() {
    // Under a scheduler that lets all threads stay where they were born.
    let two = r#"{ "tasks": { "worker": { "instance": 2, "loop": 1, "run": 50000 } } }"#;
    let why = why(&machine(2), two, &under("careless", ",mode=stay"));
    let wait = &why.waits[0];
    assert_eq!(wait.cause, Cause::MissedIdleCpu);
    let earlier = wait.earlier.as_ref().expect("CPU 1 was idle");
    assert_eq!(earlier.cpu, 1);
    assert_time(earlier.earlier_s, wait.waited_s);
    // What the scheduler said is told: it chose CPU 0 and put the thread into that CPU's queue, behind the other one.
    let first =
        why.waits.iter().find(|wait| matches!(wait.start, StartReport::New { .. })).expect("a new thread waited");
    let said: Vec<&WhatReport> = first.steps.iter().map(|step| &step.what).take(3).collect();
    let queue = "local DSQ of CPU 0".to_owned();
    // The thread that forks runs on CPU 0.
    let (callback, callback_cpu) = (Some("enqueue"), Some(0));
    let queued = WhatReport::Queued { queue, depth: 2, callback, callback_cpu };
    assert_eq!(said, [&WhatReport::SelectCpu { cpu: 0 }, &WhatReport::Enqueue, &queued]);
}

#[test]
fn what_dispatch_takes_from_a_queue_is_told_by_its_name() {
    // scx_simple's `enqueue` puts whoever waits into its one queue, from which `dispatch` takes the first.
    let two = r#"{ "tasks": { "worker": { "instance": 2, "loop": 1, "run": 50000 } } }"#;
    let why = why(&machine(1), two, &under("scx_simple", ""));
    let queued = |queue: &str, callback| WhatReport::Queued {
        queue: queue.to_owned(),
        depth: 1,
        callback: Some(callback),
        callback_cpu: Some(0),
    };
    let (first, then) = (queued("DSQ 0x0", "enqueue"), queued("local DSQ of CPU 0", "dispatch"));
    let displaced = why.waits.iter().find(|wait| matches!(wait.start, StartReport::Displaced { .. })).unwrap();
    let said: Vec<&WhatReport> = displaced.steps.iter().map(|step| &step.what).collect();
    assert_eq!(said, [&WhatReport::Enqueue, &first, &then]);
    // The queue is left when the slice of the other one, 20 ms and up to a tick of 4, is over.
    let waited = displaced.steps[2].at_s - displaced.since_s;
    assert!((0.016..=0.0245).contains(&waited), "{waited}");
}

#[test]
fn a_cpu_that_wakes_slowly() {
    let slow = text(1).replace("exit_us = 0", "exit_us = 700");
    let sleeper = r#"{ "tasks": { "sleeper": { "loop": 20, "run": 100, "sleep": 9000 } } }"#;
    let why = why(&machine_from(&slow), sleeper, &within(1000));
    // All waits are alike; the first was the thread's birth.
    let wait = &why.waits[1];
    assert_eq!(wait.cause, Cause::IdleExit);
    assert_time(wait.waited_s, 700e-6);
    assert_time(wait.overhead.idle_exit_s, 700e-6);
    assert_eq!(wait.start, StartReport::Woken { by: None, cpu: 0, from: "timer".to_owned() });
    assert_eq!(why.wait_causes.len(), 1, "all waits are alike: {:?}", why.wait_causes);
}

#[test]
fn a_throttled_group() {
    // 20 ms of each 100, and a second CPU that idles: 80 ms are waited, and no idle CPU is to blame.
    let limited = r#"{ "tasks": { "limited": { "taskgroup": "/g", "loop": -1, "run": 1000 } },
        "tandem": { "cgroups": { "/g": { "max": 20000 } } } }"#;
    let why = why(&machine(2), limited, &within(1000));
    let wait = &why.waits[0];
    assert_eq!((wait.task.as_str(), wait.cause), ("limited", Cause::Throttled));
    assert!((0.075..=0.085).contains(&wait.throttled_s) && wait.waited_s - wait.throttled_s < 1e-3, "{wait:?}");
    assert!(wait.earlier.is_none(), "the idle CPU would not have run it either: {:?}", wait.earlier);
    assert_eq!(why.wait_causes[0].cause, Cause::Throttled);
}

#[test]
fn a_stall() {
    // The scheduler forgets a thread at its second turn, and is ejected for it after a second.
    let forgotten =
        r#"{ "tasks": { "lost": { "loop": 2, "run": 1000, "sleep": 399000 } }, "global": { "duration": 4 } }"#;
    let why = why(&machine(2), forgotten, &under("faulty", ",fault=FAULT_STALL,after=2"));
    let wait = &why.waits[0];
    assert_eq!((wait.task.as_str(), wait.cause), ("lost", Cause::Stall));
    // From 0.4 s to 1.5 s, when the watchdog looks.
    assert_time(wait.since_s, 0.4);
    assert_time(wait.waited_s, 1.1);
    assert_time(wait.held_s, 1.1);
    assert!(wait.ejected && wait.ended, "{wait:?}");
    let said: Vec<&WhatReport> = wait.steps.iter().map(|step| &step.what).collect();
    assert!(said.contains(&&WhatReport::Held) && said.contains(&&WhatReport::Ejected), "{said:?}");
}

#[test]
fn migration_thrash() {
    // Each wake-up is on the other CPU, whose caches are cold.
    let cold = text(2).replace("migration_us = 0", "migration_us = 300");
    let busy = r#"{ "tasks": { "nomad": { "loop": 50, "run": 1000, "sleep": 1000 } } }"#;
    let why = why(&machine_from(&cold), busy, &under("careless", ",mode=wander"));
    assert_eq!(why.wait_causes[0].cause, Cause::MigrationThrash);
    // After four stays it is known to wander.
    let wait = why.waits.iter().find(|wait| wait.cause == Cause::MigrationThrash).expect("one of the first five");
    assert_time(wait.overhead.cold_s, 300e-6);
    assert!(matches!(wait.start, StartReport::Woken { .. }));
}

#[test]
fn more_threads_than_cpus_and_no_preemption() {
    let three = r#"{ "tasks": { "hog": { "instance": 3, "loop": -1, "run": 1000 } } }"#;
    assert_eq!(why(&machine(1), three, &within(200)).waits[0].cause, Cause::Crowded);
    let two = r#"{ "tasks": {
        "first": { "loop": -1, "run": 1000 },
        "second": { "delay": 500, "loop": -1, "run": 1000 } } }"#;
    let why = why(&machine(1), two, &within(200));
    // The second thread finds the first one running; later they take turns.
    for wait in &why.waits {
        let born = matches!(wait.start, StartReport::New { .. });
        assert_eq!(wait.cause, if born { Cause::NotPreempted } else { Cause::Crowded }, "{wait:?}");
    }
}

#[test]
fn a_real_time_thread() {
    let urgent = r#"{ "tasks": {
        "plain": { "loop": 10, "run": 1000, "sleep": 1000 },
        "urgent": { "policy": "SCHED_FIFO", "priority": 50, "delay": 5000, "loop": 1, "run": 30000 } } }"#;
    let why = why(&machine(1), urgent, &within(200));
    let wait = &why.waits[0];
    assert_eq!((wait.task.as_str(), wait.cause, runner(wait)), ("plain", Cause::HigherClass, "urgent"));
}
