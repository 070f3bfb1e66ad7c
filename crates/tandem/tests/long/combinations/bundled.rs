// SPDX-License-Identifier: GPL-2.0-only
//! Every combination on every bundled workload, on a machine of equal CPUs, one of two kinds of CPU and one of three.

use rayon::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Scheduler, simulate};
use tandem_simulator::units::{MSEC, SEC};
use tandem_simulator::workload::Workload;

use super::scheduler::{MECHANISMS, assert_same_work, audited_run, combination, machine, options, tandem, workloads};
use super::support::starvation::Starvation;

pub const MACHINES: [&str; 3] = ["smp-8", "hikey960", "pixel6"];

/// A workload on a machine, and what fair does with it.
struct Case {
    machine: Machine,
    workload: Workload,
    fair: Report,
}

fn cases() -> Vec<Case> {
    let pairs: Vec<_> = MACHINES.iter().flat_map(|name| workloads(5).into_iter().map(move |it| (*name, it))).collect();
    let case = |(name, workload): (&str, Workload)| {
        let machine = machine(name);
        let fair = audited_run(&machine, &workload, &options(Scheduler::Fair, 0));
        Case { machine, workload, fair }
    };
    pairs.into_par_iter().map(case).collect()
}

fn on_single(settings: String) -> String {
    if settings.is_empty() { "base=single".into() } else { format!("base=single,{settings}") }
}

#[test]
fn every_combination_does_all_work_of_every_workload() {
    let cases = cases();
    let mut settings: Vec<String> = (0..1 << MECHANISMS.len()).map(combination).collect();
    // Those without `sorted` stand on the base of several queues, if they are not asked for the single one.
    settings.extend((0..1 << MECHANISMS.len()).map(combination).filter(|it| !it.contains("sorted")).map(on_single));
    let runs: Vec<_> = cases.iter().flat_map(|case| settings.iter().map(move |it| (case, it))).collect();
    assert_eq!(runs.len(), (32 + 16) * 7 * 3);
    runs.par_iter().for_each(|(case, settings)| {
        let report = audited_run(&case.machine, &case.workload, &options(tandem(settings), 0));
        assert_same_work(&report, &case.fair);
    });
}

#[test]
fn a_dedicated_cpu_for_the_system_goes_with_all_others() {
    let cases = cases();
    let settings = ["isolate=dedicated", "all=true,isolate=dedicated"];
    let runs: Vec<_> = cases.iter().flat_map(|case| settings.map(|it| (case, it))).collect();
    runs.par_iter().for_each(|(case, settings)| {
        let report = audited_run(&case.machine, &case.workload, &options(tandem(settings), 0));
        assert_same_work(&report, &case.fair);
        let states = &report.sched_ext.as_ref().unwrap().states;
        assert_eq!(states.iter().find(|(name, _)| name == "isolate_state").unwrap().1, "active");
        // Real-time threads, as in `locks`, are not the scheduler's: they may run there.
        let system = report.tasks.iter().filter(|task| task.system).map(|task| task.cpu_time_s).sum::<f64>();
        let (busy, other) = (report.cpus[0].busy_s, if case.workload.name == "locks" { 0.1 } else { 0.0 });
        let place = format!("{} on {} under {settings}", case.workload.name, case.machine.name);
        assert!(busy >= 0.9 * system && busy <= system + other + 0.002, "{place}: {busy} s, of the system {system} s");
    });
}

#[test]
fn no_cpu_idles_for_long_while_a_thread_waits() {
    // With isolation system tasks wait for their CPU while others idle: the 16 combinations without.
    let cases = cases();
    let settings: Vec<String> = (0..1 << MECHANISMS.len()).filter(|it| it & 1 == 0).map(combination).collect();
    let runs: Vec<_> = cases.iter().flat_map(|case| settings.iter().map(move |it| (case, it))).collect();
    let worst = runs.par_iter().map(|(case, settings)| {
        let mut starvation = Starvation::new(&case.machine, &case.workload);
        simulate(&case.machine, &case.workload, &options(tandem(settings), 0), &mut starvation).unwrap();
        (starvation.worst, format!("{} on {} with {settings}", case.workload.name, case.machine.name))
    });
    let ((longest, at), place) = worst.max().unwrap();
    println!("longest: {} us up to {} s, {place}", longest / 1000, at as f64 / SEC as f64);
    // The longest is 7 ms: what begins on a CPU that was idle to who looked, and is not by then, waits for the next tick but one there.
    assert!(longest <= 10 * MSEC, "{longest} ns up to {at} ns: {place}");
}
