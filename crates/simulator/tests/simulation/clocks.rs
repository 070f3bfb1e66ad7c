// SPDX-License-Identifier: MIT OR Apache-2.0
//! Governors: which clock a CPU has for how long.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;

use super::support::machine::{Cluster, Spec};
use super::support::workload::{TaskExt, of, repeat, sleep, thread, timer, work};
use super::support::{governed, run_with, same};

/// 100 ms of work on one CPU of 1 or 2 GHz.
fn hog(governor: &str, machine: &Spec) -> Report {
    run_with(&machine.build(), &of([thread("a", [work(100)])]), &governed(governor))
}

fn seconds_at(report: &Report, mhz: u32) -> f64 {
    report.cpus[0].freq_residency.get(&(mhz * 1000)).copied().unwrap_or(0.0)
}

#[test]
fn performance_has_the_highest_clock_and_powersave_the_lowest() {
    let fast = hog("performance", &Spec::cores(1));
    assert_eq!((fast.time_s, seconds_at(&fast, 2000)), (0.1, 0.1));
    let slow = hog("powersave", &Spec::cores(1));
    assert_eq!((slow.time_s, seconds_at(&slow, 1000)), (0.2, 0.2));
}

#[test]
fn userspace_has_the_clock_that_was_asked_for() {
    let report = hog("userspace=1000MHz", &Spec::cores(1));
    assert_eq!((report.time_s, seconds_at(&report, 1000)), (0.2, 0.2));
    let report = hog("userspace=2000MHz", &Spec::cores(1));
    assert_eq!((report.time_s, seconds_at(&report, 2000)), (0.1, 0.1));
}

#[test]
fn a_clock_out_of_range_is_the_nearest_one_and_that_is_said() {
    // 1400 without a unit is in kHz, as in sysfs.
    let report = hog("userspace=1400", &Spec::cores(1));
    assert_eq!((report.time_s, seconds_at(&report, 1000)), (0.2, 0.2));
    assert_eq!(report.warnings, ["userspace: CPUs of 1000 to 2000 MHz run at 1000 MHz, not at 1.4 MHz"]);
    assert!(hog("userspace=1400MHz", &Spec::cores(1)).warnings.is_empty());
}

#[test]
fn a_clock_without_a_driver_stays_where_it_is_and_that_is_said() {
    let machine = Spec::clusters([Cluster { scalable: false, ..Cluster::default() }]);
    let report = hog("powersave", &machine);
    assert_eq!(report.time_s, 0.1);
    assert!(report.warnings[0].ends_with(": no CPU's clock can be changed, so powersave does nothing"));
    assert!(hog("schedutil", &machine).warnings.is_empty());
}

#[test]
fn governors_that_watch_the_load_end_at_the_highest_clock() {
    for governor in ["ondemand", "conservative", "schedutil"] {
        let workload = of([thread("a", [work(2000)])]);
        let report = run_with(&Spec::cores(1).build(), &workload, &governed(governor));
        assert!(seconds_at(&report, 2000) > 0.9 * report.time_s, "{governor}: {:?}", report.cpus[0].freq_residency);
    }
}

#[test]
fn governors_that_watch_the_load_save_where_there_is_little() {
    // 1 ms of work every 50 ms.
    for governor in ["ondemand", "conservative", "schedutil"] {
        let workload = of([thread("a", repeat(40, [work(1), sleep(49)]))]);
        let report = run_with(&Spec::cores(1).build(), &workload, &governed(governor));
        assert!(seconds_at(&report, 1000) > 0.8 * report.time_s, "{governor}: {:?}", report.cpus[0].freq_residency);
    }
}

#[test]
fn the_first_sample_comes_at_once() {
    // No load was seen before: the CPU has the lowest clock for a sampling period, in which half of the work is done.
    let machine = Spec::cores(1).build();
    let report = run_with(&machine, &of([thread("a", [work(100)])]), &governed("ondemand=20ms"));
    assert!((seconds_at(&report, 1000) - 0.02).abs() < 0.005, "{:?}", report.cpus[0].freq_residency);
    assert!((report.time_s - 0.11).abs() < 0.003, "{}", report.time_s);
}

#[test]
fn all_cpus_of_a_domain_have_the_clock_of_the_busiest() {
    let machine = Spec::clusters([Cluster { cores: 2, domain: "cluster", ..Cluster::default() }]).build();
    let workload = of([thread("a", [work(1000)]).on(&[0])]);
    let report = run_with(&machine, &workload, &governed("schedutil"));
    assert_eq!(report.cpus[0].freq_residency, report.cpus[1].freq_residency);
    assert!(seconds_at(&report, 2000) > 0.5 * report.time_s);
}

#[test]
fn a_transition_takes_its_latency() {
    // With little to do the clock is low. The long work that follows raises it 50 ms after the request. In these 50 ms
    // half the work is done, so that the other half is ready 25 ms later. The timer keeps the pace before that.
    let time = |transition_us| {
        let machine = Spec::clusters([Cluster { transition_us, ..Cluster::default() }]).build();
        let mut program = repeat(50, [work(1), timer(20)]);
        program.push(work(400));
        run_with(&machine, &of([thread("a", program)]), &governed("ondemand=100ms")).time_s
    };
    same(time(50_000) - time(0), 0.025);
}

/// The first P core of the hybrid, 800 to 5200 MHz, with 200 ms of work; seconds at each clock in MHz.
fn hybrid(governor: &str) -> Vec<(u32, f64)> {
    let machine = Machine::load("i9-12900k").unwrap();
    let report = run_with(&machine, &of([thread("a", [work(200)]).on(&[0])]), &governed(governor));
    report.cpus[0].freq_residency.iter().map(|(khz, seconds)| (khz / 1000, *seconds)).collect()
}

fn at(clocks: &[(u32, f64)], mhz: u32) -> f64 {
    clocks.iter().find(|(clock, _)| *clock == mhz).map_or(0.0, |(_, seconds)| *seconds)
}

/// Firmware looks once in a millisecond: from the second look on a thread that does not sleep has its clock. Under EPP 255 that is
/// 160 / 255 · 5200 = 3263 MHz, the closest 3200; 200 ms of work then take 325.
#[test]
fn a_driver_in_active_mode_follows_the_load_within_milliseconds() {
    let clocks = hybrid("powersave");
    let elsewhere: f64 = clocks.iter().filter(|(mhz, _)| *mhz != 5200).map(|(_, seconds)| seconds).sum();
    assert!(elsewhere < 0.003 && at(&clocks, 5200) > 0.19, "{clocks:?}");
    let saving = hybrid("intel_pstate=epp=power");
    assert!((at(&saving, 3200) - 0.325).abs() < 0.006, "{saving:?}");
    let lowest = hybrid("passive:powersave");
    assert!((at(&lowest, 800) - 1.3).abs() < 0.01, "200 ms at 5200 MHz are 1.3 s at 800: {lowest:?}");
}

#[test]
fn a_report_names_the_governor_that_ran() {
    let machine = Machine::load("i9-12900k").unwrap();
    let workload = of([thread("a", [work(1)])]);
    let governor = |written| run_with(&machine, &workload, &governed(written)).governor;
    assert_eq!(governor("default"), "intel_pstate=powersave,epp=balance_performance");
    assert_eq!(governor("performance"), "intel_pstate=performance");
    assert_eq!(run_with(&Spec::cores(1).build(), &workload, &governed("default")).governor, "schedutil");
}
