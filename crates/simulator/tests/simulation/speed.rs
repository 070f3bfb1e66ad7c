// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long work takes: clocks, kinds of core, memory, sharing. Work is given as time on the fastest CPU, alone.

use tandem_simulator::metrics::Report;
use tandem_simulator::units::MSEC;
use tandem_simulator::workload::{Behaviour, BehaviourId, Op, Span, TaskSpec, Workload};

use super::support::machine::{Cache, Cluster, Memory, Spec};
use super::support::workload::{TaskExt, WorkloadExt, of, repeat, runtime, thread, work};
use super::support::{governed, run, run_with, same, task};

/// A thread that waits for memory in this share of its time.
fn waiting_for_memory(memory_bound: f64) -> Behaviour {
    Behaviour { memory_bound, ..Behaviour::default() }
}

/// Seconds for 100 ms of work, at 2 GHz and at 1 GHz.
fn at_both_clocks(memory_bound: f64) -> (f64, f64) {
    let machine = Spec::cores(1).build();
    let workload = of([thread("a", [work(100)])]).behaving(waiting_for_memory(memory_bound));
    let time = |governor| run_with(&machine, &workload, &governed(governor)).time_s;
    (time("performance"), time("powersave"))
}

#[test]
fn half_the_clock_takes_twice_as_long() {
    assert_eq!(at_both_clocks(0.0), (0.1, 0.2));
}

#[test]
fn half_the_clock_takes_just_as_long_where_all_time_waits_for_memory() {
    assert_eq!(at_both_clocks(1.0), (0.1, 0.1));
}

#[test]
fn half_memory_and_half_compute_take_one_and_a_half_at_half_the_clock() {
    assert_eq!(at_both_clocks(0.5), (0.1, 0.15));
}

#[test]
fn runtime_is_time_on_a_cpu_however_slow() {
    let workload = of([thread("a", [runtime(100)])]);
    assert_eq!(run_with(&Spec::cores(1).build(), &workload, &governed("powersave")).time_s, 0.1);
}

#[test]
fn a_core_with_half_the_ipc_takes_twice_as_long() {
    let slow = Cluster { ipc: 0.5, ..Cluster::default() };
    let machine = Spec::clusters([Cluster::default(), slow]).build();
    assert_eq!(run(&machine, &of([thread("a", [work(100)]).on(&[0])])).time_s, 0.1);
    assert_eq!(run(&machine, &of([thread("a", [work(100)]).on(&[1])])).time_s, 0.2);
}

#[test]
fn memory_speed_concerns_the_memory_part_alone() {
    let in_order = Cluster { memory_speed: 0.5, ..Cluster::default() };
    let machine = Spec::clusters([Cluster::default(), in_order]).build();
    let workload = of([thread("a", [work(100)]).on(&[1])]);
    assert_eq!(run(&machine, &workload).time_s, 0.1);
    assert_eq!(run(&machine, &workload.clone().behaving(waiting_for_memory(1.0))).time_s, 0.2);
    assert_eq!(run(&machine, &workload.behaving(waiting_for_memory(0.5))).time_s, 0.15);
}

#[test]
fn two_tasks_on_one_cpu_take_twice_as_long() {
    let report = run(&Spec::cores(1).build(), &of([thread("a", [work(100)]), thread("b", [work(100)])]));
    same(report.time_s, 0.2);
    same(task(&report, "a").cpu_time_s, 0.1);
    // The thread that ends last waited for all of the other's 100 ms.
    same(task(&report, "a").wait_time_s.max(task(&report, "b").wait_time_s), 0.1);
}

#[test]
fn two_tasks_on_two_cpus_do_not_disturb_each_other() {
    let report = run(&Spec::cores(2).build(), &of([thread("a", [work(100)]), thread("b", [work(100)])]));
    assert_eq!(report.time_s, 0.1);
    assert_eq!((task(&report, "a").wait_time_s, task(&report, "b").wait_time_s), (0.0, 0.0));
}

/// A stream of `gb_per_s` GB/s that only moves data.
fn stream(gb_per_s: f64) -> Behaviour {
    Behaviour { memory_bound: 1.0, bytes_per_work: gb_per_s, ..Behaviour::default() }
}

#[test]
fn two_streams_on_a_bus_for_one_take_twice_as_long() {
    let machine = Spec::cores(2).build();
    let workload = of([thread("a", [work(100)]).times(2)]).behaving(stream(10.0));
    same(run(&machine, &workload).time_s, 0.2);
    // With half the traffic each, the bus carries both.
    same(run(&machine, &workload.behaving(stream(5.0))).time_s, 0.1);
}

#[test]
fn streams_behind_their_own_buses_share_the_one_behind_both() {
    // Each chip's bus carries 10 GB/s, the memory controller behind them 10 GB/s as well.
    let bus = Memory { parent: Some(0), ..Memory::default() };
    let clusters = [Cluster { memory: 1, ..Cluster::default() }, Cluster { memory: 2, ..Cluster::default() }];
    let machine = Spec { memories: vec![Memory::default(), bus.clone(), bus], ..Spec::clusters(clusters) };
    let workload = of([thread("a", [work(100)]).times(2)]).behaving(stream(10.0));
    same(run(&machine.build(), &workload).time_s, 0.2);
    let wide = Memory { gb_per_s: 20.0, ..Memory::default() };
    let wide = Spec { memories: vec![wide, machine.memories[1].clone(), machine.memories[2].clone()], ..machine };
    same(run(&wide.build(), &workload).time_s, 0.1);
}

#[test]
fn below_saturation_the_slowdown_follows_the_formula() {
    // A thread that runs alone uses half of the bus and meets 1 + 1·0.5² = 1.25. Two threads settle where λ = (1 +
    // 1·U²) / 1.25 and U = 1 / λ: U = 0.77838, and 1.60588 / 1.25 = 1.28471 = 1 / U. The bus is not full, and both are
    // slower than alone.
    let memory = Memory { contention: 1.0, ..Memory::default() };
    let machine = Spec { memories: vec![memory], ..Spec::cores(2) }.build();
    let two = of([thread("a", [work(100)]).times(2)]).behaving(stream(5.0));
    super::support::about(run(&machine, &two).time_s, 0.128_471, 1e-4);
}

#[test]
fn a_thread_alone_is_not_slowed_by_its_own_traffic() {
    let memory = Memory { contention: 1.0, ..Memory::default() };
    let machine = Spec { memories: vec![memory], ..Spec::cores(2) }.build();
    for gb_per_s in [2.0, 10.0] {
        let report = run(&machine, &of([thread("a", [work(100)])]).behaving(stream(gb_per_s)));
        assert_eq!(report.time_s, 0.1);
    }
}

#[test]
fn a_busy_sibling_leaves_three_fifths_of_the_speed() {
    let machine = Spec::clusters([Cluster { smt: 2, smt_speed: 0.6, ..Cluster::default() }]).build();
    assert_eq!(run(&machine, &of([thread("a", [work(60)])])).time_s, 0.06);
    same(run(&machine, &of([thread("a", [work(60)]).times(2)])).time_s, 0.1);
    // 30 ms of work take each thread 50 ms; the other 30 of the longer thread go at full speed.
    same(run(&machine, &of([thread("a", [work(30)]), thread("b", [work(60)])])).time_s, 0.08);
}

/// A run on a core of two threads of tasks whose work behaves in two ways: it computes, or it waits for memory in this share of its
/// time.
fn on_shared_core<const N: usize>(tasks: [TaskSpec; N], memory_bound: f64) -> Report {
    let cluster = Cluster { smt: 2, smt_speed: 0.6, ..Cluster::default() };
    let behaviours = vec![Behaviour::default(), waiting_for_memory(memory_bound)];
    run(&Spec::clusters([cluster]).build(), &Workload { behaviours, ..of(tasks) })
}

/// Work of so many milliseconds that behaves in the second way.
fn memory_work(of: u64) -> Op {
    Op::Run { work: Span::fixed(of * MSEC), behaviour: BehaviourId(1) }
}

#[test]
fn a_sibling_that_only_waits_for_memory_takes_nothing() {
    let report = on_shared_core([thread("a", [work(60)]), thread("b", [memory_work(60)])], 1.0);
    same(report.time_s, 0.06);
}

#[test]
fn siblings_slow_each_other_by_what_they_compute() {
    // Alone each computes for half of its time. Beside each other computing takes s = 1 + 2/3 · P times as long, where the other does
    // so for P = s / (s + 1) of its time: s² - 2/3 s - 1 = 0, s = 1.38743.
    let report = on_shared_core([thread("a", [memory_work(100)]).times(2)], 0.5);
    assert!((report.time_s - 0.1 * (1.387_426 + 1.0) / 2.0).abs() < 1e-5, "{}", report.time_s);
    // Beside one that always computes it does so 5/3 times as long, for 0.8333 / 1.3333 of its time. So the other takes
    // 1 + 2/3 · 0.625 times as long.
    let report = on_shared_core([thread("a", [memory_work(100)]), thread("b", [work(50)])], 0.5);
    same(task(&report, "b").cpu_time_s, 0.05 * (1.0 + 2.0 / 3.0 * 0.625));
}

#[test]
fn a_sibling_that_goes_over_to_waiting_lets_the_other_go_faster() {
    // 18 ms of work each at three fifths take 30 ms. Then one waits, and the other does its last 12 ms as if alone.
    let report = on_shared_core([thread("a", [work(30)]), thread("b", [work(18), memory_work(100)])], 1.0);
    same(task(&report, "a").cpu_time_s, 0.042);
}

#[test]
fn the_clock_is_halved_by_skipping_every_second_cycle() {
    let machine = Spec::clusters([Cluster { duty_cycle: vec![0.25], ..Cluster::default() }]).build();
    let workload = of([thread("a", [work(100)])]);
    assert_eq!(run_with(&machine, &workload, &governed("userspace=500MHz")).time_s, 0.4);
}

#[test]
fn boost_ends_when_a_second_core_wakes() {
    let machine = Spec::clusters([Cluster { cores: 2, boost: vec![(1, 2000), (2, 1000)], ..Cluster::default() }]);
    let machine = machine.build();
    assert_eq!(run(&machine, &of([thread("a", [work(100)])])).time_s, 0.1);
    same(run(&machine, &of([thread("a", [work(100)]).times(2)])).time_s, 0.2);
    // 50 ms of work take each thread 100 ms at 1 GHz; the other 50 of the longer thread go at 2 GHz.
    same(run(&machine, &of([thread("a", [work(50)]), thread("b", [work(100)])])).time_s, 0.15);
}

#[test]
fn boost_of_a_package_counts_the_cores_of_all_its_clusters() {
    let mut machine = Spec::clusters([Cluster::default(), Cluster::default()]);
    machine.packages[0].boost = vec![(1, 2000), (2, 1000)];
    let machine = machine.build();
    assert_eq!(run(&machine, &of([thread("a", [work(100)])])).time_s, 0.1);
    same(run(&machine, &of([thread("a", [work(100)]).times(2)])).time_s, 0.2);
}

#[test]
fn a_footprint_twice_the_cache_misses_half_the_time() {
    // All time waits for memory; a hit costs a fifth of a miss. The reference CPU's own cache holds half of the
    // footprint, and work is given against that, so a thread that runs alone takes as long as its work says.
    let cache = Some(Cache { kib: 1024, per: "cluster".into(), hit_cost: 0.2, link: None });
    let machine = Spec::clusters([Cluster { cores: 2, cache, ..Cluster::default() }]).build();
    let behaviour = Behaviour { memory_bound: 1.0, footprint: 2048 * 1024, ..Behaviour::default() };
    let alone = of([thread("a", [work(100)])]).behaving(behaviour.clone());
    same(run(&machine, &alone).time_s, 0.1);
    // Two threads get a quarter each: three quarters miss where half did, 0.75 + 0.25 · 0.2 where it was 0.5 + 0.5 ·
    // 0.2.
    let both = of([thread("a", [work(100)]).times(2)]).behaving(behaviour);
    same(run(&machine, &both).time_s, 0.1 * 0.8 / 0.6);
}

#[test]
fn bytes_are_moved_at_a_threads_bandwidth() {
    let workload = of([thread("a", [Op::Memory { bytes: 1_000_000_000, buffer: 0 }])]);
    assert_eq!(run(&Spec::cores(1).build(), &workload).time_s, 0.1);
}

#[test]
fn loops_repeat_their_body() {
    let report = run(&Spec::cores(1).build(), &of([thread("a", repeat(7, [work(3)]))]));
    assert_eq!((report.time_s, report.apps[0].work_s), (0.021, 0.021));
}
