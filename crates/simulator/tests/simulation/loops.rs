// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parallel loops on a fast CPU and one of half its speed, under each schedule.

use tandem_simulator::workload::{LoopSchedule, Workload};

use super::support::machine::{Cluster, Spec};
use super::support::workload::{TaskExt, WorkloadExt, of, parallel_for, repeat, thread};
use super::support::{run, same, task};

/// Seconds for 12 iterations of 10 ms on CPUs of speed 1 and 1/2, one thread each.
fn on_unequal_cpus(schedule: LoopSchedule) -> f64 {
    let slow = Cluster { ipc: 0.5, ..Cluster::default() };
    let machine = Spec::clusters([Cluster::default(), slow]).build();
    let workload = of([thread("fast", [parallel_for()]).on(&[0]), thread("slow", [parallel_for()]).on(&[1])]);
    let report = run(&machine, &workload.with_loop(12, 10, schedule, 2));
    same(report.apps[0].work_s, 0.120);
    report.time_s
}

#[test]
fn static_shares_wait_for_the_slowest() {
    // Six iterations each: 60 ms on the fast CPU, 120 ms on the slow one.
    same(on_unequal_cpus(LoopSchedule::Static), 0.120);
}

#[test]
fn dynamic_shares_add_the_speeds() {
    // 120 ms of work at speed 1.5: the fast CPU gets eight iterations, the slow one four.
    same(on_unequal_cpus(LoopSchedule::Dynamic { chunk: 1 }), 0.080);
}

#[test]
fn a_large_chunk_brings_back_the_wait() {
    // Four for each (40 and 80 ms). The fast CPU takes the last four too and ends at 80 ms. Chunks of six are the
    // static case again.
    same(on_unequal_cpus(LoopSchedule::Dynamic { chunk: 4 }), 0.080);
    same(on_unequal_cpus(LoopSchedule::Dynamic { chunk: 6 }), 0.120);
}

#[test]
fn guided_shares_shrink() {
    // Fast: 6 of 12 until 60 ms. Slow: 3 of 6 until 60 ms. Then one each, and the last one for the fast CPU at 70 ms.
    same(on_unequal_cpus(LoopSchedule::Guided { chunk: 1 }), 0.080);
}

/// A loop of 8 iterations of 5 ms, five times over, by four threads.
fn five_loops() -> Workload {
    of([thread("worker", repeat(5, [parallel_for()])).times(4)]).with_loop(8, 5, LoopSchedule::Static, 4)
}

#[test]
fn a_loop_can_be_executed_again() {
    let report = run(&Spec::cores(4).build(), &five_loops());
    same(report.time_s, 5.0 * 0.010);
    same(report.apps[0].work_s, 5.0 * 0.040);
}

#[test]
fn on_one_cpu_a_loop_takes_as_long_as_its_work() {
    same(run(&Spec::cores(1).build(), &five_loops()).time_s, 5.0 * 0.040);
}

#[test]
fn iterations_that_do_not_divide_go_to_the_first() {
    // Seven over three threads: 3, 2, 2.
    let workload = of([thread("worker", [parallel_for()]).times(3)]).with_loop(7, 10, LoopSchedule::Static, 3);
    let report = run(&Spec::cores(3).build(), &workload);
    same(report.time_s, 0.030);
    same(task(&report, "worker-0").cpu_time_s + task(&report, "worker-1").cpu_time_s, 0.050);
}
