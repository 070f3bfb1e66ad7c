// SPDX-License-Identifier: GPL-2.0-only
//! One session: from the facts over the plan to a scheduler that runs, and back.
//!
//! Whatever ends it, a panic included, the machine is given back: each part does so when it is dropped, and the parts stand
//! in the order in which they have to go. After `kill -9` the kernel takes the scheduler away, and the journal stays, for
//! `tandem restore` or the next session.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;
use tandem_live::changes::{Journal, restore_left_behind};
use tandem_live::control::Peer;
use tandem_live::control::hints::Hints;
use tandem_live::control::rights::{spoken_for, spoken_for_process};
use tandem_live::host::Host;
use tandem_live::machine::Machine;
use tandem_live::meter::{Measured, Meters};
use tandem_live::metrics::Snapshot;
use tandem_live::plan::{Plan, Request};
use tandem_live::{Exit, OpenScheduler, kernel};

use super::backend::Backend;
use super::report::State;
use super::restore::{describe, summary};
use super::say;
use crate::bundled::TANDEM;
use crate::failure::Failure;

/// Where the machine's files are.
pub const ROOT: &str = "/";
/// What a running Tandem keeps: its lock, its control socket, the journal of what it has changed.
pub const FOLDER: &str = "/run/tandem";
/// The control socket.
pub const SOCKET: &str = "/run/tandem/control.sock";
/// How often a scheduler is loaded again within a minute because CPUs come and go: who asks for more is taken to be broken.
const MOST_RELOADS: usize = 20;
/// How often a session looks after things.
pub const TICK: Duration = Duration::from_millis(200);

/// A process that was said to be an application, with all that descends from it.
#[derive(Debug, Clone)]
pub struct Application {
    /// Its first process.
    pub process: u32,
    /// Its number, from 1.
    pub number: u32,
    /// The name of that process when it was entered.
    pub name: String,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    // What is dropped first stands first.
    backend: Backend,
    /// Nobody else may begin a session.
    _lock: Flock<File>,
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
    hints: Hints,
    lengths: BTreeMap<u32, u64>,
}

/// How a scheduler went before it was asked to.
#[derive(Debug, Clone)]
pub enum Gone {
    /// It says how it ended.
    Recorded(Exit),
    /// It does not; what sched_ext is doing now.
    Silent(String),
    /// It was to be loaded again, or looked after, and that failed.
    Lost(String),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(exit) => write!(f, "{exit}"),
            Self::Lost(why) => write!(f, "{why}"),
            Self::Silent(state) => write!(f, "it does not say why; sched_ext is {state}"),
        }
    }
}

impl Session {
    /// Prepares everything: what is still to be done is [`Session::attach`].
    ///
    /// # Errors
    /// A mistake in a setting; it cannot be done here; another session runs; the kernel refuses the scheduler.
    pub fn begin(request: &Request) -> Result<Self, Failure> {
        let root = Path::new(ROOT);
        let failed = |error: &dyn std::error::Error| Failure::NotStarted(error.to_string());
        let host = Host::probe(root).map_err(|error| failed(&error))?;
        // A mistake is one on any machine, and for anybody.
        open(&host.machine, &request.settings)?;
        // Who is not root learns what else is missing, too, and not that a folder cannot be made.
        let lock = if Uid::effective().is_root() {
            lock(Path::new(FOLDER))
        } else {
            let planned = Plan::for_host(&host, request).map_err(|error| failed(&error));
            planned.and_then(|_| lock(Path::new(FOLDER)))
        }?;
        restore(root, Path::new(FOLDER))?;
        // What was given back just now are facts that have changed.
        let host = Host::probe(root).map_err(|error| failed(&error))?;
        let plan = Plan::for_host(&host, request).map_err(|error| failed(&error))?;
        let mut journal = Journal::begin(root, Path::new(FOLDER)).map_err(|error| failed(&error))?;
        for change in &plan.changes {
            journal.apply(change).map_err(|error| failed(&error))?;
        }
        for note in &plan.notes {
            say(&format!("note: {note}"));
        }
        // Governors are facts, too.
        let host = if plan.changes.is_empty() { host } else { Host::probe(root).map_err(|error| failed(&error))? };
        let settings = request.settings.clone();
        let backend = Backend::prepare(&plan, &host, &settings, journal)?;
        Ok(Self {
            backend,
            _lock: lock,
            host,
            plan,
            settings,
            applications: Vec::new(),
            since: SystemTime::now(),
            reloads: Vec::new(),
            meters: Meters::find(root),
            sampled: Instant::now(),
            hints: Hints::default(),
            lengths: BTreeMap::new(),
        })
    }

    /// Begins to act, and to measure.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(&mut self) -> Result<(), Failure> {
        self.backend.attach()?;
        self.since = SystemTime::now();
        self.meters.restart();
        self.sampled = Instant::now();
        Ok(())
    }

    /// Says that a process and all that descends from it, now and later, is an application; its number.
    ///
    /// # Errors
    /// In words, for whoever asked.
    pub fn enter(&mut self, process: u32, name: &str) -> Result<u32, String> {
        if let Some(known) = self.applications.iter().find(|known| known.process == process && known.name == name) {
            return Ok(known.number);
        }
        let number = self.applications.iter().map(|known| known.number).max().unwrap_or(0) + 1;
        self.backend.enter(process, number)?;
        self.applications.push(Application { process, number, name: name.to_owned() });
        Ok(number)
    }

    /// Likewise, as somebody asks for it who may not be allowed to.
    ///
    /// # Errors
    /// In words.
    pub fn enter_for(&mut self, peer: Peer, process: u32) -> Result<u32, String> {
        let found = spoken_for_process(Path::new(ROOT), peer, process).map_err(|denied| denied.to_string())?;
        self.enter(process, &found.name)
    }

    /// Says how long a thread is.
    ///
    /// # Errors
    /// Who asks may not, or there is no room; in words.
    pub fn hint(&mut self, peer: Peer, thread: u32, length: u64) -> Result<(), String> {
        let found = spoken_for(Path::new(ROOT), peer, thread).map_err(|denied| denied.to_string())?;
        if let Err(full) = self.hints.enter(&found) {
            self.sweep();
            self.hints.enter(&found).map_err(|_| full.to_string())?;
        }
        self.backend.hint(thread, length)?;
        self.lengths.insert(thread, length);
        Ok(())
    }

    /// How many threads have given a length and live, as far as is known.
    pub fn hinted(&self) -> usize {
        self.hints.len()
    }

    fn sweep(&mut self) {
        for thread in self.hints.sweep(Path::new(ROOT), Instant::now()) {
            self.lengths.remove(&thread);
            self.backend.forget(thread);
        }
    }

    /// Looks after things; how the scheduler went, if it has gone, and not for a moment only. Often enough is each [`TICK`].
    pub fn tick(&mut self) -> Option<Gone> {
        self.look().unwrap_or_else(|failure| Some(Gone::Lost(failure.to_string())))
    }

    fn look(&mut self) -> Result<Option<Gone>, Failure> {
        if self.sampled.elapsed() >= Meters::INTERVAL {
            self.meters.sample();
            self.sampled = Instant::now();
            self.sweep();
        }
        let Some(gone) = self.backend.tick()? else { return Ok(None) };
        match gone {
            Gone::Recorded(exit) if exit.wants_restart() && self.may_reload() => {
                self.reload(exit)?;
                Ok(None)
            }
            gone => Ok(Some(gone)),
        }
    }

    fn may_reload(&self) -> bool {
        self.reloads.iter().filter(|(at, _)| at.elapsed() < Duration::from_secs(60)).count() < MOST_RELOADS
    }

    /// Loads the scheduler again, for a machine that has changed: a CPU came or went.
    fn reload(&mut self, exit: Exit) -> Result<(), Failure> {
        say(&format!("loading the scheduler again: {exit}"));
        self.reloads.push((Instant::now(), exit));
        let backend = &mut self.backend;
        let machine = Machine::read(Path::new(ROOT)).map_err(|error| Failure::System(error.to_string()))?;
        backend.reload(&machine, &self.settings)?;
        self.applications.retain(|known| Path::new(ROOT).join(format!("proc/{}", known.process)).exists());
        for known in &self.applications {
            backend.enter(known.process, known.number).map_err(Failure::System)?;
        }
        for (thread, length) in &self.lengths {
            backend.hint(*thread, *length).map_err(Failure::System)?;
        }
        backend.attach()
    }

    /// What it is called in reports.
    pub fn backend_name(&self) -> &'static str {
        match self.plan.backend {
            tandem_live::plan::Backend::SchedExt => "sched_ext",
            tandem_live::plan::Backend::Affinity => "affinity",
        }
    }

    /// The mechanisms' states, by name.
    pub fn states(&self) -> Vec<(String, String)> {
        self.backend.states()
    }

    /// Likewise, and why those that are inert are.
    pub fn states_with_reasons(&self) -> Vec<State> {
        let with_reason = |(name, state): (String, String)| {
            let why = self.plan.why(&state, &self.host).map(|why| clause(&why));
            State { name, state, why }
        };
        self.states().into_iter().map(with_reason).collect()
    }

    /// What was counted, by name.
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.backend.counters()
    }

    /// All that metrics are of.
    pub fn snapshot(&mut self) -> Snapshot {
        Snapshot {
            backend: self.backend_name().to_owned(),
            scheduler: kernel::scheduler(),
            measured: self.measured(),
            states: self.states(),
            counters: self.counters(),
            applications: self.applications.len(),
            hinted_threads: self.hinted(),
        }
    }

    /// Time and energy since it was attached.
    pub fn measured(&mut self) -> Measured {
        self.meters.read()
    }

    /// Gives the machine back: the scheduler goes, settings are as before. What could not be given back is said. A scheduler's
    /// counters can still be read.
    pub fn give_back(&mut self) -> Option<Exit> {
        let (exit, restored) = self.backend.give_back();
        restored.iter().flat_map(describe).for_each(|line| say(&line));
        exit
    }
}

/// Tandem's scheduler with settings, for a machine.
///
/// # Errors
/// A mistake in a setting.
pub fn open(machine: &Machine, settings: &[(String, String)]) -> Result<OpenScheduler, Failure> {
    let opened = OpenScheduler::embedded(TANDEM.name, TANDEM.object, TANDEM.sidecar, machine);
    let mut open = opened.map_err(|error| Failure::System(error.to_string()))?;
    for (name, value) in settings {
        let help = "\n  help: `tandem scheduler show tandem` lists the settings";
        open.choose(name, value).map_err(|error| Failure::Options(format!("--set {name}={value}: {error}{help}")))?;
    }
    Ok(open)
}

/// A sentence as a part of another one.
fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// Makes the folder, and sees to it that nobody else begins a session.
fn lock(folder: &Path) -> Result<Flock<File>, Failure> {
    let path = folder.join("lock");
    let failed = |why: io::Error| Failure::NotStarted(format!("{}: cannot be written: {why}", path.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    // Whatever the umask says: programs have to find the socket. The lock is nobody else's affair, who could hold it.
    fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(failed)?;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    let mut lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, why)| match why {
        nix::errno::Errno::EWOULDBLOCK => {
            let who = fs::read_to_string(&path).unwrap_or_default();
            Failure::NotStarted(format!("Tandem runs already (process {}): `tandem status` shows it", who.trim()))
        }
        why => failed(why.into()),
    })?;
    lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(failed)?;
    Ok(lock)
}

/// Gives back what sessions that were killed have left changed.
fn restore(root: &Path, folder: &Path) -> Result<(), Failure> {
    let all = restore_left_behind(root, folder).map_err(|error| Failure::NotStarted(error.to_string()))?;
    for (owner, restored) in all {
        say(&format!("process {} was killed before it gave all back: {}", owner.pid, summary(&restored)));
        describe(&restored).iter().for_each(|line| say(line));
    }
    Ok(())
}
