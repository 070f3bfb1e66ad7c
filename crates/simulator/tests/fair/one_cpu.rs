// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that share one CPU: shares, latencies, slices, policies.

use super::support::{assert_near, run, spinning, task};

/// A thread that runs `run` µs of every `period` µs, pinned to CPU 0.
fn periodic(name: &str, run: u32, period: u32, more: &str) -> String {
    format!(
        r#""{name}" : {{ "cpus" : [0], "loop" : -1, "run" : {run},
            "timer" : {{ "ref" : "unique", "period" : {period} }} {more} }}"#
    )
}

fn hog(name: &str, more: &str) -> String {
    spinning(name, 1, &format!(r#", "cpus" : [0] {more}"#))
}

/// A step of nice is a factor of 1.25 in weight: nice 0 has 1024, nice 5 has 335, nice 10 has 110.
#[test]
fn cpu_time_follows_weight() {
    let nice = |value: i32| format!(r#", "priority" : {value}"#);
    let report = run("smp-8", &[hog("zero", ""), hog("five", &nice(5)), hog("ten", &nice(10))], 1, 30);
    for (name, weight) in [("zero", 1024.0), ("five", 335.0), ("ten", 110.0)] {
        assert_near(task(&report, name).cpu_time_s, 30.0 * weight / 1469.0, 0.02);
    }
}

/// The CPU is fully used and shared, also among threads that sleep and wake.
#[test]
fn a_sleeper_gets_what_it_asks_for_if_that_is_below_its_share() {
    let tasks = [hog("a", ""), hog("b", ""), periodic("sleeper", 2000, 10_000, "")];
    let report = run("smp-8", &tasks, 1, 20);
    assert_near(task(&report, "sleeper").cpu_time_s, 4.0, 0.02);
    assert_near(task(&report, "a").cpu_time_s, 8.0, 0.02);
    assert_near(task(&report, "b").cpu_time_s, 8.0, 0.02);
}

/// A hog that is alone has run longer than it asked for, so it is not protected: a woken thread runs at once. Of two
/// hogs the running one is protected while it is owed service (RUN_TO_PARITY), and the other may have the earlier
/// deadline. So at most both hogs run first, 2.8 ms each, which end at ticks of 4 ms.
#[test]
fn a_woken_thread_waits_for_slices_that_are_competed_for() {
    let wakeup = |hogs: &[&str]| {
        let mut tasks: Vec<String> = hogs.iter().map(|name| hog(name, "")).collect();
        tasks.push(periodic("sleeper", 500, 20_300, ""));
        task(&run("smp-8", &tasks, 1, 20), "sleeper").timing.wakeup_latency_ns.unwrap()
    };
    let (one, two) = (wakeup(&["hog"]), wakeup(&["a", "b"]));
    assert!(one.p50 == 0 && one.max <= 4_000_000, "{one:?}");
    assert!(two.p99 > 1_000_000 && two.max <= 8_000_000, "{two:?}");
}

/// A shorter slice takes away the running task's protection (PREEMPT_SHORT) unless that is about to end anyway.
#[test]
fn a_thread_that_asks_for_a_short_slice_preempts() {
    let short = r#", "policy" : "SCHED_OTHER", "dl-runtime" : 500"#;
    let tasks = [hog("a", ""), hog("b", ""), periodic("sleeper", 200, 20_300, short)];
    let latency = task(&run("smp-8", &tasks, 1, 20), "sleeper").timing.wakeup_latency_ns.unwrap();
    assert!(latency.p50 == 0 && latency.max <= 1_500_000, "{latency:?}");
}

/// SCHED_IDLE has 3 of 1027 of the weight, and any thread that wakes preempts it at once.
#[test]
fn an_idle_policy_thread_gets_the_rest() {
    let report = run("smp-8", &[hog("hog", ""), hog("rest", r#", "policy" : "SCHED_IDLE""#)], 1, 60);
    assert_near(task(&report, "rest").cpu_time_s, 60.0 * 3.0 / 1027.0, 0.10);
    let report =
        run("smp-8", &[hog("rest", r#", "policy" : "SCHED_IDLE""#), periodic("sleeper", 500, 20_300, "")], 1, 20);
    assert_eq!(task(&report, "sleeper").timing.wakeup_latency_ns.unwrap().max, 0);
}

/// SCHED_BATCH has the weight of its nice value, but does not preempt when it wakes, even if it has not run yet.
#[test]
fn a_batch_thread_shares_alike_and_waits_its_turn() {
    let batch = r#", "policy" : "SCHED_BATCH""#;
    let report = run("smp-8", &[hog("hog", ""), hog("batch", batch)], 1, 20);
    assert_near(task(&report, "batch").cpu_time_s, 10.0, 0.02);
}
