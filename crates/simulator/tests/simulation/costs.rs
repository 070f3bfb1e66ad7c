// SPDX-License-Identifier: MIT OR Apache-2.0
//! Context switches, migrations and ticks cost exactly what the description says.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;
use tandem_simulator::units::SEC;
use tandem_simulator::workload::{Behaviour, Op, Workload};

use super::support::machine::{Cache, Cluster, Memory, Spec};
use super::support::workload::{TaskExt, WorkloadExt, of, sleep, thread, work};
use super::support::{about, governed, run_with, same, task};

/// Runs under the `performance` governor; paths of the kernel take no time.
fn run(machine: &Machine, workload: &Workload) -> Report {
    let mut options = governed("performance");
    options.kernel.path_costs = false;
    run_with(machine, workload, &options)
}

/// Two clusters of two cores with a cache each: CPUs 0 and 1, 2 and 3.
fn two_caches() -> Spec {
    let cache = Some(Cache { kib: 1024, per: "cluster".into(), hit_cost: 0.1, link: None });
    let cluster = Cluster { cores: 2, cache, ..Cluster::default() };
    Spec { context_switch_us: 10.0, migration_us: 100.0, ..Spec::clusters([cluster.clone(), cluster]) }
}

/// A thread that works on CPU 0, then on another.
fn mover(to: u32) -> Vec<Op> {
    vec![work(10), Op::SetAffinity(Some(vec![to])), work(10)]
}

#[test]
fn the_first_switch_costs_and_a_return_to_an_untouched_cpu_does_not() {
    let machine = Spec { context_switch_us: 10.0, ..Spec::cores(1) }.build();
    let report = run(&machine, &of([thread("a", [work(10), sleep(10), work(10)])]));
    same(report.time_s, 0.030_010);
}

#[test]
fn each_switch_between_two_threads_costs() {
    // `b` sleeps in between: a switch from a to b at 10 ms of b's time, and one from b to a at b's end.
    let machine = Spec { context_switch_us: 10.0, ..Spec::cores(1) }.build();
    let report = run(&machine, &of([thread("a", [work(10)]), thread("b", [work(10)])]));
    let switches = task(&report, "a").switches + task(&report, "b").switches;
    same(report.time_s, 0.020 + 10e-6 * switches as f64);
}

#[test]
fn a_migration_within_a_cache_costs_its_price_once() {
    let report = run(&two_caches().build(), &of([thread("a", mover(1)).on(&[0])]));
    // 10 µs on CPU 0; 10 + 100 µs on CPU 1.
    same(report.time_s, 0.020_120);
    assert_eq!(report.migrations, 1);
}

#[test]
fn a_migration_to_another_cache_costs_more() {
    let machine = Spec { migration_llc_us: 1000.0, ..two_caches() }.build();
    same(run(&machine, &of([thread("a", mover(1)).on(&[0])])).time_s, 0.020_120);
    same(run(&machine, &of([thread("a", mover(2)).on(&[0])])).time_s, 0.021_120);
}

#[test]
fn a_footprint_is_fetched_again_under_another_cache() {
    // 1,000,000 bytes at 10 GB/s take 100 µs.
    let machine = Spec { context_switch_us: 0.0, migration_us: 0.0, ..two_caches() }.build();
    let behaviour = Behaviour { footprint: 1_000_000, ..Behaviour::default() };
    let time = |to| run(&machine, &of([thread("a", mover(to)).on(&[0])]).behaving(behaviour.clone())).time_s;
    same(time(1), 0.020);
    same(time(2), 0.020_100);
}

#[test]
fn threads_that_fetch_for_longer_than_their_slice_get_their_work_done() {
    // Each switch brings back 10 MB in 10 ms, and slices end on ticks of 4 ms.
    let cache = Some(Cache { kib: 16_384, per: "cluster".into(), hit_cost: 0.1, link: None });
    let memory = Memory { thread_gb_per_s: 1.0, ..Memory::default() };
    let machine = Spec { memories: vec![memory], ..Spec::clusters([Cluster { cache, ..Cluster::default() }]) }.build();
    let behaviour = Behaviour { footprint: 10_000_000, ..Behaviour::default() };
    let workload = of([thread("a", [work(10)]).times(2)]).behaving(behaviour);
    let options = Options { time_limit: Some(SEC), ..governed("performance") };
    assert!(!run_with(&machine, &workload, &options).time_limited);
}

#[test]
fn ticks_take_their_share_of_a_busy_cpu() {
    // 250 ticks per second of 40 µs each: one hundredth of the time; the work takes 1 / 0.99.
    let machine = Spec { tick_us: 40.0, ..Spec::cores(1) }.build();
    about(run(&machine, &of([thread("a", [work(1000)])])).time_s, 1.0 / 0.99, 1e-4);
    // Threads that take turns lose the same share.
    about(run(&machine, &of([thread("a", [work(1000)]).times(2)])).time_s, 2.0 / 0.99, 1e-4);
}
