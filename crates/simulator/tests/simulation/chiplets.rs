// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chiplets: two caches of two CPUs each (0 and 1, 2 and 3), whose links to a memory carry 10 GB/s each.

use tandem_simulator::machine::Machine;
use tandem_simulator::workload::{Behaviour, MemoryPolicy, Op, TaskSpec, Workload};

use super::support::machine::{Cache, Cluster, Memory, Package, Spec};
use super::support::workload::{TaskExt, WorkloadExt, of, thread, work};
use super::support::{run, same};

fn cluster(cores: u32, package: usize) -> Cluster {
    let cache = Some(Cache { kib: 1024, per: "cores:2".into(), hit_cost: 0.1, link: Some(10.0) });
    Cluster { cores, cache, package, memory: package, node: package as u32, ..Cluster::default() }
}

fn memory(gb_per_s: f64) -> Memory {
    Memory { gb_per_s, thread_gb_per_s: 10.0, ..Memory::default() }
}

/// Two chiplets before a memory of so many GB/s.
fn one_node(gb_per_s: f64) -> Machine {
    Spec { memories: vec![memory(gb_per_s)], ..Spec::clusters([cluster(4, 0)]) }.build()
}

/// The same chiplets on the first of two nodes, a third one (CPUs 4 and 5) on the other; 100 GB/s between them.
fn two_nodes(gb_per_s: f64) -> Machine {
    let table = "[nodes]\nsource = \"test\"\ndistances = [[10, 20], [20, 10]]\nlatency = [[80, 80], [80, 80]]\n\
                 link_gb_per_s = [[0, 100], [100, 0]]\n";
    Spec {
        packages: vec![Package::default(), Package::default()],
        memories: vec![memory(gb_per_s), memory(gb_per_s)],
        more: table.to_owned(),
        ..Spec::clusters([cluster(4, 0), cluster(2, 1)])
    }
    .build()
}

/// A thread that streams 10 bytes per nanosecond, alone for 100 ms.
fn stream(name: &str, cpu: u32) -> TaskSpec {
    thread(name, vec![work(100)]).on(&[cpu])
}

fn streaming(workload: Workload) -> Workload {
    workload.behaving(Behaviour { memory_bound: 1.0, bytes_per_work: 10.0, ..Behaviour::default() })
}

#[test]
fn threads_of_one_chiplet_share_its_link() {
    for machine in [one_node(100.0), two_nodes(100.0)] {
        // 20 bytes per nanosecond over 10: twice as long. Over two links: as long as alone.
        same(run(&machine, &streaming(of([stream("a", 0), stream("b", 1)]))).time_s, 0.2);
        same(run(&machine, &streaming(of([stream("a", 0), stream("b", 2)]))).time_s, 0.1);
    }
}

#[test]
fn chiplets_share_what_their_memory_has() {
    for machine in [one_node(16.0), two_nodes(16.0)] {
        // Each link lets 10 through, 20 together; 16 fit: 4 bytes per nanosecond for each of four threads that want 10.
        let workload = of([stream("a", 0), stream("b", 1), stream("c", 2), stream("d", 3)]);
        same(run(&machine, &streaming(workload)).time_s, 0.25);
    }
}

#[test]
fn a_thread_whose_chiplet_is_full_leaves_memory_to_others() {
    for machine in [one_node(16.0), two_nodes(16.0)] {
        // The link lets 5 bytes per nanosecond of each of two through, which leaves 6 of 16 to the third: λ = 10 / 6 there, less than
        // the 2 of the link.
        let workload = of([stream("a", 0), stream("b", 1), stream("c", 2)]);
        let report = run(&machine, &streaming(workload));
        let third = report.tasks.iter().find(|task| task.name == "c").unwrap();
        same(third.cpu_time_s, 1e9 / 6e9);
        same(report.time_s, 0.2);
    }
}

#[test]
fn memory_of_another_node_is_behind_the_chiplets_link_too() {
    let far = |task: TaskSpec| TaskSpec { memory: MemoryPolicy::Bind(vec![1]), ..task };
    let machine = two_nodes(100.0);
    same(run(&machine, &streaming(of([far(stream("a", 0)), far(stream("b", 1))]))).time_s, 0.2);
    same(run(&machine, &streaming(of([far(stream("a", 0)), stream("b", 4)]))).time_s, 0.1);
}

#[test]
fn a_thread_alone_moves_no_more_than_its_link_carries() {
    let mut spec = Spec { memories: vec![memory(100.0)], ..Spec::clusters([cluster(4, 0)]) };
    spec.memories[0].thread_gb_per_s = 20.0;
    let moved = thread("a", vec![Op::Memory { bytes: 1_000_000_000, buffer: 0 }]);
    same(run(&spec.build(), &of([moved])).time_s, 0.1);
}

#[test]
fn a_link_belongs_to_a_chiplet_and_not_to_a_package() {
    let mut whole = cluster(4, 0);
    whole.cache = Some(Cache { kib: 1024, per: "package".into(), hit_cost: 0.1, link: Some(10.0) });
    let complaint = Spec::clusters([whole]).try_build().unwrap_err();
    assert!(complaint.contains("a cache of the whole package has no link of its own"), "{complaint}");
}
