// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joules that can be added up in the head: watts times seconds, part by part.

use tandem_simulator::simulation::simulate;
use tandem_simulator::workload::{Behaviour, Op};

use super::support::audit::Audit;
use super::support::machine::{Cluster, Idle, Memory, Package, Spec, opp};
use super::support::workload::{TaskExt, WorkloadExt, of, sleep, thread, work};
use super::support::{governed, run, run_with, same};

#[test]
fn ten_seconds_at_100_watts_are_1000_joules() {
    let machine = Spec::clusters([Cluster { opps: vec![opp(1000, 100.0)], ..Cluster::default() }]).build();
    let report = run(&machine, &of([thread("a", [work(10_000)])]));
    assert_eq!((report.time_s, report.energy_j.total, report.power_w), (10.0, 1000.0, 100.0));
    assert_eq!((report.edp_js, report.ed2p_js2), (Some(10_000.0), Some(100_000.0)));
}

#[test]
fn an_idle_machine_draws_idle_power() {
    // Four cores of 1 W, and 2 W of uncore, for 3 s.
    let package = Package { uncore_watts: 20.0, uncore_idle_watts: 2.0, ..Package::default() };
    let machine = Spec { packages: vec![package], ..Spec::cores(4) }.build();
    let report = run(&machine, &of([thread("a", [sleep(3000)])]));
    same(report.energy_j.cores, 12.0);
    same(report.energy_j.uncore, 6.0);
    same(report.energy_j.total, 18.0);
}

#[test]
fn the_uncore_is_awake_while_any_core_is() {
    let package = Package { uncore_watts: 20.0, uncore_idle_watts: 2.0, ..Package::default() };
    let machine = Spec { packages: vec![package], ..Spec::cores(2) }.build();
    let report = run(&machine, &of([thread("a", [work(1000), sleep(1000)])]));
    same(report.energy_j.uncore, 22.0);
    // First second: busy 10 W and idle 1 W. Second second: twice 1 W.
    same(report.energy_j.cores, 11.0 + 2.0);
}

#[test]
fn energy_is_told_apart_by_what_it_was_drawn_for() {
    // Two cores of 10 W, a tenth of it leakage, and 1 W idle; 2 W that they share; 20 W of uncore, 2 W idle. One of them computes
    // for the first of two seconds.
    let package = Package { uncore_watts: 20.0, uncore_idle_watts: 2.0, ..Package::default() };
    let cluster = Cluster { cores: 2, opps: vec![opp(1000, 10.0)], static_watts: 2.0, ..Cluster::default() };
    let machine = Spec { packages: vec![package], ..Spec::clusters([cluster]) }.build();
    let report = run(&machine, &of([thread("a", [work(1000), sleep(1000)])]));
    let (cluster, package) = (&report.drawn.clusters[0], &report.drawn.packages[0]);
    same(cluster.switching_j, 9.0);
    same(cluster.leakage_j, 1.0);
    same(cluster.idle_j, 1.0 + 2.0);
    same(cluster.static_j, 4.0);
    same(cluster.asleep_j, 0.0);
    assert_eq!((package.awake_j, package.idle_j, package.asleep_j), (20.0, 2.0, 0.0));
}

#[test]
fn an_observer_is_told_of_the_uncore_where_a_core_idles_at_the_power_that_it_computes_at() {
    let package = Package { uncore_watts: 20.0, uncore_idle_watts: 2.0, ..Package::default() };
    let mut restless = Cluster { opps: vec![opp(1000, 10.0)], ..Cluster::default() };
    restless.idle[0].watts = 10.0;
    let machine = Spec { packages: vec![package], ..Spec::clusters([restless]) }.build();
    let workload = of([thread("a", [sleep(1000), work(1000), sleep(1000)])]);
    let mut audit = Audit::new(&machine, &workload);
    let report = simulate(&machine, &workload, &governed("performance"), &mut audit).unwrap();
    same(report.energy_j.uncore, 2.0 + 20.0 + 2.0);
    audit.check(&report);
}

#[test]
fn half_the_clock_takes_twice_as_long_and_here_as_much_energy() {
    // 10 W for 1 s, or 5 W for 2 s.
    let machine = Spec::cores(1).build();
    let energy = |governor| run_with(&machine, &of([thread("a", [work(1000)])]), &governed(governor)).energy_j.total;
    same(energy("performance"), 10.0);
    same(energy("powersave"), 10.0);
}

#[test]
fn a_duty_cycle_halves_switching_but_not_leakage() {
    // At 2 GHz 9 W switch and 1 W leaks. With every second cycle skipped, 4.5 W + 1 W for twice the time.
    let machine =
        Spec::clusters([Cluster { opps: vec![opp(2000, 10.0)], duty_cycle: vec![0.5], ..Cluster::default() }]).build();
    let report = run_with(&machine, &of([thread("a", [work(1000)])]), &governed("powersave"));
    same(report.time_s, 2.0);
    same(report.energy_j.total, 11.0);
}

#[test]
fn activity_scales_switching_alone() {
    let behaviour = Behaviour { activity: 0.5, ..Behaviour::default() };
    let report = run(&Spec::cores(1).build(), &of([thread("a", [work(1000)])]).behaving(behaviour));
    same(report.energy_j.total, 4.5 + 1.0);
}

#[test]
fn a_core_that_waits_for_memory_switches_less() {
    let behaviour = |memory_bound| Behaviour { memory_bound, ..Behaviour::default() };
    let energy = |memory_bound| {
        run(&Spec::cores(1).build(), &of([thread("a", [work(1000)])]).behaving(behaviour(memory_bound))).energy_j.total
    };
    // A stalled core switches half of 9 W; one that is stalled half of the time, three quarters.
    same(energy(1.0), 4.5 + 1.0);
    same(energy(0.5), 6.75 + 1.0);
}

#[test]
fn bytes_cost_dram_energy() {
    // 1 s at 10 GB/s and 1 nJ per byte: 10 J; 3 W static.
    let memory = Memory { static_watts: 3.0, ..Memory::default() };
    let machine = Spec { memories: vec![memory], ..Spec::cores(1) }.build();
    let behaviour = Behaviour { memory_bound: 1.0, bytes_per_work: 10.0, ..Behaviour::default() };
    let report = run(&machine, &of([thread("a", [work(1000)])]).behaving(behaviour));
    same(report.energy_j.memory, 10.0 + 3.0);
    let report = run(&machine, &of([thread("a", [Op::Memory { bytes: 10_000_000_000, buffer: 0 }])]));
    same(report.energy_j.memory, 10.0 + 3.0);
}

#[test]
fn the_supply_takes_its_share_of_what_the_wall_gives() {
    // 10 W core + 6 W platform = 16 W behind a supply of 80 %: 20 W at the wall, 4 W lost.
    let machine = Spec { platform_watts: 6.0, supply_efficiency: 0.8, ..Spec::cores(1) }.build();
    let energy = run(&machine, &of([thread("a", [work(1000)])])).energy_j;
    same(energy.platform, 6.0);
    same(energy.supply, 4.0);
    same(energy.total, 20.0);
}

#[test]
fn a_cluster_sleeps_only_when_all_its_cores_do() {
    let core = Idle { cluster_scope: false, entry_us: 0, exit_us: 0, residency_us: 0, watts: 1.0, cluster_watts: 0.0 };
    let cluster = Idle { cluster_scope: true, residency_us: 1, watts: 0.0, cluster_watts: 0.5, ..core };
    let machine =
        Spec::clusters([Cluster { cores: 2, idle: vec![core, cluster], static_watts: 4.0, ..Cluster::default() }]);
    let report = run(&machine.build(), &of([thread("a", [work(1000), sleep(1000)])]));
    // 1 s: 10 W + 4 W static while the other core sleeps to no effect; 1 s: 0.5 W for everything.
    same(report.energy_j.cores, 14.0 + 0.5);
}

#[test]
fn two_busy_siblings_switch_more_than_one() {
    let machine = Spec::clusters([Cluster { smt: 2, smt_activity: 1.2, ..Cluster::default() }]).build();
    let report = run(&machine, &of([thread("a", [work(1000)]).times(2)]));
    same(report.energy_j.total, 9.0 * 1.2 + 1.0);
    same(report.cpus[0].energy_j, report.cpus[1].energy_j);
}

#[test]
fn a_cluster_whose_voltage_follows_pays_for_its_leader() {
    // While the leader is awake the follower has 1.25 V instead of 1 V: 9 W · 1.5625 + 1 W · 1.25.
    let follower = Cluster { follows: Some((1, vec![(1000, 1000), (2000, 1250)])), ..Cluster::default() };
    let machine = Spec::clusters([follower, Cluster::default()]).build();
    let alone = run(&machine, &of([thread("a", [work(1000)]).on(&[0])]));
    same(alone.cpus[0].energy_j, 10.0);
    let both = run(&machine, &of([thread("a", [work(1000)]).on(&[0]), thread("b", [work(1000)]).on(&[1])]));
    same(both.cpus[0].energy_j, 9.0 * 1.5625 + 1.25);
    same(both.cpus[1].energy_j, 10.0);
}

#[test]
fn a_deeper_idle_state_draws_less() {
    let state = |residency_us, watts| Idle {
        cluster_scope: false,
        entry_us: 0,
        exit_us: 0,
        residency_us,
        watts,
        cluster_watts: 0.0,
    };
    let machine = Spec::clusters([Cluster { idle: vec![state(0, 1.0), state(1000, 0.25)], ..Cluster::default() }]);
    let report = run(&machine.build(), &of([thread("a", [sleep(4000)])]));
    // 4 s at 0.25 W, and what 1 ms at 0.75 W less would have saved for the way in and out.
    same(report.energy_j.total, 1.0 + 0.00075);
    same(report.cpus[0].idle_residency["S1"], 4.0);
}

#[test]
fn leaving_the_first_idle_state_costs_its_own_power() {
    // Twice 1 s asleep at 1 W. There is nothing shallower to compare the state with, so going in and out costs nothing more.
    let state = Idle {
        cluster_scope: false,
        entry_us: 10_000,
        exit_us: 0,
        residency_us: 10_000,
        watts: 1.0,
        cluster_watts: 0.0,
    };
    let machine = Spec::clusters([Cluster { idle: vec![state], ..Cluster::default() }]).build();
    let report = run(&machine, &of([thread("a", [work(1000), sleep(1000), work(1000), sleep(1000), work(1000)])]));
    same(report.time_s, 5.0);
    same(report.energy_j.total, 3.0 * 10.0 + 2.0 * 1.0);
}

#[test]
fn a_waking_core_draws_what_the_first_state_does_until_its_first_instruction() {
    // 1 s asleep, 10 ms to wake: 1 W until then instead of 10 W.
    let state =
        Idle { cluster_scope: false, entry_us: 0, exit_us: 10_000, residency_us: 0, watts: 1.0, cluster_watts: 0.0 };
    let machine = Spec::clusters([Cluster { idle: vec![state], ..Cluster::default() }]).build();
    let report = run(&machine, &of([thread("a", [work(1000), sleep(1000), work(1000)])]));
    same(report.time_s, 3.01);
    same(report.energy_j.total, 2.0 * 10.0 + 1.01);
}
