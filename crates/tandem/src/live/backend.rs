// SPDX-License-Identifier: GPL-2.0-only
//! The two ways of acting: a scheduler in the kernel, or affinities and clocks.

use std::collections::BTreeSet;
use std::path::Path;

use tandem_live::affinity::{Affinity, AffinityError, AffinityRequest};
use tandem_live::changes::{Journal, Restored};
use tandem_live::host::Host;
use tandem_live::machine::Machine;
use tandem_live::plan::{self, Plan};
use tandem_live::process::{threads, tree};
use tandem_live::{Exit, LiveError, LoadedScheduler, kernel};

use super::say;
use super::session::{Gone, ROOT, open};
use crate::bundled;
use crate::failure::Failure;

/// What acts, and what it has changed of the machine.
#[derive(Debug)]
pub enum Backend {
    /// A loaded scheduler. It goes first; what was changed for it is given back then.
    SchedExt(Box<LoadedScheduler>, Option<Journal>),
    /// Affinities and clocks, while there are any.
    Affinity(Option<Box<Affinity>>),
}

impl Backend {
    /// Loads what the plan asks for; it does not act yet.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn prepare(plan: &Plan, host: &Host, settings: &[(String, String)], journal: Journal) -> Result<Self, Failure> {
        match plan.backend {
            plan::Backend::SchedExt => {
                let scheduler = load(&host.machine, settings)?;
                // That the machine has none is in the plan's notes.
                if host.counters {
                    uncounted(&scheduler);
                }
                Ok(Self::SchedExt(Box::new(scheduler), Some(journal)))
            }
            plan::Backend::Affinity => {
                let request = AffinityRequest::from_settings(settings);
                let request = request.map_err(|error| Failure::Options(error.to_string()))?;
                let started = Affinity::start(host, &request, journal);
                let affinity = started.map_err(|error| Failure::NotStarted(error.to_string()))?;
                Ok(Self::Affinity(Some(Box::new(affinity))))
            }
        }
    }

    /// Loads it anew, for a machine that has changed.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn reload(&mut self, machine: &Machine, settings: &[(String, String)]) -> Result<(), Failure> {
        if let Self::SchedExt(scheduler, _) = self {
            scheduler.detach();
            **scheduler = load(machine, settings)?;
        }
        Ok(())
    }

    /// Begins to act.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(&mut self) -> Result<(), Failure> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.attach().map_err(|error| not_started(&error)),
            Self::Affinity(_) => Ok(()),
        }
    }

    /// Ends it: how the scheduler says that it ended, and what became of the changes.
    pub fn give_back(&mut self) -> (Option<Exit>, Option<Restored>) {
        match self {
            Self::SchedExt(scheduler, journal) => {
                scheduler.detach();
                (scheduler.exit(), journal.take().map(Journal::restore))
            }
            Self::Affinity(affinity) => (None, affinity.take().map(|affinity| affinity.stop())),
        }
    }

    /// Makes a process and all that descends from it an application.
    ///
    /// # Errors
    /// In words.
    pub fn enter(&mut self, process: u32, number: u32) -> Result<(), String> {
        match self {
            Self::SchedExt(scheduler, _) => enter(scheduler, process, number).map_err(|error| error.to_string()),
            Self::Affinity(Some(affinity)) => match affinity.enter_application(process) {
                Ok(true) => Ok(()),
                Ok(false) => Err(format!("there is no process {process}")),
                Err(error) => Err(error.to_string()),
            },
            Self::Affinity(None) => Ok(()),
        }
    }

    /// Says how long a thread is.
    ///
    /// # Errors
    /// In words.
    pub fn hint(&mut self, thread: u32, length: u64) -> Result<(), String> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.hint(thread, length).map(drop).map_err(|error| error.to_string()),
            Self::Affinity(Some(affinity)) => match affinity.hint(thread, length) {
                Ok(heeded) => heeded.map_err(|not| not.to_string()),
                Err(error) => Err(error.to_string()),
            },
            Self::Affinity(None) => Ok(()),
        }
    }

    /// Takes that back.
    pub fn forget(&mut self, thread: u32) {
        // The other one sees for itself who has ended.
        if let Self::SchedExt(scheduler, _) = self {
            scheduler.forget(thread);
        }
    }

    /// Looks after it, and whether it still acts; how it ended if it does not.
    ///
    /// # Errors
    /// What is changed cannot be written down any more.
    pub fn tick(&mut self) -> Result<Option<Gone>, Failure> {
        let Self::SchedExt(scheduler, _) = self else {
            let Self::Affinity(Some(affinity)) = self else { return Ok(None) };
            return affinity.tick().map(|()| None).map_err(|error: AffinityError| Failure::System(error.to_string()));
        };
        let state = kernel::state().unwrap_or_else(|| "absent".to_owned());
        let is_ours = || kernel::scheduler().is_none_or(|name| name == bundled::TANDEM.name);
        if state == "enabled" && is_ours() {
            return Ok(None);
        }
        // It writes its record just before the kernel is done with it.
        Ok(match scheduler.exit() {
            Some(exit) => Some(Gone::Recorded(exit)),
            None if state == "disabling" => None,
            None => Some(Gone::Silent(state)),
        })
    }

    /// The mechanisms' states, by name.
    pub fn states(&self) -> Vec<(String, String)> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.states(),
            Self::Affinity(affinity) => affinity.as_ref().map(|affinity| affinity.states()).unwrap_or_default(),
        }
    }

    /// What was counted, by name.
    pub fn counters(&self) -> Vec<(String, u64)> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.counters(),
            Self::Affinity(affinity) => affinity.as_ref().map(|affinity| affinity.counters()).unwrap_or_default(),
        }
    }
}

/// Enters processes, then their threads: in this order what they start meanwhile is known, too, but for processes of which
/// a parent was not entered yet. So those are looked for until there are none.
fn enter(scheduler: &LoadedScheduler, first: u32, number: u32) -> Result<(), LiveError> {
    let (root, mut entered) = (Path::new(ROOT), BTreeSet::new());
    let mut found = tree(root, first);
    while !found.is_empty() {
        for process in &found {
            scheduler.enter_application(*process, number)?;
        }
        for thread in found.iter().flat_map(|process| threads(root, *process)) {
            scheduler.adopt(thread, number)?;
        }
        entered.append(&mut found);
        found = &tree(root, first) - &entered;
    }
    Ok(())
}

fn load(machine: &Machine, settings: &[(String, String)]) -> Result<LoadedScheduler, Failure> {
    open(machine, settings)?.load().map_err(|error| not_started(&error))
}

/// Says which performance counters cannot be had.
fn uncounted(scheduler: &LoadedScheduler) {
    for missing in scheduler.uncounted() {
        say(&format!("note: no counter for {}, on CPU {} at least: {}", missing.map, missing.cpu, missing.why));
    }
}

fn not_started(error: &LiveError) -> Failure {
    match error {
        // Settings that contradict each other, or the machine.
        LiveError::Problem { .. } | LiveError::Setting { .. } => Failure::Options(error.to_string()),
        _ => Failure::NotStarted(error.to_string()),
    }
}
