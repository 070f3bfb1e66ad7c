// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session: from the facts over the plan to a scheduler that runs, and back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use nix::fcntl::Flock;

use super::actor::Actor;
use super::error::SessionError;
use super::gone::Gone;
use super::lock::lock;
use super::notice::{Listener, Notice};
use super::site::Site;
use crate::changes::{Journal, restore_left_behind};
use crate::control::Peer;
use crate::control::hints::Hints;
use crate::control::rights::{spoken_for, spoken_for_process};
use crate::host::Host;
use crate::meter::{Measured, Meters};
use crate::metrics::Snapshot;
use crate::plan::{Plan, SessionRequest, clause};
use crate::{Exit, kernel};

/// How often a scheduler is loaded again within a minute because CPUs come and go: one that asks for more is taken to be broken.
const MOST_RELOADS: usize = 20;
/// How often a session looks after things.
pub const TICK: Duration = Duration::from_millis(200);

/// A process that was said to be an application, with all that descends from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// First process of the application.
    pub process: u32,
    /// Number of the application, from 1.
    pub number: u32,
    /// The name of that process when it was entered.
    pub name: String,
}

/// What became of a mechanism.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MechanismState {
    /// The name that the scheduler has for the mechanism's state: `isolate_state`.
    pub name: String,
    /// The name that it has for the value: `active`, `one_kind`.
    pub state: String,
    /// Why the mechanism is inert, if it is and that is known.
    pub why: Option<String>,
}

/// A session. Whatever ends it, a panic included, the machine is given back: each part does so when it is dropped, and the
/// parts stand in the order in which they have to go. After `kill -9` the kernel takes the scheduler away, and the journal
/// stays, for `tandem restore` or the next session.
#[derive(Debug)]
pub struct Session<'s> {
    // What is dropped first stands first.
    actor: Actor,
    /// No other session may begin.
    _lock: Flock<File>,
    site: &'s Site,
    /// The facts, as they were when it began.
    pub host: Host,
    /// What was decided.
    pub plan: Plan,
    /// Settings of the scheduler.
    pub settings: Vec<(String, String)>,
    /// Applications, in the order in which they came.
    pub applications: Vec<Application>,
    /// When it began.
    pub since: SystemTime,
    /// When it was loaded again, and why.
    pub reloads: Vec<(Instant, Exit)>,
    meters: Meters,
    sampled: Instant,
    /// What everybody may know of the latest sample that was taken in its time; `None` before the first one.
    public: Option<Measured>,
    hints: Hints,
    lengths: BTreeMap<u32, u64>,
}

impl<'s> Session<'s> {
    /// Prepares everything: what is still to be done is [`Session::attach`].
    ///
    /// # Errors
    /// A mistake in a setting; it cannot be done here; another session runs; the kernel refuses the scheduler.
    pub fn begin(
        site: &'s Site,
        request: &SessionRequest,
        now: Instant,
        listener: &mut dyn Listener,
    ) -> Result<Self, SessionError> {
        let host = site.host()?;
        // A mistake is one on any machine, and for anybody.
        site.kernel.check(&host.machine, &request.settings)?;
        let lock = match lock(&site.folder) {
            // Who is not root learns what else is missing, too, and not that a folder cannot be made.
            Err(error) if is_denied(&error) => Plan::for_host(&host, request).map(|_| Err(error))?,
            locked => locked,
        }?;
        for (owner, restored) in restore_left_behind(site.system(), &site.folder)? {
            listener.hear(Notice::LeftBehind(&owner, &restored));
        }
        // What was given back just now are facts that have changed.
        let host = site.host()?;
        let plan = Plan::for_host(&host, request)?;
        let mut journal = Journal::begin(site.system(), &site.folder)?;
        for change in &plan.changes {
            journal.apply(change)?;
        }
        plan.notes.iter().for_each(|note| listener.hear(Notice::Note(note)));
        // Governors are facts, too.
        let host = if plan.changes.is_empty() { host } else { site.host()? };
        let settings = request.settings.clone();
        let actor = Actor::prepare(site, &plan, &host, &settings, journal, listener)?;
        Ok(Self {
            actor,
            _lock: lock,
            site,
            host,
            plan,
            settings,
            applications: Vec::new(),
            since: SystemTime::now(),
            reloads: Vec::new(),
            meters: Meters::find_with(&site.root, site.energy.as_ref(), now),
            sampled: now,
            public: None,
            hints: Hints::default(),
            lengths: BTreeMap::new(),
        })
    }

    /// Begins to act, and to measure.
    ///
    /// # Errors
    /// [`SessionError::Load`]: the kernel refuses.
    pub fn attach(&mut self, now: Instant) -> Result<(), SessionError> {
        self.actor.attach()?;
        self.since = SystemTime::now();
        self.meters.restart_at(self.meters.on_clock(now));
        (self.sampled, self.public) = (now, None);
        Ok(())
    }

    /// Says that a process and all that descends from it, now and later, is an application; its number.
    ///
    /// # Errors
    /// In words, for who asked.
    pub fn enter(&mut self, process: u32, name: &str) -> Result<u32, String> {
        if let Some(known) = self.applications.iter().find(|known| known.process == process && known.name == name) {
            return Ok(known.number);
        }
        let number = self.applications.iter().map(|known| known.number).max().unwrap_or(0) + 1;
        self.actor.enter(&self.site.root, process, number)?;
        self.applications.push(Application { process, number, name: name.to_owned() });
        Ok(number)
    }

    /// Enters an application as [`enter`](Self::enter) does, if `peer` may speak for the process.
    ///
    /// # Errors
    /// In words, for who asked.
    pub fn enter_for(&mut self, peer: Peer, process: u32) -> Result<u32, String> {
        let found = spoken_for_process(&self.site.root, peer, process).map_err(|denied| denied.to_string())?;
        self.enter(process, &found.name)
    }

    /// Says how long a thread is.
    ///
    /// # Errors
    /// `peer` may not, or there is no room; in words.
    pub fn hint(&mut self, peer: Peer, thread: u32, length: u64, now: Instant) -> Result<(), String> {
        let found = spoken_for(&self.site.root, peer, thread).map_err(|denied| denied.to_string())?;
        if let Err(full) = self.hints.enter(&found) {
            self.sweep(now);
            self.hints.enter(&found).map_err(|_| full.to_string())?;
        }
        self.actor.hint(thread, length)?;
        self.lengths.insert(thread, length);
        Ok(())
    }

    /// How many threads have given a length and live, as far as is known.
    pub fn hinted(&self) -> usize {
        self.hints.len()
    }

    fn sweep(&mut self, now: Instant) {
        for thread in self.hints.sweep(&self.site.root, now) {
            self.lengths.remove(&thread);
            self.actor.forget(thread);
        }
    }

    /// Looks after things; how the scheduler went, if it has gone, and not for a moment only. Often enough is each [`TICK`].
    pub fn tick(&mut self, now: Instant, listener: &mut dyn Listener) -> Option<Gone> {
        self.look(now, listener).unwrap_or_else(|failure| Some(Gone::Lost(failure.to_string())))
    }

    fn look(&mut self, now: Instant, listener: &mut dyn Listener) -> Result<Option<Gone>, SessionError> {
        if now.saturating_duration_since(self.sampled) >= Meters::INTERVAL {
            self.meters.sample_at(self.meters.on_clock(now));
            (self.sampled, self.public) = (now, Some(self.meters.measured().for_everybody()));
            self.sweep(now);
        }
        let Some(gone) = self.actor.tick(self.site, now)? else { return Ok(None) };
        match gone {
            Gone::Recorded(exit) if exit.wants_restart() && self.may_reload(now) => {
                self.reload(exit, now, listener)?;
                Ok(None)
            }
            gone => Ok(Some(gone)),
        }
    }

    fn may_reload(&self, now: Instant) -> bool {
        let minute = Duration::from_secs(60);
        self.reloads.iter().filter(|(at, _)| now.saturating_duration_since(*at) < minute).count() < MOST_RELOADS
    }

    /// Loads the scheduler again, for a machine that has changed: a CPU came or went.
    fn reload(&mut self, exit: Exit, now: Instant, listener: &mut dyn Listener) -> Result<(), SessionError> {
        listener.hear(Notice::Reloading(&exit));
        self.reloads.push((now, exit));
        let (actor, site) = (&mut self.actor, self.site);
        actor.reload(site, &site.machine()?, &self.settings)?;
        self.applications.retain(|known| site.has_process(known.process));
        for known in &self.applications {
            actor.enter(&site.root, known.process, known.number).map_err(SessionError::Application)?;
        }
        for (thread, length) in &self.lengths {
            actor.hint(*thread, *length).map_err(SessionError::Application)?;
        }
        actor.attach()
    }

    /// Where it lives.
    pub fn site(&self) -> &'s Site {
        self.site
    }

    /// The mechanisms' states, by name.
    pub fn states(&self) -> Vec<(String, String)> {
        self.actor.states()
    }

    /// The mechanisms' states, and why those that are inert are.
    pub fn states_with_reasons(&self) -> Vec<MechanismState> {
        let with_reason = |(name, state): (String, String)| {
            let why = self.plan.why(&state, &self.host).map(|why| clause(&why));
            MechanismState { name, state, why }
        };
        self.states().into_iter().map(with_reason).collect()
    }

    /// What was counted, by name.
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.actor.counters()
    }

    /// All that metrics are of; anybody on the machine can read them.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            backend: self.plan.backend.name().to_owned(),
            scheduler: kernel::scheduler_below(&self.site.root),
            measured: self.public().cloned().unwrap_or_default(),
            states: self.states(),
            counters: self.counters(),
            applications: self.applications.len(),
            hinted_threads: self.hinted(),
        }
    }

    /// Time and energy since it was attached, as far as everybody may know ([`Measured::for_everybody`]): of the latest second
    /// that is over. `None` in the first one.
    pub fn public(&self) -> Option<&Measured> {
        self.public.as_ref()
    }

    /// Time and energy since it was attached, for root alone.
    pub fn measured(&mut self, now: Instant) -> Measured {
        self.meters.sample_at(self.meters.on_clock(now));
        self.meters.measured()
    }

    /// Gives the machine back: the scheduler goes, settings are as before. A scheduler's counters can still be read.
    pub fn give_back(&mut self, listener: &mut dyn Listener) -> Option<Exit> {
        let (exit, restored) = self.actor.give_back();
        if let Some(restored) = restored {
            listener.hear(Notice::GivenBack(&restored));
        }
        exit
    }
}

/// Whether this process lacks the right to make the lock.
fn is_denied(error: &SessionError) -> bool {
    matches!(error, SessionError::Lock { why, .. } if why.kind() == io::ErrorKind::PermissionDenied)
}
