// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on power and temperature: averages that a reader can work out, and the clocks that are left.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::workload::Workload;

use super::support::machine::{Package, Spec};
use super::support::workload::{TaskExt, of, thread, work};
use super::support::{about, governed, run_with};

const POWER: &str = "power_limit = { long_watts = 30, long_tau_s = 1, short_watts = 40 }\n";
const SHORT: &str = "power_limit = { long_watts = 20, long_tau_s = 5, short_watts = 25 }\n";
/// 2 K/W · 0.5 J/K = 1 s; (80 − 20) / 2 = 30 W.
const HEAT: &str =
    "thermal = { kelvin_per_watt = 2, joules_per_kelvin = 0.5, ambient_celsius = 20, limit_celsius = 80 }\n";

/// Four cores of 5 W at 1 GHz and 10 W at 2 GHz, 1 W idle: 40 W, all of them busy.
fn machine(more: &str) -> Machine {
    let package = Package { more: more.to_owned(), ..Package::default() };
    Spec { packages: vec![package], ..Spec::cores(4) }.build()
}

/// `count` busy cores.
fn busy(count: u32) -> Workload {
    let threads = (0..count).map(|cpu| thread(&format!("t{cpu}"), [work(100_000)]).on(&[cpu]));
    Workload { tasks: threads.collect(), ..of([]) }
}

/// The first 10 s of `count` busy cores.
fn ten_seconds(machine: &Machine, count: u32, hot: bool) -> Report {
    let mut options = governed("performance");
    options.time_limit = Some(10_000_000_000);
    options.kernel.hot_start = hot;
    run_with(machine, &busy(count), &options)
}

#[test]
fn a_hot_package_draws_what_its_limit_says() {
    for more in [POWER, HEAT] {
        let report = ten_seconds(&machine(more), 4, true);
        about(report.power_w, 30.0, 0.01);
        let limits = &report.limits[0];
        // 30 W are as much of 20 W as of 40 W: half of the time at each clock.
        about(limits.limited_s, 5.0, 0.01);
        for (most, limit) in [(limits.average_watts_max, 30.0), (limits.celsius_max, 80.0)] {
            if let Some(most) = most {
                about(most, limit, 0.01);
            }
        }
    }
}

#[test]
fn a_cold_package_may_draw_more_until_its_average_is_there() {
    // 40 W · (1 − e^−t) is 30 W after ln 4 = 1.386 s; from then on 30 W: 55.45 + 258.41 J. Half of
    // that time is held down to 20 W.
    for more in [POWER, HEAT] {
        let report = ten_seconds(&machine(more), 4, false);
        about(report.energy_j.total, 313.86, 0.005);
        about(report.limits[0].limited_s, 8.614 / 2.0, 0.01);
    }
}

#[test]
fn the_short_limit_holds_until_the_long_one_does() {
    let report = ten_seconds(&machine(SHORT), 4, false);
    // 25 W · (1 − e^(−t/5)) is 20 W after 5 · ln 5 = 8.047 s; from then on 20 W: 201.2 + 39.1 J.
    // The short average moves by up to (40 − 20) · (1 − e^−0.1) = 1.9 W in a period, and stays below 25 W by up to that.
    let least = 8.047 * (25.0 - 1.9) + 1.953 * 20.0;
    assert!((least..240.3).contains(&report.energy_j.total), "{}", report.energy_j.total);
}

#[test]
fn idle_cores_give_their_power_to_others() {
    // Two busy cores and two idle ones: 22 W at the highest clock, which no limit minds.
    let two = ten_seconds(&machine(POWER), 2, true);
    about(two.power_w, 22.0, 1e-3);
    assert_eq!(two.limits[0].limited_s, 0.0);
    let four = ten_seconds(&machine(POWER), 4, true);
    assert!(two.apps[0].performance / 2.0 > 1.2 * four.apps[0].performance / 4.0, "each goes faster");
}

#[test]
fn the_tighter_of_two_limits_holds() {
    let hotter = HEAT.replace("limit_celsius = 80", "limit_celsius = 70");
    let report = ten_seconds(&machine(&format!("{POWER}{hotter}")), 4, true);
    // (70 − 20) / 2 = 25 W.
    about(report.power_w, 25.0, 0.01);
    about(report.limits[0].celsius_max.unwrap(), 70.0, 0.005);
}

#[test]
fn a_boost_table_and_a_limit_hold_together() {
    let mut package = Package { more: POWER.to_owned(), ..Package::default() };
    package.boost = vec![(1, 2000), (4, 1000)];
    let machine = Spec { packages: vec![package], ..Spec::cores(4) }.build();
    let report = ten_seconds(&machine, 4, true);
    about(report.power_w, 20.0, 1e-3);
    assert_eq!(report.limits[0].limited_s, 0.0, "the boost table alone holds the clock");
}

/// Watts of all packages of a bundled machine, hot, over 10 s with as many busy threads as `threads` says.
fn sustained_watts(name: &str, threads: u32) -> f64 {
    let machine = Machine::load(name).unwrap();
    let tasks = (0..threads).map(|index| thread(&format!("t{index}"), [work(100_000)]));
    let mut options = governed("performance");
    options.time_limit = Some(10_000_000_000);
    options.kernel.hot_start = true;
    let report = run_with(&machine, &Workload { tasks: tasks.collect(), ..of([]) }, &options);
    (report.energy_j.cores + report.energy_j.uncore) / report.time_s
}

#[test]
fn bundled_machines_hold_their_limits() {
    about(sustained_watts("i9-12900k", 24), 241.0, 0.01);
    // (75 − 25) K / 11.1 K/W.
    about(sustained_watts("hikey960", 8), 4.505, 0.01);
    // (95 − 25) K / 15 K/W.
    about(sustained_watts("sdm845", 8), 4.667, 0.01);
    about(sustained_watts("ryzen-ai-9-hx-370", 24), 54.0, 0.01);
}

#[test]
fn a_machine_without_limits_reports_none() {
    assert!(ten_seconds(&machine(""), 4, true).limits.is_empty());
}
