// SPDX-License-Identifier: GPL-2.0-only
//! Threads of `SCHED_IDLE`: the share of a weight of 3, and whatever is left.

use tandem_simulator::workload::Policy;

use super::run::{for_ms, hog, longest_wakeup_us, periodic, run, share, threads, time, within};
use crate::equal;
use crate::long::combinations::support::workload::{TaskExt, thread, work};

#[test]
fn they_have_their_share_of_a_busy_cpu() {
    let report = run(&equal::machine(1), &for_ms(10_000, [hog("plain"), hog("idle").policy(Policy::Idle)]));
    // 0.29 % are 29 ms, seven slices.
    within(share(&report, "idle"), 100.0 * 3.0 / 1027.0, 0.1);
}

#[test]
fn they_have_all_of_an_idle_cpu() {
    let report = run(&equal::machine(2), &for_ms(1000, [hog("plain"), hog("idle").policy(Policy::Idle)]));
    within(time(&report, "plain"), 1000.0, 1.0);
    within(time(&report, "idle"), 1000.0, 1.0);
}

/// What the other leaves, half of the time, is all theirs.
#[test]
fn they_have_what_others_leave() {
    let report = run(&equal::machine(1), &for_ms(2000, [periodic("plain", 5, 10), hog("idle").policy(Policy::Idle)]));
    within(time(&report, "plain"), 1000.0, 10.0);
    within(time(&report, "idle"), 1000.0, 10.0);
}

#[test]
fn they_share_what_they_have_equally() {
    let report = run(&equal::machine(1), &for_ms(2000, [hog("idle").policy(Policy::Idle).times(4)]));
    for thread in threads(&report, "idle") {
        within(thread.cpu_time_s * 1e3, 500.0, 25.0);
    }
}

#[test]
fn a_thread_that_wakes_is_as_quick_as_alone() {
    let user = || periodic("user", 2, 10);
    let machine = equal::machine(4);
    let alone = longest_wakeup_us(&run(&machine, &for_ms(1000, [user()])), "user");
    let beside = run(&machine, &for_ms(1000, [user(), hog("idle").policy(Policy::Idle).times(16)]));
    within(longest_wakeup_us(&beside, "user"), alone, 20.0);
    within(time(&beside, "user"), 200.0, 4.0);
}

/// Those of the idle class that wake do not take a CPU from others.
#[test]
fn they_do_not_take_a_cpu_when_they_wake() {
    let idle = periodic("idle", 1, 20).policy(Policy::Idle);
    let report = run(&equal::machine(1), &for_ms(10_000, [hog("plain"), idle]));
    assert!(share(&report, "idle") < 0.5, "{} %", share(&report, "idle"));
}

/// One beside three threads on two CPUs that share a queue: a share of both.
#[test]
fn they_have_their_share_of_two_busy_cpus() {
    let report = run(&equal::machine(2), &for_ms(10_000, [hog("plain").times(3), hog("idle").policy(Policy::Idle)]));
    let percent = share(&report, "idle");
    assert!((0.05..0.5).contains(&percent), "{percent} %");
}

/// One for each CPU is enough to leave them only their share.
#[test]
fn they_have_little_beside_a_thread_for_each_cpu() {
    let tasks = [hog("plain").times(2), hog("idle").policy(Policy::Idle)];
    let percent = share(&run(&equal::machine(2), &for_ms(10_000, tasks)), "idle");
    assert!((0.05..0.5).contains(&percent), "{percent} %");
}

/// Once the others have ended they share what there is, however much they had before.
#[test]
fn they_share_equally_when_the_others_have_ended() {
    let tasks = [thread("plain", [work(500)]).times(3), hog("idle").policy(Policy::Idle).times(4)];
    let report = run(&equal::machine(2), &for_ms(3000, tasks));
    for thread in threads(&report, "idle") {
        within(thread.cpu_time_s * 1e3, (6000.0 - 1500.0) / 4.0, 60.0);
    }
}
