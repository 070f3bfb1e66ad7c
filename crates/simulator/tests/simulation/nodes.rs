// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of another node: two nodes of two CPUs each (0 and 1, 2 and 3), memories of 20 GB/s, of which a thread can use 10.
//! NUMA balancing is off, so that memory stays; `numa` has what it does.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{AppMemory, Report};
use tandem_simulator::workload::{Behaviour, MemoryPolicy, Op, TaskSpec, Workload};

use super::support::machine::{Cache, Cluster, Memory, Package, Spec};
use super::support::workload::{TaskExt, WorkloadExt, of, sleep, thread, work};
use super::support::{governed, same};
use crate::common::run_with;

/// Two nodes; `nodes` says how far they are from each other.
fn spec(nodes: &str) -> Spec {
    let package =
        |package: usize| Cluster { package, memory: package, node: package as u32, cores: 2, ..Cluster::default() };
    let memory =
        Memory { gb_per_s: 20.0, thread_gb_per_s: 10.0, contention: 0.0, nj_per_byte: 1.0, ..Memory::default() };
    Spec {
        packages: vec![Package::default(), Package::default()],
        memories: vec![memory.clone(), memory],
        more: nodes.to_owned(),
        ..Spec::clusters([package(0), package(1)])
    }
}

/// Two nodes, of which each takes `factor` times as long to reach the other's memory as its own.
fn far(factor: f64) -> Machine {
    let table = format!(
        "[nodes]\nsource = \"test\"\ndistances = [[10, 20], [20, 10]]\nlatency = [[1, {factor}], [{factor}, 1]]\n"
    );
    spec(&table).build()
}

/// As [`far`] with a factor of 1 and a link of so many GB/s.
fn linked(gb_per_s: f64) -> Machine {
    let table = format!(
        "[nodes]\nsource = \"test\"\ndistances = [[10, 20], [20, 10]]\nlatency = [[80, 80], [80, 80]]\n\
         link_gb_per_s = [[0, {gb_per_s}], [{gb_per_s}, 0]]\n"
    );
    spec(&table).build()
}

fn run(machine: &Machine, workload: &Workload) -> Report {
    let mut options = governed("performance");
    options.kernel.numa_balancing = false;
    run_with(machine, workload, &options)
}

fn with(memory: MemoryPolicy, task: TaskSpec) -> TaskSpec {
    TaskSpec { memory, ..task }
}

/// Nine tenths of the time wait for memory.
fn waiting(workload: Workload) -> Workload {
    workload.behaving(Behaviour { memory_bound: 0.9, ..Behaviour::default() })
}

/// All time waits for memory: 10 bytes per nanosecond.
fn streaming(workload: Workload) -> Workload {
    workload.behaving(Behaviour { memory_bound: 1.0, bytes_per_work: 10.0, ..Behaviour::default() })
}

fn to(cpu: u32) -> Op {
    Op::SetAffinity(Some(vec![cpu]))
}

/// A second of work, of which the second half is done on the other node.
fn mover() -> TaskSpec {
    thread("a", [work(500), to(2), work(500)]).on(&[0])
}

fn bytes(machine: &Machine, workload: &Workload) -> AppMemory {
    run(machine, workload).apps[0].memory.expect("the machine has nodes")
}

#[test]
fn a_thread_that_moves_to_another_node_halfway_leaves_its_memory_behind() {
    // 0.5 + 0.5·(0.1 + 0.9·1.6) and 0.5 + 0.5·(0.1 + 0.9·2).
    same(run(&far(1.6), &waiting(of([mover()]))).time_s, 1.27);
    same(run(&far(2.0), &waiting(of([mover()]))).time_s, 1.45);
}

#[test]
fn without_distances_memory_is_that_of_the_cpu_a_thread_runs_on() {
    let report = run(&spec("").build(), &waiting(of([mover()])));
    assert_eq!((report.time_s, report.apps[0].memory), (1.0, None));
}

#[test]
fn memory_bound_to_another_node_is_remote_from_the_start() {
    let task = with(MemoryPolicy::Bind(vec![1]), thread("a", [work(1000)]).on(&[0]));
    same(run(&far(2.0), &waiting(of([task]))).time_s, 1.9);
}

#[test]
fn memory_on_two_nodes_takes_the_mean_of_both() {
    let task = with(MemoryPolicy::Interleave(vec![]), thread("a", [work(1000)]).on(&[0]));
    same(run(&far(2.0), &waiting(of([task]))).time_s, 1.45);
}

#[test]
fn memory_is_where_a_thread_first_works_and_not_where_it_starts() {
    let workload = waiting(of([thread("a", [sleep(10), to(2), work(100)]).on(&[0])]));
    same(run(&far(2.0), &workload).time_s, 0.11);
}

#[test]
fn a_thread_that_comes_home_is_as_fast_as_before() {
    let there_and_back = thread("a", [work(100), to(2), work(100), to(0), work(100)]).on(&[0]);
    same(run(&far(2.0), &waiting(of([there_and_back]))).time_s, 0.1 + 0.19 + 0.1);
}

#[test]
fn bytes_are_local_before_a_thread_moves_and_remote_afterwards() {
    let AppMemory { local_bytes, remote_bytes } = bytes(&far(2.0), &streaming(of([mover()])));
    same(local_bytes, 5e9);
    same(remote_bytes, 5e9);
}

#[test]
fn bytes_cross_the_memory_of_their_home() {
    // 1e9 bytes of 1 nJ each.
    let task = with(MemoryPolicy::Bind(vec![1]), thread("a", [work(100)]).on(&[0]));
    let report = run(&far(1.0), &streaming(of([task])));
    assert_eq!(report.drawn.memory[0].traffic_j, 0.0);
    same(report.drawn.memory[1].traffic_j, 1.0);
}

#[test]
fn two_streams_over_a_link_for_one_take_twice_as_long() {
    let task = with(MemoryPolicy::Bind(vec![1]), thread("a", [work(100)]).on(&[0, 1]).times(2));
    let workload = streaming(of([task]));
    same(run(&linked(20.0), &workload).time_s, 0.1);
    same(run(&linked(10.0), &workload).time_s, 0.2);
}

#[test]
fn a_link_holds_back_a_thread_that_needs_it_for_half_of_its_memory() {
    // 5 of the 10 bytes per nanosecond cross a link for 2.5.
    let task = with(MemoryPolicy::Interleave(vec![0, 1]), thread("a", [work(100)]).on(&[0]));
    same(run(&linked(2.5), &streaming(of([task]))).time_s, 0.2);
}

#[test]
fn the_memory_of_one_node_is_what_threads_of_both_share() {
    // Four streams of 10 bytes per nanosecond where 20 fit, two of them over a link that is wide enough.
    let here = with(MemoryPolicy::Bind(vec![0]), thread("a", [work(100)]).on(&[0, 1]).times(2));
    let there = with(MemoryPolicy::Bind(vec![0]), thread("b", [work(100)]).on(&[2, 3]).times(2));
    same(run(&linked(100.0), &streaming(of([here, there]))).time_s, 0.2);
}

#[test]
fn moved_blocks_take_as_much_longer_as_their_memory_is_farther() {
    // 1e9 bytes at 10 GB/s.
    let step = Op::Memory { bytes: 1_000_000_000, buffer: 0 };
    let task = with(MemoryPolicy::Bind(vec![1]), thread("a", [step]).on(&[0]));
    let workload = of([task]);
    same(run(&far(2.0), &workload).time_s, 0.2);
    assert_eq!(bytes(&far(2.0), &workload), AppMemory { local_bytes: 0.0, remote_bytes: 1e9 });
}

#[test]
fn a_working_set_comes_back_from_where_it_is() {
    // 1 MiB at 10 GB/s takes 104.8576 us, twice as long from the other node.
    let table = "[nodes]\nsource = \"test\"\ndistances = [[10, 20], [20, 10]]\nlatency = [[1, 2], [2, 1]]\n";
    let mut spec = spec(table);
    for cluster in &mut spec.clusters {
        cluster.cache = Some(Cache { kib: 1024, per: "cluster".into(), hit_cost: 0.1, link: None });
    }
    let behaviour = Behaviour { footprint: 1024 * 1024, ..Behaviour::default() };
    let workload = of([thread("a", [work(10), to(2), work(10)]).on(&[0])]).behaving(behaviour);
    same(run(&spec.build(), &workload).time_s, 0.020_209_715);
}

#[test]
fn mistakes_in_a_table_of_nodes_are_named() {
    let complaint = |table: &str| spec(&format!("[nodes]\nsource = \"test\"\n{table}\n")).try_build().unwrap_err();
    let says = |table: &str, text: &str| assert!(complaint(table).contains(text), "{}", complaint(table));
    says("latency = [[1, 2], [2, 1]]", "distances");
    says("distances = [[10, 20]]", "`distances` does not fit 2 nodes");
    says("distances = [[10, 20], [20, 11]]", "`distances` of node 1 to itself is 11");
    says("distances = [[10, 20], [20, 10]]", "latency");
    says("distances = [[10, 20], [20, 10]]\nlatency = [[90, 80], [180, 90]]", "shorter than that of node 0");
    let links = "distances = [[10, 20], [20, 10]]\nlatency = [[1, 2], [2, 1]]\nlink_gb_per_s = ";
    says(&format!("{links}[[0, 5], [6, 0]]"), "between nodes 0 and 1 is 5 and 6");
    says(&format!("{links}[[0, 0], [0, 0]]"), "between nodes 0 and 1 is 0 and 0");
}
