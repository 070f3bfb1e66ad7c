// SPDX-License-Identifier: GPL-2.0-only
//! A thread that wakes takes the CPU of one that is due later, or an idle one.

use tandem_simulator::workload::Policy;

use super::run::{for_ms, hog, longest_wakeup_us, periodic, run, threads, time, unequal, within};
use crate::equal;
use crate::long::combinations::support::workload::TaskExt;

#[test]
fn what_needs_little_has_the_cpu_at_once() {
    for hogs in [1, 4] {
        let report =
            run(&equal::machine(1), &for_ms(1000, [hog("hog").times(hogs), periodic("light", 1, 20).after(30)]));
        let longest = longest_wakeup_us(&report, "light");
        assert!(longest < 10.0, "{longest} us beside {hogs}");
        within(time(&report, "light"), 49.0, 1.0);
    }
}

#[test]
fn what_has_had_more_than_its_share_waits() {
    let report = run(&equal::machine(1), &for_ms(2000, [hog("hog"), periodic("heavy", 9, 10)]));
    within(time(&report, "heavy"), 1000.0, 50.0);
}

/// It waits for the end of a slice, at a tick.
#[test]
fn batch_threads_wait_for_the_end_of_a_slice() {
    let batch = periodic("batch", 1, 23).policy(Policy::Batch { nice: 0 });
    let report = run(&equal::machine(1), &for_ms(1000, [hog("hog"), batch]));
    let longest = longest_wakeup_us(&report, "batch");
    assert!((1000.0..=8000.0).contains(&longest), "{longest} us");
}

/// On four CPUs, all busy, without the luck of a free one: each thread takes some CPU.
#[test]
fn light_threads_find_a_busy_cpu_to_take() {
    let report = run(&equal::machine(4), &for_ms(1000, [hog("hog").times(8), periodic("light", 1, 20).times(4)]));
    let light = super::run::threads(&report, "light");
    for thread in light {
        let p95 = thread.timing.wakeup_latency_ns.unwrap().p95;
        assert!(p95 <= 1_000_000, "{p95} ns");
    }
}

/// No fast CPU is idle, and the slow ones are alike: the one where the thread was sleeps least deeply.
#[test]
fn what_wakes_stays_on_its_slow_cpu_while_no_faster_one_is_idle() {
    let tasks = [hog("hog").times(2), periodic("light", 1, 10).after(100)];
    let report = run(&unequal(2, 4), &for_ms(2000, tasks));
    let light = threads(&report, "light")[0];
    assert!(light.migrations <= 2, "{} migrations", light.migrations);
}
