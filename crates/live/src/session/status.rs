// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a session says of itself at the control socket, and how it answers there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::life::{Application, Session};
use crate::control::{Answer, ControlError, Peer, Request, ask};
use crate::meter::Measured;
use crate::process::tree;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who is told energy as finely as it is measured.
const ROOT: u32 = 0;
/// Why others are not told any, before the first second is over.
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
    /// How many processes it has now: the first one and what descends from it; 0 if the first one has ended.
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

    fn of(session: &mut Session<'_>, peer: Peer, command: &str, now: Instant) -> Self {
        let known = if peer.user == ROOT { Some(session.measured(now)) } else { session.public().cloned() };
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
            applications: session.applications.iter().map(|known| application(session, known)).collect(),
            hinted_threads: session.hinted(),
            reloads: session.reloads.len(),
        }
    }
}

fn application(session: &Session<'_>, known: &Application) -> ApplicationStatus {
    let site = session.site();
    let lives = site.has_process(known.process);
    let processes = if lives { tree(&site.root, known.process).len() } else { 0 };
    ApplicationStatus { number: known.number, process: known.process, name: known.name.clone(), processes }
}

/// Answers what was asked over the control socket.
pub(super) fn answer(session: &mut Session<'_>, peer: Peer, request: Request, command: &str, now: Instant) -> Answer {
    match request {
        Request::Hint { thread, length } => session.hint(peer, thread, length, now).map(|()| String::new()),
        Request::Application { process } => session.enter_for(peer, process).map(|number| format!("ok {number}")),
        Request::Status => {
            serde_json::to_string(&SessionStatus::of(session, peer, command, now)).map_err(|error| error.to_string())
        }
    }
}
