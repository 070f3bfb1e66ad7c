// SPDX-License-Identifier: GPL-2.0-only
//! `tandem status`: what runs, and what is missing where nothing can. Anybody may ask.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde::{Deserialize, Serialize};
use tandem_live::control::{Answer, ControlError, Peer, Request, ask};
use tandem_live::host::{Host, Missing};
use tandem_live::kernel;
use tandem_live::process::tree;

use super::session::{ROOT, SOCKET, Session};
use crate::context::Context;
use crate::failure::Failure;
use crate::quantity::{JOULES, SECONDS, count, quantity};
use crate::table::{descriptions, printable};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The version of the JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  tandem status
  tandem status --json | jq .session.states";

/// Show what runs: mechanisms, applications, energy so far; or what is missing
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All that is known.
#[derive(Debug, Serialize, Deserialize)]
struct Status {
    schema: u32,
    /// Tandem, if it runs.
    session: Option<SessionStatus>,
    sched_ext: SchedExtStatus,
    /// What keeps a scheduler from being loaded, a sentence each; not said while one of Tandem's runs.
    missing: Vec<String>,
}

/// What the kernel says.
#[derive(Debug, Serialize, Deserialize)]
struct SchedExtStatus {
    /// `None`: the kernel has no sched_ext.
    state: Option<String>,
    /// Whose scheduler runs.
    scheduler: Option<String>,
}

/// What a session says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    /// `run` or `attach`.
    command: String,
    process: u32,
    backend: String,
    /// Settings that are not as by default, in the order given.
    settings: Vec<(String, String)>,
    /// When it began, in seconds since 1970.
    since: u64,
    time_s: f64,
    /// `None`: not measured.
    energy_j: Option<f64>,
    /// What it is the energy of, or why it was not measured.
    energy_of: String,
    states: BTreeMap<String, String>,
    counters: BTreeMap<String, u64>,
    applications: Vec<ApplicationStatus>,
    /// Threads that have said how long they are.
    hinted_threads: usize,
    /// How often the scheduler was loaded again.
    reloads: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct ApplicationStatus {
    number: u32,
    process: u32,
    name: String,
    /// It and what descends from it now.
    processes: usize,
}

/// Answers what was asked over the control socket.
pub fn answer(session: &mut Session, peer: Peer, request: Request, command: &str) -> Answer {
    match request {
        Request::Hint { thread, length } => session.hint(peer, thread, length).map(|()| String::new()),
        Request::Application { process } => session.enter_for(peer, process).map(|number| format!("ok {number}")),
        Request::Status => serde_json::to_string(&of_session(session, command)).map_err(|error| error.to_string()),
    }
}

fn of_session(session: &mut Session, command: &str) -> SessionStatus {
    let measured = session.measured();
    let total = measured.total();
    let application = |known: &super::session::Application| {
        let processes = tree(Path::new(ROOT), known.process);
        let lives = Path::new(ROOT).join(format!("proc/{}", known.process)).exists();
        ApplicationStatus {
            number: known.number,
            process: known.process,
            name: known.name.clone(),
            processes: if lives { processes.len() } else { 0 },
        }
    };
    SessionStatus {
        command: command.to_owned(),
        process: std::process::id(),
        backend: session.backend_name().to_owned(),
        settings: session.settings.clone(),
        since: session.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
        time_s: measured.time.as_secs_f64(),
        energy_j: total.as_ref().map(|total| total.joules),
        energy_of: total.map_or_else(|| measured.why_not(), |total| total.covers),
        states: session.states().into_iter().collect(),
        counters: session.counters().into_iter().collect(),
        applications: session.applications.iter().map(application).collect(),
        hinted_threads: session.hinted(),
        reloads: session.reloads.len(),
    }
}

impl StatusCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let status = Status::now()?;
        let text = if self.json {
            serde_json::to_string_pretty(&status).map_err(std::io::Error::from)? + "\n"
        } else {
            status.text(context.width)
        };
        context.out.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Status {
    fn now() -> Result<Self, Failure> {
        let session = match ask(Path::new(SOCKET), "status", PATIENCE) {
            Ok(Ok(text)) => {
                let read = serde_json::from_str(&text);
                Some(read.map_err(|error| Failure::System(format!("{SOCKET}: it answers something else: {error}")))?)
            }
            Ok(Err(why)) => return Err(Failure::System(format!("{SOCKET}: {why}"))),
            Err(ControlError::Nobody { .. }) => None,
            Err(error) => return Err(Failure::System(error.to_string())),
        };
        let missing = if session.is_some() { Vec::new() } else { missing()? };
        let sched_ext = SchedExtStatus { state: kernel::state(), scheduler: kernel::scheduler() };
        Ok(Self { schema: SCHEMA, session, sched_ext, missing })
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, text: String| rows.push((name.to_owned(), printable(&text)));
        match &self.session {
            Some(session) => session.rows(&mut row),
            None => row("Tandem", "does not run".to_owned()),
        }
        row("sched_ext", self.sched_ext.words());
        for missing in &self.missing {
            row("missing", missing.clone());
        }
        descriptions(&rows, width)
    }
}

impl SchedExtStatus {
    fn words(&self) -> String {
        match (&self.state, &self.scheduler) {
            (None, _) => "this kernel has none".to_owned(),
            (Some(state), Some(name)) if state != "disabled" => format!("{state}, the scheduler {name}"),
            (Some(state), _) => state.clone(),
        }
    }
}

impl SessionStatus {
    fn rows(&self, row: &mut dyn FnMut(&str, String)) {
        let Self { command, process, backend, time_s, energy_j, energy_of, hinted_threads, .. } = self;
        row("Tandem", format!("runs: `tandem {command}`, process {process}, by {backend}"));
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        row("settings", if settings.is_empty() { "as by default".to_owned() } else { settings.join(", ") });
        for (name, state) in &self.states {
            row(name.strip_suffix("_state").unwrap_or(name), state.replace('_', " "));
        }
        row("time", quantity(*time_s, SECONDS));
        row("energy", match energy_j {
            Some(joules) => format!("{} ({energy_of})", quantity(*joules, JOULES)),
            None => format!("not measured: {energy_of}"),
        });
        if self.applications.is_empty() {
            row("applications", "none: everything counts as one".to_owned());
        }
        for ApplicationStatus { number, process, name, processes } in &self.applications {
            let plural = if *processes == 1 { "" } else { "es" };
            row(&format!("application {number}"), format!("{name} ({process}), {processes} process{plural}"));
        }
        if *hinted_threads > 0 {
            row("hints", format!("{} threads have said how long they are", count(*hinted_threads as u64)));
        }
    }
}

/// What keeps a scheduler from being loaded. That who asks is not root is no news to them.
fn missing() -> Result<Vec<String>, Failure> {
    let host = Host::probe(Path::new(ROOT)).map_err(|error| Failure::System(error.to_string()))?;
    let missing = host.kernel.missing();
    Ok(missing.iter().filter(|missing| !matches!(missing, Missing::NotRoot { .. })).map(ToString::to_string).collect())
}
