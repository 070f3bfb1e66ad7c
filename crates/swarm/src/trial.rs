// SPDX-License-Identifier: MIT OR Apache-2.0
//! One case is tried: it must run, be refused, or end in an ejection, keep every invariant, and do the same again.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{NoObserver, Observer};
use tandem_simulator::simulation::{Audit as SelfAudit, Bpf, Options, Scheduler, SimulationError, simulate};
use tandem_simulator::trace::TraceWriter;
use tandem_simulator::units::seconds;
use tandem_simulator::why::Recorder;
use tandem_simulator::workload::Workload;

use crate::objects::Objects;
use crate::panics::{Panic, caught};
use crate::random::any_hotplug::possible;
use crate::random::any_workload::work_asked;
use crate::random::audit::Audit;
use crate::random::case::Case;
use crate::random::schedulers::SchedulerPlan;

/// Schedulers that make no mistakes: only a stall may end them, which real-time threads can cause, or a CPU that comes or
/// goes while it may not be asked.
const FAULTLESS: [&str; 4] = ["scx_simple", "single", "o1", "tandem"];

/// Events and decisions that a case may take: tens of times what most take, and few enough for the largest machines.
const MOST_STEPS: u64 = 250_000;

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// This was refused: the machine, the workload, the scheduler's object, or loading it.
    Refused(&'static str),
    /// The case ran.
    Ran {
        /// Simulated seconds.
        simulated_s: f64,
        /// Whether the scheduler was ejected.
        ejected: bool,
    },
    /// The case ran until it was clear that it cannot go on.
    Stuck,
    /// The case was given up while its time went on: a timer of a nanosecond, say, takes ten thousand million steps in 10 s.
    Unfinished,
}

/// Tries a case.
///
/// # Errors
/// A panic, or an assertion that does not hold.
pub fn tried(case: &Case, objects: &Objects) -> Result<Outcome, Panic> {
    caught(|| outcome(case, objects))
}

fn outcome(case: &Case, objects: &Objects) -> Outcome {
    let Ok(machine) = case.machine.build() else { return Outcome::Refused("machine refused") };
    let Some(workload) = case.workload.build() else { return Outcome::Refused("workload refused") };
    let Ok(scheduler) = case.scheduler.build(objects) else { return Outcome::Refused("object refused") };
    let hotplug = possible(&machine, case.hotplug.clone());
    let options =
        Options { bpf: Bpf::Compiled, scheduler, hotplug, time_limit: Some(case.limit), ..case.options.clone() };
    let mut audit = Audit::with_hotplug(&machine, &workload, &options.hotplug);
    let checked = Options { audit: Some(SelfAudit { most_steps: MOST_STEPS }), ..options.clone() };
    let watched = simulate(&machine, &workload, &checked, &mut audit);
    if let Ok(report) = &watched {
        audit.check(report);
        check_work(case, report);
        check_exit(case, objects, report);
    }
    if let Err(SimulationError::Unfinished { .. }) = watched {
        return Outcome::Unfinished;
    }
    check_again(&machine, &workload, &options, &watched);
    if matches!(options.scheduler, Scheduler::SchedExt(_)) {
        let interpreted =
            bytes(&simulate(&machine, &workload, &Options { bpf: Bpf::Interpreter, ..options }, &mut NoObserver));
        let compiled = bytes(&watched);
        assert!(interpreted == compiled, "interpreted, {}", difference(&compiled, &interpreted));
    }
    match watched {
        Ok(report) => {
            let ejected = report.sched_ext.is_some_and(|scx| scx.exit.is_some());
            Outcome::Ran { simulated_s: report.time_s, ejected }
        }
        Err(SimulationError::Stuck { waiters, .. }) => {
            assert!(!waiters.is_empty(), "a run is stuck, but no thread waits");
            Outcome::Stuck
        }
        Err(SimulationError::NoProgress { .. } | SimulationError::TooManyThreads { .. }) => Outcome::Stuck,
        Err(SimulationError::Scheduler { .. } | SimulationError::ForkRefused { .. }) => {
            Outcome::Refused("load refused")
        }
        Err(error) => panic!("no case asks for this: {error}"),
    }
}

/// All work was done by threads that ended by themselves.
fn check_work(case: &Case, report: &Report) {
    let Some(workload) = case.workload.ends().filter(|_| !report.time_limited) else { return };
    let done: f64 = report.apps.iter().map(|app| app.work_s).sum();
    let asked = seconds(work_asked(workload));
    assert!((done - asked).abs() <= 1e-12 + 1e-6 * asked, "asked {asked} s of work, done {done}");
}

/// SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG: Tandem with mechanisms ends itself as a CPU comes or goes, to be loaded again.
const RESTART_FOR_HOTPLUG: i64 = 1 << 48 | 1 << 32;

/// Nothing but a stall or a CPU ends a scheduler that makes no mistakes.
fn check_exit(case: &Case, objects: &Objects, report: &Report) {
    let SchedulerPlan::Loaded { object, mutations, .. } = &case.scheduler else { return };
    let exit = report.sched_ext.as_ref().and_then(|scx| scx.exit.as_ref());
    let Some(exit) = exit.filter(|_| mutations.is_empty() && FAULTLESS.contains(&objects.0[*object].name)) else {
        return;
    };
    let asks_again = exit.kind == "SCX_EXIT_UNREG_BPF" && exit.code == RESTART_FOR_HOTPLUG;
    let harmless = asks_again || matches!(exit.kind.as_str(), "SCX_EXIT_ERROR_STALL" | "SCX_EXIT_UNREG_KERN");
    assert!(harmless, "{}: {}: {}", exit.kind, exit.reason, exit.message);
}

/// The same comes out again, unwatched, under a trace, and with its waits explained.
fn check_again(machine: &Machine, workload: &Workload, options: &Options, watched: &Result<Report, SimulationError>) {
    let expected = bytes(watched);
    let again = |observer: &mut dyn Observer| bytes(&simulate(machine, workload, options, observer));
    let unwatched = again(&mut NoObserver);
    assert!(unwatched == expected, "unwatched, {}", difference(&expected, &unwatched));
    let mut trace = TraceWriter::new(std::io::sink(), machine, &workload.applications);
    let traced = again(&mut trace);
    assert!(traced == expected, "under a trace, {}", difference(&expected, &traced));
    let mut recorder = Recorder::new(machine, workload, 3);
    let explained = again(&mut recorder);
    assert!(explained == expected, "with waits explained, {}", difference(&expected, &explained));
    let end_s = watched.as_ref().map_or(0.0, |report| report.time_s);
    drop(recorder.finish(end_s));
}

fn bytes(result: &Result<Report, SimulationError>) -> String {
    match result {
        Ok(report) => serde_json::to_string(report).unwrap_or_else(|error| panic!("a report is plain data: {error}")),
        Err(error) => format!("{error:?}"),
    }
}

/// Where two texts begin to differ.
fn difference(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[same.saturating_sub(40).min(text.len())..(same + 60).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!("another result comes out: …{}… and …{}…", around(one), around(other))
}
