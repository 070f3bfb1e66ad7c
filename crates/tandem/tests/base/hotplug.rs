// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that go and come. The base stays, and has its lines without them; the mechanisms leave and are loaded again.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, SchedExtReport};
use tandem_simulator::simulation::{Hotplug, Options, SchedExt};
use tandem_simulator::units::{CpuId, MSEC};
use tandem_simulator::workload::Workload;

use super::run::{for_ms, hog, of, options, pairs, share, threads, unequal, with, within};
use crate::equal;
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::workload::{TaskExt, thread, work};

/// Times in milliseconds at which CPUs go and come.
type Changes<'c> = &'c [(u64, u32, bool)];

fn run_under(scheduler: SchedExt, machine: &Machine, workload: &Workload, changes: Changes<'_>) -> Report {
    let change = |&(at, cpu, online): &(u64, u32, bool)| Hotplug { at: at * MSEC, cpu: CpuId(cpu), online };
    let hotplug = changes.iter().map(change).collect();
    audited_run(machine, workload, &Options { hotplug, ..options(scheduler) })
}

fn loaded(report: &Report) -> &SchedExtReport {
    report.sched_ext.as_ref().unwrap()
}

/// A run under the base, which is never loaded again.
#[track_caller]
fn run_while(machine: &Machine, workload: &Workload, changes: Changes<'_>) -> Report {
    let report = run_under(with(&[]), machine, workload, changes);
    assert_eq!((loaded(&report).restarts.len(), &loaded(&report).exit), (0, &None));
    report
}

/// The CPUs that go, one after the other, from 500 ms on, and come back from 2500 ms on.
fn away<const N: usize>(cpus: [u32; N]) -> Vec<(u64, u32, bool)> {
    let goes = (0..).zip(cpus).map(|(place, cpu)| (500 + 10 * place, cpu, false));
    let comes = (0..).zip(cpus).map(|(place, cpu)| (2500 + 10 * place, cpu, true));
    goes.chain(comes).collect()
}

/// CPU time of all CPUs, in seconds.
fn busy(report: &Report) -> f64 {
    report.cpus.iter().map(|cpu| cpu.busy_s).sum()
}

/// 500 ms on two CPUs, 2 s on one, then two again: 6 s of work.
#[test]
fn the_work_is_done() {
    let workload = of([thread("hog", [work(1500)]).times(4)]);
    let report = run_while(&equal::machine(2), &workload, &away([1]));
    within(report.time_s * 1e3, 4000.0, 1.0);
}

#[test]
fn on_machines_of_several_caches_and_of_cpus_that_differ() {
    for machine in [pairs(4), unequal(2, 2), unequal(1, 3)] {
        for cpu in 0..4 {
            let report = run_while(&machine, &for_ms(4000, [hog("hog").times(6)]), &away([cpu]));
            within(busy(&report), 4.0 * 4.0 - 2.0, 0.002);
        }
    }
}

/// Of two caches with three threads for each CPU one goes, and the other has six for each CPU: all wait as long as each other.
#[test]
fn a_cache_goes_whole() {
    for gone in [[2, 3], [1, 0]] {
        let report = run_while(&pairs(4), &for_ms(4000, [hog("hog").times(12)]), &away(gone));
        within(busy(&report), 4.0 * 4.0 - 2.0 * 2.0, 0.002);
        for hog in threads(&report, "hog") {
            within(hog.cpu_time_s, 12.0 / 12.0, 0.1);
        }
    }
}

/// Threads that may run everywhere go to the cache where fewer wait, and it goes while they wait there. The CPUs that are left are
/// never idle, so that they take nothing from other lines.
#[test]
fn what_waits_for_a_cache_that_goes_waits_for_another() {
    let tasks = [hog("here").on(&[0, 1]).times(8), hog("anywhere").times(8)];
    for at in (4..=60).step_by(4) {
        let report = run_while(&pairs(4), &for_ms(2000, tasks.clone()), &[(at, 3, false), (at, 2, false)]);
        for name in ["here", "anywhere"] {
            for hog in threads(&report, name) {
                within(hog.cpu_time_s, 2.0 * 2.0 / 16.0, 0.06);
            }
        }
    }
}

#[test]
fn all_cpus_but_one_go_and_come() {
    let cpus = [1, 2, 3, 4, 5, 6, 7];
    for machine in [equal::machine(8), pairs(8), unequal(4, 4)] {
        let report = run_while(&machine, &for_ms(4000, [hog("hog").times(16)]), &away(cpus));
        within(busy(&report), 8.0 * 4.0 - 7.0 * 2.0, 0.01);
    }
}

/// A thread that was bound to the CPU may use all from then on.
#[test]
fn what_was_bound_to_the_cpu_goes_elsewhere() {
    let tasks = [hog("free"), hog("bound").on(&[1])];
    let report = run_while(&equal::machine(2), &for_ms(4000, tasks), &away([1]));
    // A CPU each but for 2 s, of which each has half.
    within(share(&report, "bound"), 50.0, 1.0);
}

/// Clocks that follow utilisation go up again on a CPU that was away.
#[test]
fn what_a_cpu_asks_of_its_clock_it_asks_again() {
    let report = run_while(&unequal(2, 2), &for_ms(4000, [hog("hog").times(4)]), &away([0, 1]));
    let hogs = threads(&report, "hog");
    let work: f64 = hogs.iter().map(|hog| hog.work_s).sum();
    // Two CPUs of speed 1 and two of half that, of which the fast ones are away for 2 s.
    within(work, 4.0 * 3.0 - 2.0 * 2.0, 0.02);
}

/// What it is its loader could only guess. Loaded again it has its place in its own line.
#[test]
fn a_cpu_that_was_offline_before_brings_the_scheduler_anew() {
    for machine in [equal::machine(4), pairs(4), unequal(2, 2)] {
        let workload = for_ms(4000, [hog("hog").times(8)]);
        let report = run_under(with(&[]), &machine, &workload, &[(0, 3, false), (1500, 3, true), (3000, 3, false)]);
        let restarts = &loaded(&report).restarts;
        assert_eq!((restarts.len(), &loaded(&report).exit), (1, &None));
        assert_eq!(restarts[0].message, "cpu 3 going online, exiting scheduler");
        within(busy(&report), 3.0 * 4.0 + 1.5, 0.002);
    }
}

/// Slices are as short as on a machine of as many CPUs as there are: two share 4 ms with six that wait, which the next tick ends.
#[test]
fn a_cpu_that_is_offline_counts_nowhere() {
    let switches = |machine: &Machine, changes: &[Hotplug]| {
        let mut options = Options { hotplug: changes.to_vec(), ..options(with(&[])) };
        options.kernel.hz = 1000;
        let report = audited_run(machine, &for_ms(4000, [hog("hog").times(8)]), &options);
        threads(&report, "hog").iter().map(|task| task.switches).sum::<u64>() as f64
    };
    let off = |cpu| Hotplug { at: 0, cpu: CpuId(cpu), online: false };
    let two = switches(&equal::machine(2), &[]);
    within(switches(&equal::machine(4), &[off(2), off(3)]) / two, 1.0, 0.05);
}

#[test]
fn mechanisms_are_loaded_again() {
    let restarts = |setting| {
        let settings = [setting];
        let report = run_under(with(&settings), &unequal(2, 2), &for_ms(4000, [hog("hog").times(6)]), &away([3]));
        within(busy(&report), 4.0 * 4.0 - 2.0, 0.01);
        loaded(&report).restarts.len()
    };
    for mechanism in [("isolate", "shared"), ("longest", "true"), ("serial_first", "true"), ("all", "true")] {
        assert_eq!(restarts(mechanism), 2, "{mechanism:?}");
    }
}
