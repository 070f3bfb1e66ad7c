// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler that the command carries, with settings; workloads; audited runs.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Options, Scheduler, simulate};
use tandem_simulator::workload::bundled::BUNDLED;
use tandem_simulator::workload::{Op, Workload};

use super::support::audit::Audit;

use crate::schedulers::{carried, opened};

/// The mechanisms.
pub const MECHANISMS: [&str; 5] = ["isolate=shared", "longest=true", "serial_first=true", "sorted=true", "speed=true"];

/// Those of `MECHANISMS` whose bit is set in `number`.
pub fn combination(number: u32) -> String {
    let on = MECHANISMS.iter().enumerate().filter(|(bit, _)| number >> bit & 1 != 0);
    on.map(|(_, setting)| *setting).collect::<Vec<_>>().join(",")
}

/// Tandem with settings, as in `longest=true,sorted=true`; none: everything off. Opened once for each, as compiled code is kept.
#[track_caller]
pub fn tandem(settings: &str) -> Scheduler {
    let comma = if settings.is_empty() { "" } else { "," };
    open(&format!("{}{comma}{settings}", carried("tandem").display()))
}

/// A scheduler by its file.
#[track_caller]
pub fn open(text: &str) -> Scheduler {
    Scheduler::SchedExt(opened(text))
}

/// A bundled machine.
#[track_caller]
pub fn machine(name: &str) -> Machine {
    Machine::load(name).unwrap_or_else(|error| panic!("{error}"))
}

/// The bundled workloads, with an n-th of their rounds: loops of 10 rounds or more.
pub fn workloads(nth: u64) -> Vec<Workload> {
    BUNDLED.iter().map(|(name, _)| shortened(name, nth)).collect()
}

fn shortened(name: &str, nth: u64) -> Workload {
    let mut workload = Workload::load(Path::new(name)).unwrap_or_else(|error| panic!("{error}"));
    for op in workload.tasks.iter_mut().flat_map(|task| &mut task.program) {
        if let Op::LoopStart { count: Some(count), .. } = op
            && *count >= 10
        {
            *count /= nth;
        }
    }
    workload
}

/// Options with a scheduler; all else as the command has it.
pub fn options(scheduler: Scheduler, seed: u64) -> Options {
    Options { scheduler, seed, ..Options::default() }
}

/// A run before an auditor, who checks that nobody runs where it must not or twice at a time, that each CPU's time and
/// energy are accounted for, and that application threads end. The scheduler must live to the end, which it does not
/// where the watchdog finds a thread that has waited for 30 s.
#[track_caller]
pub fn audited_run(machine: &Machine, workload: &Workload, options: &Options) -> Report {
    let mut audit = Audit::with_hotplug(machine, workload, &options.hotplug);
    let report = simulate(machine, workload, options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
    audit.check(&report);
    assert_lived(&report);
    report
}

/// The scheduler was not ejected. Where a CPU came or went its loader may be about to load it again.
#[track_caller]
pub fn assert_lived(report: &Report) {
    // SCX_ECODE_ACT_RESTART, SCX_ECODE_RSN_HOTPLUG.
    const HOTPLUG: i64 = 1 << 48 | 1 << 32;
    let exit = report.sched_ext.as_ref().and_then(|scheduler| scheduler.exit.as_ref());
    let exit = exit.filter(|exit| exit.code != HOTPLUG);
    assert!(exit.is_none(), "{} on {} under {}: {exit:?}", report.workload, report.machine, report.scheduler);
}

/// Each application has done the same work as in another run.
#[track_caller]
pub fn assert_same_work(report: &Report, other: &Report) {
    assert!(!report.time_limited && !other.time_limited);
    assert_eq!(report.apps.len(), other.apps.len());
    for (app, other) in report.apps.iter().zip(&other.apps) {
        let (done, asked) = (app.work_s, other.work_s);
        let place = format!("{} of {} on {} under {}", app.name, report.workload, report.machine, report.scheduler);
        assert!((done - asked).abs() <= 1e-9 + 1e-6 * asked, "{place}: {done} s of work, not {asked}");
        assert!(asked > 0.0, "{place}");
    }
}
