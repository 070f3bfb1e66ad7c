// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session: from the facts over the plan to a scheduler that runs, and back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use nix::fcntl::Flock;

use super::actor::Actor;
use super::adoption::Adoption;
use super::applications::Applications;
use super::chores::Chores;
use super::error::SessionError;
use super::gone::Gone;
use super::lock::lock;
use super::notice::{Listener, Notice};
use super::site::{Loaded, Site};
use super::status::{Said, say};
use crate::changes::{Journal, restore_left_behind};
use crate::control::hints::Hints;
use crate::control::rights::{spoken_for, spoken_for_process};
use crate::control::{Announcers, Peer, Reply};
use crate::host::Host;
use crate::meter::{Measured, Meters};
use crate::metrics::Snapshot;
use crate::plan::{Plan, SessionRequest, clause};
use crate::process::Process;
use crate::steered::{Steered, SteeredStatus};
use crate::{Exit, LeftOut, kernel};

/// How often a scheduler is loaded again within a minute because CPUs come and go: one that asks for more is taken to be broken.
const MOST_RELOADS: usize = 20;
/// How often a session looks after things.
pub const TICK: Duration = Duration::from_millis(200);

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
    pub applications: Applications,
    /// Who may announce them.
    announcers: Announcers,
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
    chores: Chores,
    said: Said,
    /// What steers clocks that the processor chooses, if anything does.
    steered: Option<Steered>,
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
        let found = restore_left_behind(site.system(), &site.folder)?;
        found.dead.iter().for_each(|(owner, restored)| listener.hear(Notice::LeftBehind(owner, restored)));
        found.unread.iter().for_each(|why| listener.hear(Notice::NoJournal(why)));
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
            applications: Applications::default(),
            announcers: request.announcers(),
            since: SystemTime::now(),
            reloads: Vec::new(),
            meters: Meters::find_with(&site.root, site.energy.as_ref(), now),
            sampled: now,
            public: None,
            hints: Hints::default(),
            lengths: BTreeMap::new(),
            chores: Chores::default(),
            said: Said::default(),
            steered: None,
        })
    }

    /// Begins to act, and to measure: from the time on that `clock` says once both are so, as the kernel, or who is asked for
    /// profiles, may take long.
    ///
    /// # Errors
    /// [`SessionError::Load`]: the kernel refuses.
    pub fn attach(&mut self, clock: &dyn Fn() -> Instant) -> Result<(), SessionError> {
        self.actor.attach()?;
        self.begin_steering(clock());
        let now = clock();
        self.since = SystemTime::now();
        self.meters.restart_at(self.meters.on_clock(now));
        (self.sampled, self.public) = (now, None);
        Ok(())
    }

    /// Says that a process and all that descends from it, now and later, is an application; its number. What it has started
    /// already is found in `work`. `user` is for whom room is taken.
    ///
    /// # Errors
    /// In words, for who asked.
    pub fn enter(&mut self, process: &Process, name: &str, user: u32, now: Instant) -> Result<u32, String> {
        if let Some(known) = self.applications.number(process) {
            return Ok(known);
        }
        let root = &self.site.root;
        self.applications.make_room(user, root, now).map_err(|full| full.to_string())?;
        self.actor.enter(process.id, self.applications.next())?;
        let number = self.applications.enter(process, name, user);
        if let Some(scheduler) = self.actor.scheduler() {
            self.chores.adopt(Adoption::begin(scheduler, root, process.id, number));
        }
        Ok(number)
    }

    /// Enters an application as [`enter`](Self::enter) does, if `peer` may announce and may speak for the process. Answers
    /// once what the process has started belongs to it, too.
    pub(super) fn announce(&mut self, peer: Peer, process: u32, now: Instant, reply: Reply) {
        let entered = match self.announcers.have(peer) {
            true => spoken_for_process(&self.site.root, peer, process).map_err(|denied| denied.to_string()),
            false => Err(self.no_announcer(process)),
        };
        let entered = entered.and_then(|found| self.enter(&found, &found.name, peer.user, now));
        match entered {
            Ok(number) => self.chores.answer_adopted(number, reply),
            Err(why) => reply.send(Err(why)),
        }
    }

    /// What was refused, why, and what to do.
    fn no_announcer(&self, process: u32) -> String {
        let why = match self.plan.mechanisms.isolate {
            Some(_) => "with isolate an application keeps all other programs off its CPUs",
            None => "an application makes all other programs count as the system's",
        };
        format!(
            "this session takes announcements from {}, as {why}: `sudo tandem announce {process}`, or have root start the \
             session with `--announce anybody` or `--announce GROUP`",
            self.announcers
        )
    }

    /// Says how long a thread is.
    ///
    /// # Errors
    /// `peer` may not, or there is no room; in words.
    pub fn hint(&mut self, peer: Peer, thread: u32, length: u64, now: Instant) -> Result<(), String> {
        self.enter_hint(peer, thread, now)?;
        if let Err(why) = self.actor.hint(thread, length) {
            self.hints.forget(thread);
            self.lengths.remove(&thread);
            return Err(why);
        }
        self.lengths.insert(thread, length);
        Ok(())
    }

    /// Says how long the next thread is that a thread creates. A scheduler that is loaded again does not hear it a second
    /// time: the thread may be there already.
    ///
    /// # Errors
    /// `peer` may not, there is no room, or what acts does not see who creates a thread; in words.
    pub fn hint_next(&mut self, peer: Peer, thread: u32, length: u64, now: Instant) -> Result<(), String> {
        self.enter_hint(peer, thread, now)?;
        self.actor.hint_next(thread, length).inspect_err(|_| {
            if !self.lengths.contains_key(&thread) {
                self.hints.forget(thread);
            }
        })
    }

    /// Takes room for what a thread says: of itself, and of the next that it creates.
    fn enter_hint(&mut self, peer: Peer, thread: u32, now: Instant) -> Result<(), String> {
        let found = spoken_for(&self.site.root, peer, thread).map_err(|denied| denied.to_string())?;
        if self.hints.enter(&found, peer.user).is_err() {
            self.sweep(now);
            self.hints.enter(&found, peer.user).map_err(|full| full.to_string())?;
        }
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
            let measured = self.meters.measured();
            if let (Some(steered), Some(total)) = (&mut self.steered, measured.total()) {
                steered.draw(total.joules, &self.site.root, now);
            }
            (self.sampled, self.public) = (now, Some(measured.for_everybody()));
        }
        self.sweep(now);
        self.steer(now, listener);
        let Some(gone) = self.actor.tick(self.site, now)? else { return Ok(None) };
        match gone {
            Gone::Recorded(exit) if exit.wants_restart() && self.may_reload(now) => {
                self.reload(exit, now, listener)?;
                Ok(None)
            }
            gone => Ok(Some(gone)),
        }
    }

    /// Begins to steer clocks, if the scheduler has a mode and the processor chooses them.
    fn begin_steering(&mut self, now: Instant) {
        let (site, host) = (self.site, &self.host);
        self.steered = self.actor.steerable().and_then(|(scheduler, journal)| {
            Steered::begin(scheduler.mode(), host, journal, site.profiles.as_ref(), now)
        });
    }

    /// A look of the slow loop, if one is due.
    fn steer(&mut self, now: Instant, listener: &mut dyn Listener) {
        let (Some(steered), Some((scheduler, journal))) = (&mut self.steered, self.actor.steerable()) else { return };
        let before = steered.counts().looks;
        for words in steered.look(journal, self.site.profiles.as_ref(), now, self.site.cpu_time) {
            listener.hear(Notice::Steered(&words));
        }
        if steered.counts().looks > before
            && let Some(words) = steered.tell(scheduler)
        {
            listener.hear(Notice::Steered(&words));
        }
    }

    /// What the slow loop says of itself, if there is one.
    pub fn steered(&self, now: Instant) -> Option<SteeredStatus> {
        self.steered.as_ref().map(|steered| steered.status(now))
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
        self.steered.iter_mut().for_each(Steered::tell_again);
        self.applications.forget_ended(&site.root);
        let mut adoptions = Vec::new();
        for known in self.applications.iter() {
            // What a scheduler has no room for any more is the system's.
            let entered = actor.enter(known.process, known.number).is_ok();
            if let Some(scheduler) = actor.scheduler().filter(|_| entered) {
                adoptions.push(Adoption::begin(scheduler, &site.root, known.process, known.number));
            }
        }
        self.chores.adopt_again(adoptions);
        for (thread, length) in &self.lengths {
            let _ = actor.hint(*thread, *length);
        }
        actor.attach()
    }

    /// Does a portion of what takes long; `command` is what the session is for, as a status says it.
    pub(super) fn work(&mut self, command: &str, now: Instant) {
        let Some(family) = self.chores.go_on(self.actor.scheduler(), &self.site.root, now) else { return };
        let waiting = self.chores.learn(&family, &self.applications.first_processes());
        say(self, waiting, &family, command, now);
    }

    /// Until when a session with nothing else to do may wait.
    pub(super) fn until(&self, now: Instant) -> Instant {
        self.chores.due(now).map_or(now + TICK, |due| due.min(now + TICK))
    }

    /// What is waited for, and what was said lately.
    pub(super) fn status_desk(&mut self) -> (&mut Chores, &mut Said) {
        (&mut self.chores, &mut self.said)
    }

    /// Who waits is told that nobody answers any more.
    pub(super) fn turn_away(&mut self) {
        self.chores.turn_away();
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

    /// What of the scheduler was left out, as the kernel does not have it.
    pub fn left_out(&self) -> &[LeftOut] {
        self.actor.scheduler().map(Loaded::left_out).unwrap_or_default()
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
        self.steered = None;
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
