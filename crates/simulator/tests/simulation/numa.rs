// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA balancing on two nodes of two CPUs each (0 and 1, 2 and 3); memory of the other one takes twice as long.
//!
//! Threads wait for memory nine tenths of their time: a second of work takes 1.9 s where their memory is not. The first scan is due
//! after a second of CPU time, and comes with the next tick (every 4 ms).

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;
use tandem_simulator::workload::{Behaviour, MemoryPolicy, Op, TaskSpec, Workload};

use super::support::machine::{Cluster, Package, Spec};
use super::support::workload::{TaskExt, WorkloadExt, of, thread, work};
use super::support::{about, governed, run, same};
use crate::common::run_with;

fn machine() -> Machine {
    let node =
        |package: usize| Cluster { package, memory: package, node: package as u32, cores: 2, ..Cluster::default() };
    let table = "[nodes]\nsource = \"test\"\ndistances = [[10, 20], [20, 10]]\nlatency = [[1, 2], [2, 1]]\n";
    Spec {
        packages: vec![Package::default(), Package::default()],
        memories: vec![Default::default(), Default::default()],
        more: table.to_owned(),
        ..Spec::clusters([node(0), node(1)])
    }
    .build()
}

fn waiting(workload: Workload) -> Workload {
    let footprint = 16 << 20;
    workload.behaving(Behaviour { memory_bound: 0.9, footprint, ..Behaviour::default() })
}

fn to(cpus: &[u32]) -> Op {
    Op::SetAffinity(Some(cpus.to_vec()))
}

fn without_balancing(workload: &Workload) -> Report {
    let mut options: Options = governed("performance");
    options.kernel.set("numa_balancing", "false").unwrap();
    run_with(&machine(), workload, &options)
}

fn migrations(report: &Report) -> u64 {
    report.tasks.iter().map(|task| task.migrations).sum()
}

#[test]
fn pages_follow_a_thread_early_in_its_life() {
    let workload = waiting(of([thread("a", vec![work(500), to(&[2]), work(4000)]).on(&[0])]));
    same(without_balancing(&workload).time_s, 0.5 + 4.0 * 1.9);
    // The scan comes after 1 s, at a tick within the next 4 ms. 0.5 s were spent away from the memory: 0.5 / 1.9 s of the work.
    let report = run(&machine(), &workload);
    about(report.time_s, 1.002 + 4.0 - 0.502 / 1.9, 0.001);
    assert_eq!(migrations(&report), 1);
}

#[test]
fn a_second_of_work_that_moves_halfway_gets_its_memory_back_before_its_end() {
    // Of the half that is done away from the memory, 0.5 / 1.9 s are done by the scan: 1 + 0.5 - 0.5 / 1.9, and at most a tick.
    let workload = waiting(of([thread("a", vec![work(500), to(&[2]), work(500)]).on(&[0])]));
    same(without_balancing(&workload).time_s, 1.45);
    let time = run(&machine(), &workload).time_s;
    assert!((1.2368..=1.2368 + 0.004 * (1.0 - 1.0 / 1.9)).contains(&time), "{time}");
}

#[test]
fn a_thread_that_was_sent_away_goes_back_to_its_memory() {
    // Scans after 1 s and, as the first one found nothing to compare with, 2 s later: by then its node is known. It is sent
    // away at 4 s, and may come back 19 ms later, which it does when the next scan is due, at about 5.02 s: the move has set
    // the period back to a second, and scans are at least 2 s apart by the period when the last one was.
    let steps = vec![work(4000), to(&[2]), work(10), to(&[0, 1, 2, 3]), work(4000)];
    let workload = waiting(of([thread("a", steps).on(&[0])]));
    same(without_balancing(&workload).time_s, 4.0 + 4.01 * 1.9);
    let report = run(&machine(), &workload);
    about(report.time_s, 5.02 + 4.01 - 1.02 / 1.9, 0.002);
    assert_eq!(migrations(&report), 2, "there and back");
}

/// A thread that works on its own node for 4 s, is then put on a CPU of the other one, and may leave that at once.
fn misplaced(name: &str, home: u32, away: u32) -> TaskSpec {
    thread(name, vec![work(4000), to(&[away]), work(1), to(&[0, 1, 2, 3]), work(4000)]).on(&[home])
}

#[test]
fn two_threads_on_the_wrong_nodes_change_places() {
    let home = |name: &str, cpu: u32| thread(name, vec![work(20_000)]).on(&[cpu]);
    let workload = waiting(of([misplaced("a", 0, 2), misplaced("b", 2, 0), home("c", 1), home("d", 3)]));
    // A thread that never sleeps ends when it has run and waited.
    let ended = |report: &Report, name: &str| {
        let task = report.tasks.iter().find(|task| task.name == name).expect("a thread of that name");
        task.cpu_time_s + task.wait_time_s
    };
    let (off, on) = (without_balancing(&workload), run(&machine(), &workload));
    for name in ["a", "b"] {
        // One of them waits a slice where the other still is.
        about(ended(&off, name), 4.0 + 4.001 * 1.9, 0.001);
        // A scan is due between 5.0 and 6.2 s; what was done up to there took 1.9 times as long.
        let swapped = |at: f64| at + 4.001 - (at - 4.0) / 1.9;
        let end = ended(&on, name);
        assert!((swapped(5.0)..swapped(6.2) + 0.005).contains(&end), "{name}: {end}");
    }
    assert_eq!((migrations(&off), migrations(&on)), (2, 4), "each goes there, and back");
}

#[test]
fn memory_that_was_asked_for_on_a_node_stays_there() {
    let task = TaskSpec { memory: MemoryPolicy::Bind(vec![1]), ..thread("a", vec![work(3000)]).on(&[0]) };
    same(run(&machine(), &waiting(of([task]))).time_s, 3.0 * 1.9);
}

#[test]
fn nothing_is_balanced_without_distances() {
    let spec = Spec::cores(4).build();
    let workload = waiting(of([thread("a", vec![work(500), to(&[2]), work(2000)]).on(&[0])]));
    same(run(&spec, &workload).time_s, 2.5);
}
