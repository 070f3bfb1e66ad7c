// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two ways of acting: a scheduler in the kernel, or affinities and clocks.

use std::time::Instant;

use super::error::SessionError;
use super::gone::Gone;
use super::notice::{Listener, Notice};
use super::site::{Loaded, Site};
use crate::affinity::{Affinity, AffinityRequest};
use crate::changes::{Journal, Restored};
use crate::host::Host;
use crate::machine::Machine;
use crate::plan::{Backend, Plan};
use crate::{Exit, LiveError, kernel};

/// Why affinities take no length in advance.
const UNSEEN: &str =
    "without sched_ext nothing tells which thread another one creates: that thread has to say itself how long it is";

/// What acts, and what it has changed of the machine.
#[derive(Debug)]
pub(super) enum Actor {
    /// A loaded scheduler. It goes first; what was changed for it is given back then.
    SchedExt(Box<dyn Loaded>, Option<Journal>),
    /// Affinities and clocks, until they are given back.
    Affinity(Option<Box<Affinity>>),
}

impl Actor {
    /// Loads what the plan asks for; it does not act yet.
    pub(super) fn prepare(
        site: &Site,
        plan: &Plan,
        host: &Host,
        settings: &[(String, String)],
        journal: Journal,
        listener: &mut dyn Listener,
    ) -> Result<Self, SessionError> {
        match plan.backend {
            Backend::SchedExt => {
                let scheduler = site.kernel.load(&host.machine, settings)?;
                scheduler.left_out().iter().for_each(|part| listener.hear(Notice::LeftOut(part)));
                // That the machine has none is in the plan's notes.
                if host.counters {
                    scheduler.uncounted().iter().for_each(|missing| listener.hear(Notice::Uncounted(missing)));
                }
                Ok(Self::SchedExt(scheduler, Some(journal)))
            }
            Backend::Affinity => {
                let request = AffinityRequest::from_settings(settings).map_err(SessionError::AffinitySetting)?;
                let affinity = Affinity::start(host, &request, journal).map_err(SessionError::Affinity)?;
                Ok(Self::Affinity(Some(Box::new(affinity))))
            }
        }
    }

    /// Loads the scheduler anew, for a machine that has changed.
    pub(super) fn reload(
        &mut self,
        site: &Site,
        machine: &Machine,
        settings: &[(String, String)],
    ) -> Result<(), SessionError> {
        if let Self::SchedExt(scheduler, _) = self {
            scheduler.detach();
            *scheduler = site.kernel.load(machine, settings)?;
        }
        Ok(())
    }

    /// Begins to act.
    pub(super) fn attach(&mut self) -> Result<(), SessionError> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.attach().map_err(SessionError::Load),
            Self::Affinity(_) => Ok(()),
        }
    }

    /// Stops acting: how the scheduler says that it ended, and what became of the changes.
    pub(super) fn give_back(&mut self) -> (Option<Exit>, Option<Restored>) {
        match self {
            Self::SchedExt(scheduler, journal) => {
                scheduler.detach();
                (scheduler.exit(), journal.take().map(Journal::restore))
            }
            Self::Affinity(affinity) => (None, affinity.take().map(|affinity| affinity.stop())),
        }
    }

    /// Makes a process an application; what it starts from now on belongs to it. What it has started before, a
    /// [`scheduler`](Self::scheduler) is still to be told. An error is words for who asked.
    pub(super) fn enter(&mut self, process: u32, number: u32) -> Result<(), String> {
        match self {
            Self::SchedExt(scheduler, _) => match scheduler.enter_application(process, number) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("the scheduler does not take another application: {error}")),
            },
            Self::Affinity(Some(affinity)) => match affinity.enter_application(process) {
                Ok(true) => Ok(()),
                Ok(false) => Err(format!("there is no process {process}")),
                Err(error) => Err(error.to_string()),
            },
            Self::Affinity(None) => Ok(()),
        }
    }

    /// The scheduler that acts, and the journal of what was changed for it.
    pub(super) fn steerable(&mut self) -> Option<(&dyn Loaded, &mut Journal)> {
        match self {
            Self::SchedExt(scheduler, Some(journal)) => Some((&**scheduler, journal)),
            _ => None,
        }
    }

    /// The scheduler to which applications are told.
    pub(super) fn scheduler(&self) -> Option<&dyn Loaded> {
        match self {
            Self::SchedExt(scheduler, _) => Some(scheduler.as_ref()),
            Self::Affinity(_) => None,
        }
    }

    /// Says how long a thread is. An error is words for who asked.
    pub(super) fn hint(&mut self, thread: u32, length: u64) -> Result<(), String> {
        match self {
            Self::SchedExt(scheduler, _) => {
                scheduler.hint(thread, length).map(drop).map_err(|error| no_other_length(&error))
            }
            Self::Affinity(Some(affinity)) => match affinity.hint(thread, length) {
                Ok(heeded) => heeded.map_err(|not| not.to_string()),
                Err(error) => Err(error.to_string()),
            },
            Self::Affinity(None) => Ok(()),
        }
    }

    /// Says how long the next thread is that a thread creates. An error is words for who asked.
    pub(super) fn hint_next(&self, thread: u32, length: u64) -> Result<(), String> {
        let Self::SchedExt(scheduler, _) = self else { return Err(UNSEEN.to_owned()) };
        scheduler.hint_next(thread, length).map(drop).map_err(|error| no_other_length(&error))
    }

    /// Takes back what was said of a thread that has ended.
    pub(super) fn forget(&mut self, thread: u32) {
        // Affinities look for threads that have ended themselves.
        if let Self::SchedExt(scheduler, _) = self {
            scheduler.forget(thread);
        }
    }

    /// Looks after what acts; how it ended if it does not act any more. An error: what is changed cannot be written down.
    pub(super) fn tick(&mut self, site: &Site, now: Instant) -> Result<Option<Gone>, SessionError> {
        let Self::SchedExt(scheduler, _) = self else {
            let Self::Affinity(Some(affinity)) = self else { return Ok(None) };
            return affinity.tick_at(now).map(|()| None).map_err(SessionError::Affinity);
        };
        let state = kernel::state_below(&site.root).unwrap_or_else(|| "absent".to_owned());
        let is_ours = || kernel::scheduler_below(&site.root).is_none_or(|name| name == site.kernel.scheduler());
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
    pub(super) fn states(&self) -> Vec<(String, String)> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.states(),
            Self::Affinity(affinity) => affinity.as_ref().map(|affinity| affinity.states()).unwrap_or_default(),
        }
    }

    /// What was counted, by name.
    pub(super) fn counters(&self) -> Vec<(String, u64)> {
        match self {
            Self::SchedExt(scheduler, _) => scheduler.counters(),
            Self::Affinity(affinity) => affinity.as_ref().map(|affinity| affinity.counters()).unwrap_or_default(),
        }
    }
}

/// What is said where a hint finds no room.
fn no_other_length(error: &LiveError) -> String {
    format!("the scheduler does not take another length: {error}")
}
