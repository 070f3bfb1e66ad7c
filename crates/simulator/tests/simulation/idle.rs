// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waking a CPU takes the exit latency of its idle state, to the nanosecond.

use super::support::machine::{Cluster, Idle, Spec};
use super::support::workload::{TaskExt, of, sleep, thread, work};
use super::support::{run, same, task};

fn state(entry_us: u32, exit_us: u32, residency_us: u32) -> Idle {
    Idle { cluster_scope: false, entry_us, exit_us, residency_us, watts: 1.0, cluster_watts: 0.0 }
}

#[test]
fn every_wakeup_waits_for_the_exit_latency() {
    let machine = Spec::clusters([Cluster { idle: vec![state(0, 100, 100)], ..Cluster::default() }]).build();
    let report = run(&machine, &of([thread("a", [sleep(10), work(10)])]));
    // What begins at the instant at which the CPU would sleep finds it awake: 10 + 0.1 + 10 ms.
    same(report.time_s, 0.0201);
    assert_eq!(task(&report, "a").timing.wakeup_latency_ns.map(|latency| latency.max), Some(100_000));
}

#[test]
fn a_wakeup_during_entry_undoes_what_was_done_of_it() {
    // A sleep of 4 ms in a state that takes 10 ms to enter and 2 ms to leave: four tenths of the way out.
    let machine = Spec::clusters([Cluster { idle: vec![state(10_000, 2000, 12_000)], ..Cluster::default() }]).build();
    let report = run(&machine, &of([thread("a", [sleep(4), work(10)])]));
    assert_eq!(task(&report, "a").timing.wakeup_latency_ns.map(|latency| latency.max), Some(800_000));
    same(report.time_s, 0.004 + 0.0008 + 0.010);
}

#[test]
fn a_sibling_that_runs_keeps_no_cpu_from_its_own_idle_state() {
    let machine = Spec::clusters([Cluster { smt: 2, idle: vec![state(0, 100, 100)], ..Cluster::default() }]).build();
    let workload = of([thread("a", [work(50)]).on(&[0]), thread("b", [sleep(10), work(10)]).on(&[1])]);
    let report = run(&machine, &workload);
    assert_eq!(task(&report, "b").timing.wakeup_latency_ns.map(|latency| latency.max), Some(100_000));
    same(report.cpus[1].busy_s, 0.0102);
}
