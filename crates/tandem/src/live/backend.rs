// SPDX-License-Identifier: GPL-2.0-only
//! The two ways of acting: a scheduler in the kernel, or affinities and clocks.

use std::collections::BTreeSet;
use std::path::Path;

use tandem_live::changes::Journal;
use tandem_live::host::Host;
use tandem_live::machine::Machine;
use tandem_live::plan::{self, Plan};
use tandem_live::process::{threads, tree};
use tandem_live::{Exit, LiveError, Scheduler, kernel};

use super::say;
use super::session::{Gone, ROOT, open};
use crate::bundled;
use crate::failure::Failure;

/// What acts.
#[derive(Debug)]
pub enum Backend {
    /// A loaded scheduler.
    SchedExt(Box<Scheduler>),
}

impl Backend {
    /// Loads what the plan asks for; it does not act yet.
    pub fn prepare(
        plan: &Plan,
        _host: &Host,
        settings: &[(String, String)],
        _journal: &mut Journal,
    ) -> Result<Self, Failure> {
        match plan.backend {
            plan::Backend::SchedExt => {
                // The governors may have been changed just now.
                let machine = Machine::running().map_err(|error| not_started(&error))?;
                load(&machine, settings)
            }
            plan::Backend::Affinity => Err(Failure::NotStarted("not yet".to_owned())),
        }
    }

    /// Loads it anew.
    pub fn reload(&mut self, machine: &Machine, settings: &[(String, String)]) -> Result<(), Failure> {
        match self {
            Self::SchedExt(scheduler) => {
                scheduler.detach();
                *self = load(machine, settings)?;
            }
        }
        Ok(())
    }

    /// Begins to act.
    pub fn attach(&mut self) -> Result<(), Failure> {
        match self {
            Self::SchedExt(scheduler) => scheduler.attach().map_err(|error| not_started(&error)),
        }
    }

    /// Ends it; how the scheduler says that it ended.
    pub fn detach(&mut self) -> Option<Exit> {
        match self {
            Self::SchedExt(scheduler) => {
                scheduler.detach();
                scheduler.exit()
            }
        }
    }

    /// Makes a process and all that descends from it an application.
    pub fn enter(&mut self, process: u32, number: u32) -> Result<(), String> {
        match self {
            Self::SchedExt(scheduler) => {
                enter(scheduler, process, number).map_err(|error| error.to_string())
            }
        }
    }

    /// Says how long a thread is.
    pub fn hint(&mut self, thread: u32, length: u64) -> Result<(), String> {
        match self {
            Self::SchedExt(scheduler) => scheduler.hint(thread, length).map(drop).map_err(|error| error.to_string()),
        }
    }

    /// Takes that back.
    pub fn forget(&mut self, thread: u32) {
        match self {
            Self::SchedExt(scheduler) => scheduler.forget(thread),
        }
    }

    /// Looks whether it still acts; how it ended if it does not.
    pub fn tick(&mut self) -> Result<Option<Gone>, Failure> {
        match self {
            Self::SchedExt(scheduler) => {
                let state = kernel::state().unwrap_or_else(|| "absent".to_owned());
                let is_ours = || kernel::scheduler().is_none_or(|name| name == bundled::NAME);
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
        }
    }

    /// The mechanisms' states, by name.
    pub fn states(&self) -> Vec<(String, String)> {
        match self {
            Self::SchedExt(scheduler) => scheduler.states(),
        }
    }

    /// What was counted, by name.
    pub fn counters(&self) -> Vec<(String, u64)> {
        match self {
            Self::SchedExt(scheduler) => scheduler.counters(),
        }
    }
}

/// Enters processes, then their threads: in this order what they start meanwhile is known, too, but for processes of which
/// a parent was not entered yet. So those are looked for until there are none.
fn enter(scheduler: &Scheduler, first: u32, number: u32) -> Result<(), LiveError> {
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

fn load(machine: &Machine, settings: &[(String, String)]) -> Result<Backend, Failure> {
    let scheduler = open(machine, settings)?.load().map_err(|error| not_started(&error))?;
    for missing in scheduler.uncounted() {
        say(&format!("note: no counter for {}, on CPU {} at least: {}", missing.map, missing.cpu, missing.why));
    }
    Ok(Backend::SchedExt(Box::new(scheduler)))
}

fn not_started(error: &LiveError) -> Failure {
    match error {
        // Settings that contradict each other, or the machine.
        LiveError::Problem { .. } | LiveError::Setting { .. } => Failure::Options(error.to_string()),
        _ => Failure::NotStarted(error.to_string()),
    }
}
