// SPDX-License-Identifier: MIT OR Apache-2.0
//! The four C schedulers of the kernel's tools/sched_ext run unmodified over all bundled workloads, on a machine of equal
//! CPUs, one of unequal ones, one of hardware threads with a cache per core, and one of more CPUs than a mask's word has bits.

use std::path::Path;
use std::sync::Arc;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Options, SchedExt, Scheduler, simulate};
use tandem_simulator::workload::Workload;
use tandem_simulator::workload::bundled::BUNDLED;

use crate::common::run_with;
use crate::sched_ext::support::{open, survived};
use crate::simulation::support::audit::Audit;

/// Four equal CPUs with two last-level caches; four small and four big CPUs; eight hardware threads with four
/// last-level caches.
const MACHINES: [&str; 3] = ["core2-q6600", "hikey960", "poweredge-2850"];

fn options(scheduler: Scheduler) -> Options {
    Options { scheduler, ..Options::default() }
}

/// A run before an auditor. It checks that no thread runs where it must not or twice at a time, that each CPU's time
/// and energy are accounted for, and that the threads' CPU time is the CPUs' busy time.
fn audited_run(machine: &Machine, workload: &Workload, options: &Options) -> Report {
    let mut audit = Audit::new(machine, workload);
    let report = simulate(machine, workload, options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
    audit.check(&report);
    report
}

/// Asserts that each application has done the same work as under fair.
#[track_caller]
fn assert_same_work(report: &Report, fair: &Report) {
    assert_eq!(report.apps.len(), fair.apps.len());
    for (app, other) in report.apps.iter().zip(&fair.apps) {
        let (done, asked) = (app.work_s, other.work_s);
        let place = format!("{} of {} on {} under {}", app.name, report.workload, report.machine, report.scheduler);
        assert!((done - asked).abs() <= 1e-9 + 1e-6 * asked, "{place}: {done} s of work, not {asked}");
        assert!(asked > 0.0, "{place}");
    }
}

/// Runs a bundled workload twice, audited, to its end; both runs must give the same bytes.
fn run_twice(scheduler: &Arc<SchedExt>, machine: &Machine, workload: &str) {
    let workload = Workload::load(Path::new(workload)).unwrap_or_else(|error| panic!("{error}"));
    let fair = run_with(machine, &workload, &options(Scheduler::Fair));
    let options = options(Scheduler::SchedExt(scheduler.clone()));
    let report = audited_run(machine, &workload, &options);
    assert!(survived(&report).callbacks["dispatch"].calls > 0);
    assert!(!report.time_limited && !fair.time_limited);
    assert_same_work(&report, &fair);
    let again = run_with(machine, &workload, &options);
    let bytes = |report: &Report| serde_json::to_string(report).unwrap();
    assert_eq!(bytes(&report), bytes(&again));
}

fn run_everything(scheduler: &str) {
    let scheduler = open(scheduler, "");
    for machine in MACHINES.map(|name| Machine::load(name).unwrap_or_else(|error| panic!("{error}"))) {
        for (workload, _) in BUNDLED {
            run_twice(&scheduler, &machine, workload);
        }
    }
    // More CPUs than a word of a mask has bits.
    run_twice(&scheduler, &Machine::load("epyc-9554-2s").unwrap_or_else(|error| panic!("{error}")), "loops");
}

#[test]
fn scx_simple_runs_everything() {
    run_everything("scx_simple");
}

#[test]
fn scx_qmap_runs_everything() {
    run_everything("scx_qmap");
}

#[test]
fn scx_central_runs_everything() {
    run_everything("scx_central");
}

#[test]
fn scx_flatcg_runs_everything() {
    run_everything("scx_flatcg");
}
