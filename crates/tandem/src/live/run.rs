// SPDX-License-Identifier: GPL-2.0-only
//! `tandem run`: a command under the scheduler, and the machine as before afterwards.

use std::ffi::OsString;
use std::io::{self, Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tandem_live::Exit;
use tandem_live::process::tree;

use super::activity::Activity;
use super::events::{Event, Events};
use super::launch::{Launched, launch};
use super::mechanisms::MechanismOptions;
use super::session::{Gone, ROOT, Session, TICK, socket};
use super::{say, seconds, status, user};
use crate::context::Context;
use crate::failure::{EJECTED, Failure};

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
        let mut session = Session::begin(&self.mechanisms.request())?;
        let events = Events::watch().map_err(|error| Failure::System(format!("cannot watch for signals: {error}")))?;
        let server = events.listen(&socket()).map_err(|error| Failure::NotStarted(error.to_string()))?;
        let waiting = launch(&self.command, identity.as_ref())
            .map_err(|error| Failure::NotStarted(format!("the command cannot be started: {error}")))?;
        let command = waiting.child.id();
        let mut course = Course { activity: self.stats.map(Watch::each), command, ..Course::default() };
        course.begin(&mut session, &events, waiting, &self.command)?;
        course.follow(&mut session, &events)?;
        course.exit = session.give_back().or(course.exit.take());
        drop(server);
        course.report(&mut session, json)?;
        Err(Failure::Status(course.exit_status()))
    }
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
    /// When the first signal came that asks for the end.
    interrupted: Option<Instant>,
    /// The scheduler was taken away because of that, while the command runs on.
    given_back: bool,
    /// The scheduler went by itself.
    gone: Option<Gone>,
    exit: Option<Exit>,
    status: Option<ExitStatus>,
}

impl Course {
    /// Lets the command begin once the scheduler knows it and acts.
    fn begin(
        &self,
        session: &mut Session,
        events: &Events,
        waiting: Launched,
        words: &[OsString],
    ) -> Result<(), Failure> {
        let name = words.first().map(Path::new).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        session.enter(self.command, &name).map_err(Failure::NotStarted)?;
        session.attach()?;
        let lost = |error: io::Error| Failure::NotStarted(format!("the command cannot be started: {error}"));
        let child = waiting.go().map_err(lost)?;
        events.await_end(child).map_err(lost)
    }

    /// Until the command has ended.
    fn follow(&mut self, session: &mut Session, events: &Events) -> Result<(), Failure> {
        while self.status.is_none() {
            match events.next(Instant::now() + TICK) {
                Some(Event::Ended(status)) => self.status = Some(status?),
                Some(Event::Signal { number, of_terminal }) => self.signal(number, of_terminal),
                Some(Event::Asked { peer, request, reply }) => {
                    let _ = reply.send(status::answer(session, peer, request, "run"));
                    continue;
                }
                None => {}
            }
            self.look_after(session)?;
        }
        Ok(())
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

    fn look_after(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.given_back || self.gone.is_some() {
            return Ok(());
        }
        if self.status.is_none() && self.interrupted.is_some_and(|since| since.elapsed() >= GRACE) {
            self.exit = session.give_back();
            self.given_back = true;
            say("interrupted: the kernel's own scheduler has the machine; the command has not ended yet (once more kills it)");
            return Ok(());
        }
        self.gone = session.tick()?;
        if let Some(gone) = &self.gone {
            say(&format!("the scheduler was ejected: {gone}"));
            if self.status.is_none() {
                say("the command goes on under the kernel's own scheduler");
            }
            self.exit = session.give_back();
        }
        if let Some(watch) = self.activity.as_mut().filter(|watch| watch.due <= Instant::now()) {
            watch.due += watch.every;
            let line = watch.activity.line(&session.measured(), &session.counters());
            say(&line);
        }
        Ok(())
    }

    /// What the command ended with; 4 if all is well with it but not with the scheduler.
    fn exit_status(&self) -> u8 {
        let status = self.status.map_or(1, |status| {
            let of_signal = || status.signal().map(|signal| 128 + signal);
            status.code().or_else(of_signal).and_then(|status| u8::try_from(status).ok()).unwrap_or(1)
        });
        if status == 0 && self.gone.is_some() { EJECTED } else { status }
    }

    fn report(&self, session: &mut Session, json: Option<crate::files::Staged>) -> Result<(), Failure> {
        let _ = (session, json);
        let _ = writeln!(stderr(), "report to come");
        Ok(())
    }
}

fn send(process: u32, signal: Signal) {
    if let Ok(process) = i32::try_from(process) {
        let _ = kill(Pid::from_raw(process), signal);
    }
}
