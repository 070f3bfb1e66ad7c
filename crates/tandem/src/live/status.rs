// SPDX-License-Identifier: GPL-2.0-only
//! `tandem status`: what runs, and what is missing where nothing can. Anybody may ask.

use std::path::Path;

use clap::Args;
use serde::{Deserialize, Serialize};
use tandem_live::host::{Host, Missing, limited_groups};
use tandem_live::kernel;
use tandem_live::session::status::{ApplicationStatus, SessionStatus};
use tandem_live::session::{ROOT, SOCKET};
use tandem_live::steered::SteeredStatus;

use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::quantity::{JOULES, SECONDS, count, quantity};
use crate::table::{descriptions, printable};

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
    #[command(flatten)]
    json: JsonOption,
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
    /// Control groups whose limit of CPU time (`cpu.max`) does not hold under the scheduler that runs.
    unlimited_groups: Vec<String>,
}

/// What the kernel says.
#[derive(Debug, Serialize, Deserialize)]
struct SchedExtStatus {
    /// `None`: the kernel has no sched_ext.
    state: Option<String>,
    /// Whose scheduler runs.
    scheduler: Option<String>,
}

impl StatusCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let destination = self.json.open(context)?;
        let status = Status::now()?;
        let width = context.width;
        destination.write(context, &status, || status.text(width))
    }
}

impl Status {
    fn now() -> Result<Self, Failure> {
        let session = SessionStatus::ask(Path::new(SOCKET)).map_err(|error| Failure::System(error.to_string()))?;
        let missing = if session.is_some() { Vec::new() } else { missing()? };
        let sched_ext = SchedExtStatus { state: kernel::state(), scheduler: kernel::scheduler() };
        let unlimited_groups = unlimited_groups(Path::new(ROOT), session.as_ref(), &sched_ext);
        Ok(Self { schema: SCHEMA, session, sched_ext, missing, unlimited_groups })
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, text: String| rows.push((name.to_owned(), printable(&text)));
        match &self.session {
            Some(session) => session_rows(session, &mut row),
            None => row("Tandem", "does not run".to_owned()),
        }
        row("sched_ext", self.sched_ext.words());
        if !self.unlimited_groups.is_empty() {
            row("cpu.max", format!("is not honoured: {}", self.unlimited_groups.join(", ")));
        }
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

/// What a session says of itself, in words.
fn session_rows(session: &SessionStatus, row: &mut dyn FnMut(&str, String)) {
    let SessionStatus { command, process, backend, time_s, energy_j, energy_of, hinted_threads, .. } = session;
    row("Tandem", format!("runs: `tandem {command}`, process {process}, by {backend}"));
    let settings: Vec<String> = session.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    row("settings", if settings.is_empty() { "as by default".to_owned() } else { settings.join(", ") });
    for (name, state) in &session.states {
        row(name.strip_suffix("_state").unwrap_or(name), state.replace('_', " "));
    }
    if let Some(steered) = &session.steered {
        steered_rows(steered, row);
    }
    row("time", quantity(*time_s, SECONDS));
    row(
        "energy",
        match energy_j {
            Some(joules) => format!("{} ({energy_of})", quantity(*joules, JOULES)),
            None => format!("not measured: {energy_of}"),
        },
    );
    if session.applications.is_empty() {
        row("applications", "none: everything counts as one".to_owned());
    }
    for ApplicationStatus { number, process, name, processes } in &session.applications {
        let plural = if *processes == 1 { "" } else { "es" };
        row(&format!("application {number}"), format!("{name} ({process}), {processes} process{plural}"));
    }
    if *hinted_threads > 0 {
        row("hints", format!("{} threads have said how long they are", count(*hinted_threads as u64)));
    }
}

/// What the slow loop says of itself, in words.
fn steered_rows(steered: &SteeredStatus, row: &mut dyn FnMut(&str, String)) {
    let SteeredStatus { wish, wish_of, clocks, held, changes, looks, cpu_share, foreign, unknown, fit } = steered;
    row("mode", format!("{wish}, as {wish_of} says"));
    if *clocks > 0 {
        row("clocks", format!("steered: {held} knobs of {clocks} clocks, {changes} changes"));
        let share = 100.0 * cpu_share;
        row("", format!("{} looks, which took {share:.3} % of a CPU", count(*looks)));
    }
    foreign.iter().for_each(|sentence| row("", sentence.clone()));
    fit.iter().for_each(|fit| row("", fit.clone()));
    if let Some(first) = unknown.first() {
        let more = unknown.len() - 1;
        row(
            "",
            format!(
                "costs are not known of {first}{}",
                if more > 0 { format!(", and {more} more") } else { String::new() }
            ),
        );
    }
}

/// Groups whose limits do not hold now. Of others' schedulers nothing tells whether they keep limits, if the kernel passes these on.
fn unlimited_groups(root: &Path, session: Option<&SessionStatus>, sched_ext: &SchedExtStatus) -> Vec<String> {
    let holds = match session {
        Some(session) => session.keeps_limits,
        None => sched_ext.state.as_deref() != Some("enabled") || kernel::passes_limits_below(root),
    };
    if holds { Vec::new() } else { limited_groups(root) }
}

/// What keeps a scheduler from being loaded. That who asks is not root is no news to them.
fn missing() -> Result<Vec<String>, Failure> {
    let host = Host::probe(Path::new(ROOT)).map_err(|error| Failure::System(error.to_string()))?;
    let missing = host.kernel.missing();
    Ok(missing.iter().filter(|missing| !matches!(missing, Missing::NotRoot { .. })).map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A machine with a group that may have half a CPU.
    fn machine() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("sys/fs/cgroup/backup");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cpu.max"), "50000 100000\n").unwrap();
        root
    }

    fn sched_ext(state: &str) -> SchedExtStatus {
        SchedExtStatus { state: Some(state.to_owned()), scheduler: Some("simple".to_owned()) }
    }

    /// A session as one of an older version says it.
    fn session() -> SessionStatus {
        let text = r#"{"command":"attach","process":7,"backend":"sched_ext","settings":[],"since":0,"time_s":1.0,"energy_j":null,
            "energy_of":"nobody","states":{},"counters":{},"applications":[],"hinted_threads":0,"reloads":0}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn groups_are_without_limits_while_a_scheduler_runs_that_does_not_keep_them() {
        let root = machine();
        let of = |session: Option<&SessionStatus>, state| unlimited_groups(root.path(), session, &sched_ext(state));
        assert_eq!(of(None, "disabled"), Vec::<String>::new());
        assert_eq!(of(None, "enabled"), ["/backup"]);
        assert_eq!(of(Some(&session()), "enabled"), ["/backup"]);
        let keeps = SessionStatus { keeps_limits: true, ..session() };
        assert_eq!(of(Some(&keeps), "disabled"), Vec::<String>::new());
    }

    #[test]
    fn they_are_named_for_people_and_for_programs() {
        let status = Status {
            schema: SCHEMA,
            session: None,
            sched_ext: sched_ext("enabled"),
            missing: Vec::new(),
            unlimited_groups: vec!["/a".to_owned(), "/b/c".to_owned()],
        };
        let text = status.text(None);
        assert!(
            text.lines().any(|line| line.split_whitespace().eq("cpu.max is not honoured: /a, /b/c".split(' '))),
            "{text}"
        );
        assert_eq!(serde_json::to_value(&status).unwrap()["unlimited_groups"], serde_json::json!(["/a", "/b/c"]));
    }
}
