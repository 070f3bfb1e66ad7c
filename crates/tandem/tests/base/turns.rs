// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that differ, and cores of several hardware threads: threads have turns on fast ones, and leave shared cores.

use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Options;

use super::run::{for_ms, hog, of, options, periodic, run, threads, unequal, with, within};
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::machine::{Cluster, Spec};
use crate::long::combinations::support::workload::{TaskExt, thread, timer, work};

/// Work of each thread of a name, in milliseconds of the fastest CPU.
fn works(machine: &Machine, hogs: u32, ms: u64) -> Vec<f64> {
    let report = run(machine, &for_ms(ms, [hog("hog").times(hogs)]));
    threads(&report, "hog").iter().map(|thread| thread.work_s * 1e3).collect()
}

/// Without turns two would have 2000 ms and one half of that.
#[test]
fn with_a_thread_more_than_fast_cpus_each_has_its_turn() {
    for work in works(&unequal(2, 2), 3, 2000) {
        within(work, 2000.0 * 2.5 / 3.0, 80.0);
    }
}

#[test]
fn with_as_many_threads_as_cpus_each_has_its_turn() {
    for work in works(&unequal(2, 2), 4, 2000) {
        within(work, 2000.0 * 3.0 / 4.0, 80.0);
    }
}

#[test]
fn as_many_threads_as_fast_cpus_stay_on_these() {
    for work in works(&unequal(2, 2), 2, 1000) {
        within(work, 1000.0, 1.0);
    }
}

/// It woke where it was fast enough, and does not wake any more: a second at most at half the speed for what takes two.
#[test]
fn what_grows_on_a_slow_cpu_goes_to_an_idle_fast_one() {
    let early = thread("early", [work(500)]).times(2);
    let light = [work(1), timer(20)].into_iter().cycle().take(100);
    let grows = thread("grows", light.chain([work(2000)]).collect::<Vec<_>>());
    let options = Options { governor: "schedutil".parse().unwrap(), ..options(with(&[])) };
    let report = audited_run(&unequal(2, 2), &of([early, grows]), &options);
    within(report.time_s * 1e3, 3000.0, 150.0);
}

/// More threads than CPUs: 3 CPUs' worth of work for 6.
#[test]
fn with_more_threads_than_cpus_all_do_as_much() {
    for work in works(&unequal(2, 2), 6, 2000) {
        within(work, 2000.0 * 3.0 / 6.0, 80.0);
    }
}

/// The fast CPU is another's for 200 ms: half of these are lost, and what it takes to come over.
#[test]
fn a_lone_thread_goes_to_the_fast_cpu_that_becomes_idle() {
    let bound = thread("bound", [work(200)]).on(&[0]);
    let report = run(&unequal(1, 1), &of([bound, thread("lone", [work(1000)]).after(1)]));
    within(report.time_s * 1e3, 1101.0, 8.0);
}

/// Two cores of two threads each, which have half of the core's speed beside each other.
fn cores() -> Machine {
    Spec::clusters([Cluster { cores: 2, smt: 2, smt_speed: 0.5, ..Cluster::default() }]).build()
}

#[test]
fn two_threads_have_a_core_each() {
    for work in works(&cores(), 2, 500) {
        within(work, 500.0, 12.0);
    }
}

/// One core is another's for 100 ms, in which two threads do 50 ms each on the other one: 150 ms later they have done their work.
#[test]
fn what_shares_a_core_goes_to_an_idle_one() {
    let machine = cores();
    let second: Vec<u32> = (0..4).filter(|cpu| machine.cpus[*cpu as usize].core != machine.cpus[0].core).collect();
    let bound = second.iter().map(|cpu| thread(&format!("bound{cpu}"), [work(50)]).on(&[*cpu]));
    let mut tasks: Vec<_> = bound.collect();
    tasks.push(thread("pair", [work(200)]).after(1).times(2));
    let report = run(&machine, &of(tasks));
    within(report.time_s * 1e3, 251.0, 16.0);
}

/// A fast core of two threads, which have six tenths of its speed beside each other, and two slow cores: three threads have a core each, and
/// their turns on the fast one, though others wake on any thread in between.
#[test]
fn a_part_of_a_fast_core_is_no_better_than_a_slow_one() {
    let fast = Cluster { cores: 1, smt: 2, smt_speed: 0.6, ..Cluster::default() };
    let machine = Spec::clusters([fast, Cluster { cores: 2, ipc: 0.8, ..Cluster::default() }]).build();
    let light = (0..3).map(|number| periodic(&format!("light-{number}"), 1, 50 + number));
    let report = run(&machine, &for_ms(2000, light.chain([hog("hog").times(3)]).collect::<Vec<_>>()));
    let work: f64 = report.tasks.iter().map(|task| task.work_s).sum();
    within(work, 2.0 * (1.0 + 0.8 + 0.8), 0.1);
}
