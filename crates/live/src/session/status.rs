// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a session says of itself at the control socket, and how it answers there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::applications::Application;
use super::life::Session;
use crate::control::{Asked, ControlError, Peer, Reply, Request, ask};
use crate::meter::Measured;
use crate::process::Family;
use crate::steered::SteeredStatus;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer is given again: who asks more often learns nothing more.
const FRESH: Duration = Duration::from_millis(200);

/// Why whoever is not root is told of no energy before the first second is over.
const NOT_YET: &str = "whoever is not root is told once a second";

/// What a session says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// `run` or `attach`.
    pub command: String,
    /// Process of the session.
    pub process: u32,
    /// What acts: `sched_ext`, `affinity`.
    pub backend: String,
    /// Settings that are not as by default, in the order given.
    pub settings: Vec<(String, String)>,
    /// When it began, in seconds since 1970.
    pub since: u64,
    /// How long it acts, in seconds; for whoever is not root up to a sample that is at most a second old.
    pub time_s: f64,
    /// Joules in that time; `None`: not measured. For whoever is not root in whole joules
    /// ([`Measured::for_everybody`](crate::meter::Measured::for_everybody)).
    pub energy_j: Option<f64>,
    /// What the joules are of, or why they were not measured.
    pub energy_of: String,
    /// The mechanisms' states, by name.
    pub states: BTreeMap<String, String>,
    /// What was counted, by name.
    pub counters: BTreeMap<String, u64>,
    /// Applications, in the order in which they came.
    pub applications: Vec<ApplicationStatus>,
    /// Threads that have said how long they are.
    pub hinted_threads: usize,
    /// How often the scheduler was loaded again.
    pub reloads: usize,
    /// Whether limits of groups (`cpu.max`) hold meanwhile.
    #[serde(default)]
    pub keeps_limits: bool,
    /// Clocks that are steered, where the processor chooses them and the scheduler has a mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steered: Option<SteeredStatus>,
}

/// What a session says of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationStatus {
    /// Number of the application, from 1.
    pub number: u32,
    /// First process of the application.
    pub process: u32,
    /// The name of that process when it was entered.
    pub name: String,
    /// How many processes it has now: the first one and what descends from it, but for what is an application of its own; 0 if
    /// the first one has ended.
    pub processes: usize,
}

/// Why a running session's status is not known.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The session cannot be asked, or hung up.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The session refuses to say.
    #[error("{}: {why}", path.display())]
    Refused {
        /// The control socket.
        path: PathBuf,
        /// The session's words.
        why: String,
    },
    /// The session's answer is no status: the session is of another version.
    #[error("{}: it answers something else: {why}", path.display())]
    Answer {
        /// The control socket.
        path: PathBuf,
        /// What is wrong with the answer.
        why: serde_json::Error,
    },
}

impl SessionStatus {
    /// Asks the session that listens at `socket`; `None` if there is none.
    ///
    /// # Errors
    /// [`StatusError`].
    pub fn ask(socket: &Path) -> Result<Option<Self>, StatusError> {
        match ask(socket, "status", PATIENCE) {
            Ok(Ok(text)) => {
                let failed = |why| StatusError::Answer { path: socket.to_owned(), why };
                serde_json::from_str(&text).map(Some).map_err(failed)
            }
            Ok(Err(why)) => Err(StatusError::Refused { path: socket.to_owned(), why }),
            Err(ControlError::Nobody { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn of(
        session: &mut Session<'_>,
        for_root: bool,
        command: &str,
        processes: &BTreeMap<u32, usize>,
        now: Instant,
    ) -> Self {
        let known = if for_root { Some(session.measured(now)) } else { session.public().cloned() };
        let why_not = known.as_ref().map_or_else(|| NOT_YET.to_owned(), Measured::why_not);
        let measured = known.unwrap_or_default();
        let total = measured.total();
        Self {
            command: command.to_owned(),
            process: std::process::id(),
            backend: session.plan.backend.name().to_owned(),
            settings: session.settings.clone(),
            since: session.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
            time_s: measured.time.as_secs_f64(),
            energy_j: total.as_ref().map(|total| total.joules),
            energy_of: total.map_or(why_not, |total| total.covers),
            states: session.states().into_iter().collect(),
            counters: session.counters().into_iter().collect(),
            applications: session.applications.iter().map(|known| application(known, processes)).collect(),
            hinted_threads: session.hinted(),
            reloads: session.reloads.len(),
            keeps_limits: session.plan.keeps_limits,
            steered: session.steered(now),
        }
    }
}

fn application(known: &Application, processes: &BTreeMap<u32, usize>) -> ApplicationStatus {
    let processes = processes.get(&known.number).copied().unwrap_or(0);
    ApplicationStatus { number: known.number, process: known.process, name: known.name.clone(), processes }
}

/// Lines of JSON that were said lately, each with its time: by whether they were for root.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeMap<bool, (Instant, String)>);

impl Said {
    /// The one that is fresh enough to be said again.
    fn fresh(&self, for_root: bool, now: Instant) -> Option<&String> {
        let (at, line) = self.0.get(&for_root)?;
        (now.saturating_duration_since(*at) < FRESH).then_some(line)
    }
}

/// Answers what was asked over the control socket, at once or when it is known.
pub(super) fn answer(session: &mut Session<'_>, asked: Asked, command: &str, now: Instant) {
    let Asked { peer, request, reply } = asked;
    match request {
        Request::Hint { thread, length } => reply.send(session.hint(peer, thread, length, now).map(|()| String::new())),
        Request::HintNext { thread, length } => {
            reply.send(session.hint_next(peer, thread, length, now).map(|()| String::new()));
        }
        Request::Application { process } => session.announce(peer, process, now, reply),
        Request::Status => {
            let is_lone = session.applications.is_empty();
            let (chores, said) = session.status_desk();
            match said.fresh(peer.is_root(), now) {
                Some(line) => reply.send(Ok(line.clone())),
                // Nobody's processes are to be counted.
                None if is_lone => say(session, vec![(peer, reply)], &Family::default(), command, now),
                None => chores.wait_for_status(peer, reply),
            }
        }
    }
}

/// Tells those who have asked for a status, once for all of root's and once for all others.
pub(super) fn say(
    session: &mut Session<'_>,
    waiting: Vec<(Peer, Reply)>,
    family: &Family,
    command: &str,
    now: Instant,
) {
    if waiting.is_empty() {
        return;
    }
    let processes = processes(session, family);
    for (peer, reply) in waiting {
        let for_root = peer.is_root();
        if session.status_desk().1.fresh(for_root, now).is_none() {
            match serde_json::to_string(&SessionStatus::of(session, for_root, command, &processes, now)) {
                Ok(line) => drop(session.status_desk().1.0.insert(for_root, (now, line))),
                Err(error) => {
                    reply.send(Err(error.to_string()));
                    continue;
                }
            }
        }
        if let Some(line) = session.status_desk().1.fresh(for_root, now) {
            reply.send(Ok(line.clone()));
        }
    }
}

/// How many processes each application has that lives; what was announced by itself is not its parent's.
fn processes(session: &Session<'_>, family: &Family) -> BTreeMap<u32, usize> {
    let (root, firsts) = (&session.site().root, session.applications.first_processes());
    let living = session.applications.iter().filter(|known| known.lives(root));
    let count = |known: &Application| family.below(known.process, |process| firsts.contains(&process)).len();
    living.map(|known| (known.number, count(known))).collect()
}
