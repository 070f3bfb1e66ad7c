// SPDX-License-Identifier: GPL-2.0-only
//! Many threads: that come and go, and that sleep.

use tandem_simulator::workload::{Op, TaskSpec};

use super::run::{of, run, threads, within};
use crate::equal;
use crate::long::combinations::support::workload::{TaskExt, repeat, sleep, thread, work};

/// One thread makes two thousand that compute for a millisecond each, on four CPUs: half a second.
#[test]
fn two_thousand_threads_that_come_and_go() {
    let parent = thread("parent", [repeat(2000, [Op::Fork(1)]), vec![Op::Join]].concat());
    let child = TaskSpec { instances: 0, ..thread("child", [work(1)]) };
    let report = run(&equal::machine(4), &of([parent, child]));
    assert_eq!(report.tasks.len(), 2001);
    within(report.time_s * 1e3, 500.0, 5.0);
}

/// They wake at the same time, on eight CPUs, for a millisecond each.
#[test]
fn five_thousand_threads_that_sleep() {
    let sleepers = thread("sleeper", [sleep(100), work(1)]).times(5000);
    let report = run(&equal::machine(8), &of([sleepers]));
    within(report.time_s * 1e3, 100.0 + 5000.0 / 8.0, 10.0);
    assert!(threads(&report, "sleeper").iter().all(|task| task.work_s > 0.0));
}

mod long {
    use super::*;

    /// All there at once, for a millisecond each on 64 CPUs. The watchdog would say of one that waits for 30 s.
    fn at_once(count: u32) {
        let sleepers = thread("sleeper", [sleep(100), work(1)]).times(count);
        let report = run(&equal::machine(64), &of([sleepers]));
        assert_eq!(report.tasks.iter().filter(|task| task.work_s > 0.0).count(), count as usize);
        let ms = f64::from(count) / 64.0;
        within(report.time_s * 1e3, 100.0 + ms, 0.016 * ms);
    }

    #[test]
    fn fifty_thousand_threads_at_once() {
        at_once(50_000);
    }

    #[test]
    #[ignore = "takes seven seconds: `make soak`; a quarter of the threads is tried by the test above"]
    fn two_hundred_thousand_threads_at_once() {
        at_once(200_000);
    }
}
