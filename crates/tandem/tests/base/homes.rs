// SPDX-License-Identifier: GPL-2.0-only
//! A CPU goes on with what ran there, however many wait in its cache's line.

use super::run::{for_ms, hog, longest_wakeup_us, periodic, run, threads, within};
use crate::equal;
use crate::long::combinations::support::workload::TaskExt;

/// Three threads for each of 32 CPUs, 64 of which wait at any time: each CPU has turns of its own three. The 64 that find no idle CPU as
/// they begin come to one from where they wait, and from then on nobody has to leave.
#[test]
fn threads_that_compute_stay_where_as_many_compute_on_each_cpu() {
    let report = run(&equal::machine(32), &for_ms(1000, [hog("hog").times(96)]));
    let threads = threads(&report, "hog");
    let migrations: u64 = threads.iter().map(|thread| thread.migrations).sum();
    assert!(migrations <= 64, "{migrations} migrations");
    for thread in threads {
        within(thread.cpu_time_s * 1e3, 1000.0 / 3.0, 12.0);
    }
}

/// Of two threads more than three for each CPU nobody has less than others for it.
#[test]
fn threads_that_do_not_divide_evenly_have_as_much_all_the_same() {
    let report = run(&equal::machine(16), &for_ms(2000, [hog("hog").times(50)]));
    for thread in threads(&report, "hog") {
        within(thread.cpu_time_s * 1e3, 16.0 * 2000.0 / 50.0, 40.0);
    }
}

/// What woke goes before what has used up its slice, and does not wait for a turn of its own CPU's threads.
#[test]
fn what_wakes_does_not_wait_for_those_that_compute() {
    let tasks = [hog("hog").times(24), periodic("short", 1, 40).times(8)];
    let report = run(&equal::machine(8), &for_ms(2000, tasks));
    let longest = longest_wakeup_us(&report, "short");
    assert!(longest < 8_000.0, "{longest} µs");
}
