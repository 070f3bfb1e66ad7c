// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies between cores and memory: a clock that follows the cores, and idle states of the package.

use tandem_simulator::simulation::simulate;

use super::support::audit::Audit;
use super::support::machine::{Cluster, Idle, Package, Spec};
use super::support::workload::{TaskExt, of, sleep, thread, work};
use super::support::{governed, run, run_with, same, task};

const CLOCK: &str = "uncore_clock = { min_mhz = 1000, max_mhz = 2000, min_mv = 500, max_mv = 1000 }\n";

#[test]
fn the_uncore_follows_the_clock_of_the_cores() {
    let package = Package { uncore_watts: 18.0, uncore_idle_watts: 2.0, more: CLOCK.to_owned(), ..Package::default() };
    let machine = Spec { packages: vec![package], ..Spec::cores(2) }.build();
    let workload = of([thread("a", [work(1000), sleep(1000)])]);
    let uncore = |governor| run_with(&machine, &workload, &governed(governor)).energy_j.uncore;
    // 1 s at 2 GHz: all of 18 W. 2 s at 1 GHz: 2 W + 16 W · 0.5 · 0.5² = 4 W. Then 1 s idle, 2 W.
    same(uncore("performance"), 18.0 + 2.0);
    same(uncore("powersave"), 8.0 + 2.0);
}

#[test]
fn the_fastest_core_that_runs_sets_the_uncores_clock() {
    let package = Package { uncore_watts: 18.0, uncore_idle_watts: 2.0, more: CLOCK.to_owned(), ..Package::default() };
    let slow = Cluster { opps: vec![super::support::machine::opp(1000, 5.0)], ..Cluster::default() };
    let machine = Spec { packages: vec![package], ..Spec::clusters([Cluster::default(), slow]) }.build();
    // For 1 s both run, then the slow one has 1 s of its own: half of its work is left.
    let workload = of([thread("fast", [work(1000)]).on(&[0]), thread("slow", [work(1000)]).on(&[1])]);
    let report = run(&machine, &workload);
    same(report.time_s, 2.0);
    same(report.energy_j.uncore, 18.0 + 4.0);
}

fn deep() -> Cluster {
    let state = |residency_us, watts| Idle {
        cluster_scope: false,
        entry_us: 0,
        exit_us: 0,
        residency_us,
        watts,
        cluster_watts: 0.0,
    };
    Cluster { idle: vec![state(0, 1.0), state(1000, 0.0)], ..Cluster::default() }
}

#[test]
fn a_package_sleeps_when_all_its_cores_idle_deeply_enough() {
    let more = "idle_states = [{ name = \"PC6\", core_state = \"S1\", entry_us = 2000, exit_us = 500, watts = 1 }]\n";
    let package = Package { uncore_watts: 20.0, uncore_idle_watts: 5.0, more: more.to_owned(), ..Package::default() };
    let machine = Spec { packages: vec![package.clone()], ..Spec::clusters([deep(), deep()]) }.build();
    let workload = of([thread("a", [work(100), sleep(100), work(100)])]);
    let mut audit = Audit::new(&machine, &workload);
    let report = simulate(&machine, &workload, &governed("performance"), &mut audit).unwrap();
    audit.check(&report);
    // The first thread begins as the machine would sleep. The second wakeup waits for 0.5 ms.
    same(report.time_s, 0.1 + 0.1 + 0.0005 + 0.1);
    assert_eq!(task(&report, "a").timing.wakeup_latency_ns.map(|latency| latency.max), Some(500_000));
    // 200 ms awake at 20 W, 2 ms of entry at 5 W, 98 ms asleep and 0.5 ms waking at 1 W.
    same(report.energy_j.uncore, 0.2 * 20.0 + 0.002 * 5.0 + 0.0985);

    // A core that may not idle deeply keeps the package awake: 5 W.
    let mut shallow = governed("performance");
    shallow.kernel.set("cpuidle", "false").unwrap();
    let report = run_with(&machine, &workload, &shallow);
    same(report.energy_j.uncore, 0.2 * 20.0 + 0.1 * 5.0);
}
