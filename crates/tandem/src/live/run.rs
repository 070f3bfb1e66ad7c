// SPDX-License-Identifier: GPL-2.0-only
//! `tandem run`: a command under the scheduler, and the machine as before afterwards.

use std::ffi::OsString;
use std::io::{self, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use console::Term;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::Pid;
use tandem_live::process::tree;

use super::activity::Activity;
use super::events::{Ending, Event, Events};
use super::launch::{Launched, launch};
use super::mechanisms::MechanismOptions;
use super::report::{self, CpuTime, Outcome};
use super::session::{Gone, ROOT, SOCKET, Session, TICK};
use super::{say, seconds, status, user};
use crate::context::Context;
use crate::failure::{EJECTED, Failure};
use crate::files::Staged;

/// How long a command that was interrupted may take to end before the machine is given back without waiting for it.
const GRACE: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Examples:
  sudo tandem run --all -- make -j8
  sudo tandem run --serial-first --stats 5 -- make -j8
  sudo tandem run --isolate dedicated --governor schedutil --json=run.json -- ./solver input
  sudo tandem run --backend affinity --isolate shared -- ./solver input

The command runs as whoever called sudo. Ctrl-C goes to it; Tandem gives the machine back and says what was done.

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

    /// Say on standard error what was done, every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stats: Option<Duration>,

    /// Write the report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

impl Run {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let json = self.json.as_deref().map(|path| context.files.create(path)).transpose()?;
        let identity = user::of_command(self.user.as_deref()).map_err(|error| Failure::Options(error.to_string()))?;
        // Before anything is changed: who is interrupted meanwhile gives it back.
        let events =
            Events::watch().map_err(|error| Failure::NotStarted(format!("cannot watch for signals: {error}")))?;
        let mut session = Session::begin(&self.mechanisms.request())?;
        if let Some(Event::Signal { number, .. }) = events.next(Instant::now()) {
            return Err(Failure::Status(u8::try_from(128 + number).unwrap_or(1)));
        }
        let server = events.listen(Path::new(SOCKET)).map_err(|error| Failure::NotStarted(error.to_string()))?;
        let waiting = launch(&self.command, identity.as_ref())
            .map_err(|error| Failure::NotStarted(format!("the command cannot be started: {error}")))?;
        let command = waiting.process;
        let mut course = Course { activity: self.stats.map(Watch::each), command, ..Course::default() };
        course.begin(&mut session, &events, waiting, &self.command)?;
        course.follow(&mut session, &events);
        if !course.given_back {
            course.give_back(&mut session);
        }
        drop(server);
        course.outcome.command = words(&self.command);
        course.report(&session, json)?;
        Err(Failure::Status(course.exit_status()))
    }
}

/// A command as it was typed, nearly.
fn words(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// When the next line of `--stats` is due.
#[derive(Debug)]
struct Watch {
    every: Duration,
    due: Instant,
    activity: Activity,
}

impl Watch {
    fn each(every: Duration) -> Self {
        Self { every, due: Instant::now() + every, activity: Activity::default() }
    }
}

/// How it goes with a command.
#[derive(Debug, Default)]
struct Course {
    command: u32,
    activity: Option<Watch>,
    began: Option<Instant>,
    /// When the session was last looked after.
    looked: Option<Instant>,
    /// When the first signal came that asks for the end.
    interrupted: Option<Instant>,
    /// The machine has been given back, though the command may run on.
    given_back: bool,
    /// The scheduler went by itself.
    gone: Option<Gone>,
    ending: Option<Ending>,
    /// What there is to report.
    outcome: Outcome,
}

impl Course {
    /// Lets the command begin once the scheduler knows it and acts.
    fn begin(
        &mut self,
        session: &mut Session,
        events: &Events,
        waiting: Launched,
        words: &[OsString],
    ) -> Result<(), Failure> {
        let name = words.first().map(Path::new).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        session.enter(self.command, &name).map_err(Failure::NotStarted)?;
        session.attach()?;
        let lost = |error: io::Error| Failure::NotStarted(format!("the command cannot be started: {error}"));
        // Orphans stay with this process, and so in sight.
        let _ = set_child_subreaper(true);
        self.began = Some(Instant::now());
        waiting.go().map_err(lost)?;
        events.await_end(self.command).map_err(lost)
    }

    /// Until the command has ended.
    fn follow(&mut self, session: &mut Session, events: &Events) {
        while self.ending.is_none() {
            match events.next(Instant::now() + TICK) {
                Some(Event::Ended(ending)) => self.ending = Some(ending),
                Some(Event::Signal { number, of_terminal }) => self.signal(number, of_terminal),
                Some(Event::Asked { peer, request, reply }) => {
                    let _ = reply.send(status::answer(session, peer, request, "run"));
                }
                None => {}
            }
            self.look_after(session);
        }
        self.outcome.time = self.began.map(|began| began.elapsed()).unwrap_or_default();
    }

    /// The first signal is the command's affair; it gets one that it has not had from the terminal. The second one kills it.
    fn signal(&mut self, number: i32, of_terminal: bool) {
        let again = self.interrupted.is_some();
        self.interrupted.get_or_insert_with(Instant::now);
        if again {
            say("killing the command");
            tree(Path::new(ROOT), self.command).iter().for_each(|process| send(*process, Signal::SIGKILL));
        } else if !of_terminal && let Ok(signal) = Signal::try_from(number) {
            send(self.command, signal);
        }
    }

    fn look_after(&mut self, session: &mut Session) {
        if self.given_back || self.looked.is_some_and(|looked| looked.elapsed() < TICK) {
            return;
        }
        self.looked = Some(Instant::now());
        if self.ending.is_none() && self.interrupted.is_some_and(|since| since.elapsed() >= GRACE) {
            self.give_back(session);
            say(
                "interrupted: the kernel's own scheduler has the machine; the command has not ended yet (once more kills it)",
            );
            return;
        }
        self.gone = session.tick();
        if let Some(gone) = &self.gone {
            say(&format!("the scheduler was ejected: {gone}"));
            if self.ending.is_none() {
                say("the command goes on under the kernel's own scheduler");
            }
            self.give_back(session);
        }
        if let Some(watch) = self.activity.as_mut().filter(|watch| watch.due <= Instant::now()) {
            watch.due += watch.every;
            let line = watch.activity.line(&session.measured(), &session.counters());
            say(&line);
        }
    }

    /// Gives the machine back, and keeps what is known up to then.
    fn give_back(&mut self, session: &mut Session) {
        self.given_back = true;
        self.outcome.measured = session.measured();
        self.outcome.states = session.states_with_reasons();
        self.outcome.counters = session.counters();
        self.outcome.exit = session.give_back();
    }

    /// What the command ended with; 4 if all is well with it but not with the scheduler.
    fn exit_status(&self) -> u8 {
        let status = match self.ending {
            Some(Ending::Exited(status)) => u8::try_from(status).unwrap_or(1),
            Some(Ending::Killed(signal)) => u8::try_from(128 + signal as i32).unwrap_or(1),
            Some(Ending::Unknown) | None => 1,
        };
        if status == 0 && self.gone.is_some() { EJECTED } else { status }
    }

    /// Says what there was, and writes it down.
    fn report(&mut self, session: &Session, json: Option<Staged>) -> Result<(), Failure> {
        let outcome = &mut self.outcome;
        outcome.status = match self.ending {
            Some(Ending::Exited(status)) => format!("exit status {status}"),
            Some(Ending::Killed(signal)) => format!("killed by {signal}"),
            Some(Ending::Unknown) | None => "ended, nobody knows how".to_owned(),
        };
        outcome.backend = session.backend_name().to_owned();
        outcome.ejected = self.gone.is_some();
        outcome.cpu_time = cpu_time();
        if session.settings.is_empty() {
            outcome.notes.push("no mechanism was on: --all turns on what can act here".to_owned());
        }
        let loaded_again = session.reloads.iter().map(|(_, exit)| format!("the scheduler was loaded again: {exit}"));
        outcome.notes.extend(loaded_again);
        let term = Term::stderr();
        let width = term.is_term().then(|| usize::from(term.size().1));
        let _ = write!(stderr(), "\n{}", report::text(outcome, width));
        if let Some(mut file) = json {
            let text = serde_json::to_string_pretty(&report::json(outcome)).map_err(io::Error::from)?;
            file.write_text(&(text + "\n"))?;
            file.finish()?;
        }
        Ok(())
    }
}

/// What all that this process has waited for has computed.
fn cpu_time() -> Option<CpuTime> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let duration = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    Some(CpuTime { user: duration(usage.user_time()), system: duration(usage.system_time()) })
}

fn send(process: u32, signal: Signal) {
    if let Ok(process) = i32::try_from(process) {
        let _ = kill(Pid::from_raw(process), signal);
    }
}
