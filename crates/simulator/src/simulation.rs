// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running a workload on a machine: options in, report out.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand_pcg::Pcg32;
pub use tandem_bpf_vm::memory::{Budget, OverBudget};
use tandem_loader::facts;
use tandem_loader::steering::Domain;

use crate::engine::{Engine, steering};
pub use crate::error::{SimulationError, Waiter};
use crate::kernel::Kernel;
pub use crate::kernel::cpufreq::{
    ConservativeTunables, Epp, Governor, GovernorError, NotOffered, OndemandTunables, PstateTunables, SchedutilTunables,
};
pub use crate::kernel::params::{KernelParameters, SettingError};
pub use crate::kernel::release::{Linux, Preempt, Release};
use crate::machine::Machine;
use crate::metrics::Report;
use crate::observer::Observer;
pub use crate::options::{Audit, Bpf, Hotplug, Options, Scheduler, UnknownBpf, UnknownScheduler};
pub use crate::scx::abi::profile::{Profile, UnknownProfile};
use crate::scx::frontend;
pub use crate::scx::frontend::SchedulerError;
pub use crate::scx::frontend::listing::{Callback, Listing, MapListing, Needed, UnresolvedListing, VariableListing};
pub use crate::scx::frontend::scheduler::{OpenError, SchedExt};
use crate::units::{Nanos, SEC, seconds};
use crate::workload::{Op, Workload};

/// Time limit of a workload that neither ends by itself nor has a duration.
const ENDLESS_LIMIT: Nanos = 10 * SEC;

/// Runs `workload` on `machine`.
///
/// The same inputs give the same report, to the last bit. A run that finds too little memory because of others beside it
/// begins again once they are through, alone, if `observer` allows it.
///
/// # Errors
/// See [`SimulationError`].
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, SimulationError> {
    let limited = options.time_limit.is_some() || workload.duration.is_some();
    let endless = if limited { None } else { never_ends(workload) };
    let options = &Options {
        time_limit: endless.map(|_| ENDLESS_LIMIT).or(options.time_limit),
        governor: options.governor.on(machine)?,
        ..options.clone()
    };
    let keeps_house = |cpu: &u32| !options.kernel.nohz_full.contains(cpu);
    let housekeepers = || machine.online().map(|cpu| cpu.0).filter(keeps_house).collect::<Vec<_>>();
    let disturbed = options.kernel.disturbances.then(|| workload.disturbed(&housekeepers()));
    let workload = disturbed.as_ref().unwrap_or(workload);
    let beside = options.memory.beside();
    let mut result = run(machine, workload, options, observer);
    drop(beside);
    if let Err(SimulationError::Memory(over)) = &result
        && over.others > 0
        && observer.may_begin_again()
    {
        let _alone = options.memory.alone();
        result = run(machine, workload, options, observer);
    }
    let mut report = result?;
    if let Some(why) = endless {
        let limit = seconds(ENDLESS_LIMIT);
        report.warnings.push(format!("{why} and no duration is given: ended after {limit} s"));
    }
    Ok(report)
}

fn run(
    machine: &Machine,
    workload: &Workload,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, SimulationError> {
    let mut engine = Engine::new(machine, workload, options, observer);
    engine.run()?;
    Ok(engine.report())
}

/// Whether the scheduler of a run can be loaded and accepts its settings on this machine, as [`simulate`] asks it first of
/// all.
///
/// # Errors
/// [`SimulationError::Scheduler`], [`SimulationError::Governor`].
pub fn check(machine: &Machine, options: &Options) -> Result<(), SimulationError> {
    let governor = options.governor.on(machine)?;
    let Scheduler::SchedExt(scheduler) = &options.scheduler else { return Ok(()) };
    let named = |why| SimulationError::Scheduler { scheduler: scheduler.name.clone(), why: Box::new(why) };
    let account = options.memory.open();
    let result = frontend::check::on_machine(scheduler, machine, &options.kernel, governor, options.seed, &account);
    result.map_err(|why| account.refused().map_or_else(|| named(why), SimulationError::Memory))
}

/// What a scheduler's loader finds out about a machine before it loads an object into a run with these options.
pub fn facts(machine: &Machine, options: &Options) -> facts::System {
    let kernel = Kernel::new(machine, options.kernel.clone(), Pcg32::seed_from_u64(options.seed));
    let governor = options.governor.on(machine).unwrap_or(options.governor);
    frontend::facts::System { kernel: &kernel, machine, governor }.known()
}

/// The clocks of a machine that a slow loop steers beside a scheduler with a mode, and what is known of each: those that the driver
/// leaves to the processor.
pub fn steered_clocks(machine: &Machine, governor: Governor) -> Vec<Domain> {
    let governor = governor.on(machine).unwrap_or(governor);
    steering::steerable(machine, governor).into_iter().map(|(_, domain)| domain).collect()
}

/// Why no thread's end would end the run: some application thread loops for ever, or forks threads for ever that fork
/// again; or there is nothing but system tasks, whose end ends nothing.
fn never_ends(workload: &Workload) -> Option<&'static str> {
    let endless = |op: &Op| matches!(op, Op::LoopStart { count: None, .. });
    let starts: Vec<usize> = (0..workload.tasks.len()).filter(|kind| workload.tasks[*kind].instances > 0).collect();
    let kinds = forked_by(workload, &starts);
    let mut applications = kinds.iter().filter(|kind| !workload.tasks[**kind].system).peekable();
    if applications.peek().is_none() {
        return (!starts.is_empty()).then_some("there are only system tasks");
    }
    let forks_itself = |kind: usize| forked_by(workload, &forks(workload, kind)).contains(&kind);
    applications
        .any(|kind| workload.tasks[*kind].program.iter().any(endless) || forks_itself(*kind))
        .then_some("some thread never ends")
}

/// The kinds that threads of `kind` fork.
fn forks(workload: &Workload, kind: usize) -> Vec<usize> {
    let forked = |op: &Op| match op {
        Op::Fork(kind) => Some(*kind as usize),
        _ => None,
    };
    workload.tasks[kind].program.iter().filter_map(forked).collect()
}

/// `starts` and all kinds that come of them by forks.
fn forked_by(workload: &Workload, starts: &[usize]) -> BTreeSet<usize> {
    let mut known = BTreeSet::new();
    let mut open = starts.to_vec();
    while let Some(kind) = open.pop() {
        if known.insert(kind) {
            open.extend(forks(workload, kind));
        }
    }
    known
}
