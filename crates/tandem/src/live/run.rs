// SPDX-License-Identifier: GPL-2.0-only
//! `tandem run`: a command under the scheduler, and the machine as before afterwards.

use std::ffi::OsString;
use std::io::{self, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use console::Term;
use tandem_live::meter::Measured;
use tandem_live::session::environment::Variable;
use tandem_live::session::events::{Ending, ProcessEvents};
use tandem_live::session::launch::{Command, launch};
use tandem_live::session::{Around, Done, Listener, Notice, around, user};

use super::activity::Activity;
use super::launch::helper;
use super::mechanisms::MechanismOptions;
use super::report::{self, Outcome};
use super::words::tell;
use super::{say, seconds, site};
use crate::context::{Context, columns};
use crate::failure::{EJECTED, Failure};
use crate::json::{Destination, JsonOption};

const EXAMPLES: &str = "\
Examples:
  sudo tandem run -- make -j8
  sudo tandem run --serial-first --stats 5 -- make -j8
  sudo tandem run --isolate dedicated --governor schedutil --json=run.json -- ./solver input
  sudo tandem run --backend affinity --isolate shared -- ./solver input

The command runs as whoever called sudo. It has the standard streams and no other open file, and of root's environment
TERM, COLORTERM, NO_COLOR, LANG, LANGUAGE, LC_*, TZ, DISPLAY and sudo's PATH; under --user NAME a plain PATH, and no terminal
of its own. --env gives it more. Ctrl-C goes to it; Tandem gives the machine back and says what was done.

Who may call `sudo tandem run` is root: --user root runs any command as root, so a rule for it in sudoers is one for all.

Exit status: the command's, 128 + N if signal N ended it; 125 if it was not started, and why is said; 126 if it cannot be
executed, 127 if it was not found; 2 a mistake in an option; 4 if it succeeded but the scheduler was ejected meanwhile.
docs/live.md is the guide.";

/// Run a command under Tandem's scheduler on this machine's kernel
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    mechanisms: MechanismOptions,

    /// Run the command as this user, by name or number; without it as whoever called sudo
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Give the command this variable: a name is enough for one that is set here; may be repeated. Another user's command
    /// gets little else of what is set here
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = variable)]
    variables: Vec<Variable>,

    /// Say on standard error what was done, every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stats: Option<Duration>,

    /// Print the report as JSON on standard output, behind what the command printed, instead of text on standard error; with
    /// `=FILE`, write it there beside the text. Without `=`, a word behind it is the file: write `--` before the command
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,

    /// Replace an existing file even if it is no report, or protected against writing
    #[arg(long)]
    force: bool,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

impl Run {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        // Before anything is changed, or a file begun: an interrupt meanwhile gives it back.
        let mut events = ProcessEvents::watch()
            .map_err(|error| Failure::NotStarted(format!("cannot watch for signals: {error}")))?;
        let destination = JsonOption::new(self.json.clone(), self.force).open(context)?;
        let identity = user::of_command(self.user.as_deref()).map_err(|error| Failure::Options(error.to_string()))?;
        let name = self.command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
        let wanted = Around {
            request: self.mechanisms.request()?,
            name: name.to_string_lossy().into_owned(),
            activity: self.stats,
        };
        let mut start = || -> io::Result<Box<dyn Command>> {
            Ok(Box::new(launch(helper(), &self.command, identity.as_ref(), &self.variables)?))
        };
        let done = around(&site(), &wanted, &mut events, &mut start, &mut Speaker::default())?;
        report(&outcome(words(&self.command), &done), destination, context)?;
        Err(Failure::Status(exit_status(&done)))
    }
}

/// Says everything on standard error.
#[derive(Default)]
struct Speaker(Activity);

impl Listener for Speaker {
    fn hear(&mut self, notice: Notice<'_>) {
        tell(&notice);
    }

    fn activity(&mut self, measured: &Measured, counters: &[(String, u64)]) -> io::Result<()> {
        say(&self.0.line(measured, counters));
        Ok(())
    }
}

/// Reads `NAME` or `NAME=VALUE`.
fn variable(text: &str) -> Result<Variable, String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.into())));
    if name.is_empty() {
        return Err("expected the name of a variable, or NAME=VALUE".to_owned());
    }
    Ok(Variable { name: name.into(), value })
}

/// A command as it was typed, nearly.
fn words(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// What the command ended with; 4 if all is well with it but not with the scheduler.
fn exit_status(done: &Done) -> u8 {
    let status = match done.ending {
        Ending::Exited(status) => u8::try_from(status).unwrap_or(1),
        Ending::Killed(signal) => u8::try_from(128 + signal as i32).unwrap_or(1),
        Ending::Unknown => 1,
    };
    if status == 0 && done.gone.is_some() { EJECTED } else { status }
}

/// What there is to report.
fn outcome(command: String, done: &Done) -> Outcome {
    let status = match done.ending {
        Ending::Exited(status) => format!("exit status {status}"),
        Ending::Killed(signal) => format!("killed by {signal}"),
        Ending::Unknown => "ended, nobody knows how".to_owned(),
    };
    let no_mechanism =
        "no mechanism was on, as by default: docs/modes.md says what each of them brings and costs".to_owned();
    let notes = Some(no_mechanism).filter(|_| done.settings.is_empty()).into_iter();
    let said = done.notes.iter().cloned();
    let loaded_again = done.reloads.iter().map(|exit| format!("the scheduler was loaded again: {exit}"));
    Outcome {
        command,
        status,
        backend: done.backend.name().to_owned(),
        time: done.time,
        cpu_time: done.cpu_time,
        measured: done.measured.clone(),
        states: done.states.clone(),
        counters: done.counters.clone(),
        exit: done.exit.clone(),
        ejected: done.gone.is_some(),
        notes: notes.chain(said).chain(loaded_again).collect(),
    }
}

/// Says what there was on standard error, as standard output is the command's, and writes it down.
fn report(outcome: &Outcome, destination: Destination, context: &mut Context<'_>) -> Result<(), Failure> {
    if !matches!(destination, Destination::Json) {
        let _ = write!(
            stderr(),
            "
{}",
            report::text(outcome, columns(&Term::stderr()))
        );
    }
    destination.write(context, &report::json(outcome), String::new)
}
