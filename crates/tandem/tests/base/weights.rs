// SPDX-License-Identifier: GPL-2.0-only
//! Threads that compute share CPUs by the kernel's weights (`sched_prio_to_weight`).

use tandem_simulator::workload::{Op, Policy, Scheduling};

use super::run::{for_ms, hog, run, share, then_forever, threads, time, within};
use crate::equal;
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

#[test]
fn nice_5_has_a_third_of_nice_0() {
    let report = run(&equal::machine(1), &for_ms(4000, [hog("plain"), hog("nice").nice(5)]));
    within(share(&report, "nice"), 100.0 * 335.0 / 1359.0, 0.5);
}

#[test]
fn nice_minus_20_leaves_a_percent() {
    let report = run(&equal::machine(1), &for_ms(8000, [hog("plain"), hog("first").nice(-20)]));
    // 1.14 %: 91 ms in slices of 4 ms.
    within(share(&report, "plain"), 100.0 * 1024.0 / 89785.0, 0.1);
}

#[test]
fn nice_19_has_a_percent_and_a_half() {
    let report = run(&equal::machine(1), &for_ms(8000, [hog("plain"), hog("last").nice(19)]));
    within(share(&report, "last"), 100.0 * 15.0 / 1039.0, 0.1);
}

#[test]
fn batch_threads_have_the_weight_of_plain_ones() {
    let report = run(&equal::machine(1), &for_ms(2000, [hog("plain"), hog("batch").policy(Policy::Batch { nice: 0 })]));
    within(share(&report, "batch"), 50.0, 0.5);
}

#[test]
fn equal_threads_are_a_slice_apart() {
    let report = run(&equal::machine(1), &for_ms(1000, [hog("hog").times(4)]));
    for hog in threads(&report, "hog") {
        within(hog.cpu_time_s * 1e3, 250.0, 8.0);
    }
}

#[test]
fn three_threads_on_two_cpus_have_two_thirds_of_one_each() {
    let report = run(&equal::machine(2), &for_ms(2000, [hog("hog").times(3)]));
    for hog in threads(&report, "hog") {
        within(hog.cpu_time_s * 1e3, 2000.0 * 2.0 / 3.0, 20.0);
    }
}

#[test]
fn weights_hold_on_two_cpus() {
    let tasks = [hog("plain").times(2), hog("nice").nice(5).times(2)];
    let report = run(&equal::machine(2), &for_ms(4000, tasks));
    within(share(&report, "nice"), 100.0 * 335.0 / 1359.0, 1.0);
    for name in ["plain", "nice"] {
        let [one, other] = [0, 1].map(|at| threads(&report, name)[at].cpu_time_s * 1e3);
        within(one, other, 80.0);
    }
}

/// No thread has more than a CPU: what is left of two CPUs beside nice -20 is shared by the others.
#[test]
fn what_a_heavy_thread_cannot_use_is_the_others() {
    let tasks = [hog("heavy").nice(-20), hog("plain").times(2)];
    let report = run(&equal::machine(2), &for_ms(2000, tasks));
    within(time(&report, "heavy"), 2000.0, 40.0);
    for hog in threads(&report, "plain") {
        within(hog.cpu_time_s * 1e3, 1000.0, 40.0);
    }
}

/// Each has a second of the first two; then 1024:335.
#[test]
fn a_nice_value_that_changes_counts_from_then_on() {
    let nice = Policy::Other { nice: 5, slice: None };
    let renice = Op::SetScheduling(Scheduling { policy: nice, ..Scheduling::default() });
    let later = thread("later", then_forever([work(1000), renice], [work(1000)]));
    let report = run(&equal::machine(1), &for_ms(6000, [hog("plain"), later]));
    within(time(&report, "later"), 1000.0 + 4000.0 * 335.0 / 1359.0, 20.0);
}

#[test]
fn sleep_saves_up_no_more_than_what_is_taken_at_once() {
    let late = thread("late", then_forever([sleep(1000)], [work(1000)]));
    let report = run(&equal::machine(1), &for_ms(2000, [hog("hog"), late]));
    // Half of the other second, and half of the most that sleep saves up: 40 ms.
    let late = time(&report, "late");
    assert!((496.0..=524.0).contains(&late), "{late} ms");
}
