// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where new threads end up: on idle CPUs first, on idle cores before siblings, evenly on caches and nodes.

use super::support::{Places, assert_near, counts, options, run, run_with, spinning};
use tandem_simulator::machine::Machine;
use tandem_simulator::units::{CpuId, MSEC, SEC};

#[test]
fn new_threads_start_on_idle_cpus() {
    let machine = Machine::load("smp-8").unwrap();
    for threads in [4, 8] {
        let places = Places::of(&machine, &[spinning("t", threads, "")], &options(1, SEC));
        for time in [0, SEC] {
            let used = counts(&places.at("t", time), |cpu| cpu);
            assert_eq!(used.len(), threads as usize, "at {time}: {used:?}");
        }
    }
}

/// After a burst of sixteen forks on eight CPUs each CPU has two threads.
#[test]
fn a_burst_of_forks_is_evened_out() {
    let machine = Machine::load("smp-8").unwrap();
    let burst = r#""parent" : { "loop" : 1, "phases" : {
            "burst" : { "loop" : 16, "fork" : "child" }, "wait" : { "loop" : 1, "sleep" : 10000000 } } },
        "child" : { "instance" : 0, "loop" : -1, "run" : 1000000 }"#;
    let places = Places::of(&machine, &[burst.to_owned()], &options(1, 4 * SEC));
    let used = counts(&places.at("child", SEC), |cpu| cpu);
    assert_eq!(used.values().copied().collect::<Vec<_>>(), [2; 8], "{used:?}");
}

/// Threads that come in pairs of long and short leave CPUs idle, which pull other threads.
#[test]
fn cpus_that_become_idle_pull_waiting_threads() {
    let tasks = [spinning("long", 8, ""), r#""short" : { "instance" : 8, "loop" : 1, "run" : 200000 }"#.to_owned()];
    let report = run("smp-8", &tasks, 1, 10);
    let busy: f64 = report.cpus.iter().map(|cpu| cpu.busy_s).sum();
    assert_near(busy, 80.0, 0.001);
    let long: f64 = report.tasks.iter().filter(|task| task.name.starts_with("long")).map(|task| task.cpu_time_s).sum();
    assert_near(long, 80.0 - 8.0 * 0.2, 0.001);
}

/// As many threads as cores, on 128 cores of two hardware threads each: no core has two while another has none.
#[test]
fn an_idle_core_comes_before_a_sibling() {
    let machine = Machine::load("epyc-9554-2s").unwrap();
    let cores = machine.cores.len();
    let places = Places::of(&machine, &[spinning("t", cores as u32, "")], &options(1, 2 * SEC));
    let used = counts(&places.at("t", SEC), |cpu| machine.cpus[cpu.index()].core);
    assert!(used.len() * 100 >= cores * 97, "{} of {cores} cores used", used.len());
}

/// Half as many threads as cores: the nodes have the same number of threads, within the imbalance that is allowed, and
/// so have the caches.
#[test]
fn threads_spread_over_nodes_and_caches() {
    let machine = Machine::load("epyc-9554-2s").unwrap();
    let places = Places::of(&machine, &[spinning("t", 64, "")], &options(1, 2 * SEC));
    let cpus = places.at("t", SEC);
    let nodes = counts(&cpus, |cpu| machine.cluster(cpu).package);
    assert!(nodes.len() == 2 && nodes.values().all(|threads| (28..=36).contains(threads)), "{nodes:?}");
    let caches = counts(&cpus, |cpu| machine.cpus[cpu.index()].llc);
    assert!(caches.len() == 16 && caches.values().all(|threads| (2..=6).contains(threads)), "{caches:?}");
    assert_eq!(counts(&cpus, |cpu| machine.cpus[cpu.index()].core).len(), 64);
}

/// Few threads stay on the node where they were made: up to as many as the node has caches.
#[test]
fn few_threads_stay_on_their_node() {
    let machine = Machine::load("epyc-9554-2s").unwrap();
    let places = Places::of(&machine, &[spinning("t", 2, "")], &options(1, SEC));
    let nodes = counts(&places.at("t", 500 * MSEC), |cpu| machine.cluster(cpu).package);
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    assert!(nodes.contains_key(&machine.cluster(CpuId(0)).package));
}

/// A queue of twelve thousand tasks, some of them nice 19 and −20, keeps its arithmetic: nothing overflows, no time is
/// lost, and tasks that run at all run by their weights.
#[test]
fn a_hundred_thousand_tasks_do_not_overflow() {
    let tasks = [
        spinning("many", 99_000, ""),
        spinning("nice", 500, r#", "priority" : 19"#),
        spinning("urgent", 500, r#", "priority" : -20"#),
    ];
    let report = run_with(&Machine::load("smp-8").unwrap(), &tasks, &options(1, 2 * SEC));
    let busy: f64 = report.cpus.iter().map(|cpu| cpu.busy_s).sum();
    assert_near(busy, 16.0, 1e-9);
    let time = |app: &str| -> f64 {
        let threads = report.tasks.iter().filter(|task| task.app.as_deref() == Some(app));
        threads.map(|task| task.cpu_time_s).sum()
    };
    assert!(time("urgent") > 10.0 * time("nice"), "{} {}", time("urgent"), time("nice"));
}
