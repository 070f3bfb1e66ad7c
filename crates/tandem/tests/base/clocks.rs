// SPDX-License-Identifier: GPL-2.0-only
//! With schedutil clocks follow utilisation: 500, 1000 and 2000 MHz.

use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;
use tandem_simulator::workload::TaskSpec;

use super::run::{for_ms, forever, hog, options, periodic, with, within};
use crate::equal;
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

/// A second on one CPU with schedutil.
fn second(task: TaskSpec) -> Report {
    let options = Options { governor: "schedutil".parse().unwrap(), ..options(with(&[])) };
    audited_run(&equal::machine(1), &for_ms(1000, [task]), &options)
}

/// Milliseconds at a clock.
fn at(report: &Report, mhz: u32) -> f64 {
    1e3 * report.cpus[0].freq_residency.get(&(mhz * 1000)).copied().unwrap_or(0.0)
}

#[test]
fn a_thread_that_computes_soon_has_the_highest_clock() {
    let highest = at(&second(hog("hog")), 2000);
    assert!(highest > 950.0, "{highest} ms");
}

/// 5 ms of work in 50: a tenth of the highest clock, for which the lowest is enough.
#[test]
fn a_thread_that_computes_a_tenth_of_the_time_has_a_low_clock() {
    let report = second(periodic("light", 5, 50));
    assert!(at(&report, 2000) < 200.0, "{} ms at 2 GHz", at(&report, 2000));
    assert!(at(&report, 500) > 600.0, "{} ms at 500 MHz", at(&report, 500));
}

/// 6 ms of work and 1 of sleep, again and again: as long as the kernel gives a new thread half of a CPU, schedutil has the highest clock for it.
/// By its CPU's own work alone, of which there was none before, the first sleep would let the clock go for 4 ms.
#[test]
fn a_new_thread_keeps_its_clock_over_short_sleeps() {
    let below = 1000.0 - at(&second(thread("new", forever([work(6), sleep(1)]))), 2000);
    assert!(below < 1.0, "{below} ms");
}

/// After its end the clock goes down when something little comes.
#[test]
fn the_clock_goes_down_when_the_work_is_over() {
    let (short, light) = (thread("short", [work(300)]), periodic("light", 1, 20).after(400));
    let options = Options { governor: "schedutil".parse().unwrap(), ..options(with(&[])) };
    let report = audited_run(&equal::machine(1), &for_ms(1400, [short, light]), &options);
    let highest = at(&report, 2000);
    assert!((250.0..650.0).contains(&highest), "{highest} ms");
}

/// With a fixed governor nothing is asked for.
#[test]
fn other_governors_are_left_alone() {
    let options = Options { governor: "powersave".parse().unwrap(), ..options(with(&[])) };
    let report = audited_run(&equal::machine(1), &for_ms(200, [hog("hog")]), &options);
    within(at(&report, 500), 200.0, 0.001);
}
