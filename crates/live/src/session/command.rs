// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session around one command, and the machine as before afterwards.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::time::{TimeVal, TimeValLike};

use super::error::SessionError;
use super::events::{Ending, Event, Events, listen};
use super::gone::Gone;
use super::launch::Command;
use super::life::{MechanismState, Session, TICK};
use super::notice::{Listener, Notice};
use super::site::Site;
use super::status::answer;
use crate::Exit;
use crate::control::rights::ROOT_USER;
use crate::meter::Measured;
use crate::plan::{Backend, Note, SessionRequest};
use crate::process::{Process, tree};

/// How long a command that was interrupted may take to end before the machine is given back without waiting for it.
const GRACE: Duration = Duration::from_millis(500);

/// What is wanted around a command.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// Mechanisms, settings, the way of acting.
    pub request: SessionRequest,
    /// The name of the application that the command is.
    pub name: String,
    /// How often to say what was done.
    pub activity: Option<Duration>,
}

/// What became of a command and of the session around it.
#[derive(Debug, Clone)]
pub struct Done {
    /// How the command ended.
    pub ending: Ending,
    /// How long it ran.
    pub time: Duration,
    /// What it and its descendants computed, if that is known.
    pub cpu_time: Option<CpuTime>,
    /// What acted.
    pub backend: Backend,
    /// Settings that were not as by default.
    pub settings: Vec<(String, String)>,
    /// Energy while the session acted.
    pub measured: Measured,
    /// What became of the mechanisms.
    pub states: Vec<MechanismState>,
    /// What was counted, by name.
    pub counters: Vec<(String, u64)>,
    /// What the kernel said at the end; `None` if there was no scheduler in it, or none that keeps a record.
    pub exit: Option<Exit>,
    /// How the scheduler went, if it went before it was asked to.
    pub gone: Option<Gone>,
    /// Why the scheduler was loaded again, each time.
    pub reloads: Vec<Exit>,
    /// Of what was said at the beginning, what belongs into a report, too.
    pub notes: Vec<String>,
}

/// Time on CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the programs.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl CpuTime {
    /// Both together, in seconds.
    pub fn seconds(self) -> f64 {
        (self.user + self.system).as_secs_f64()
    }
}

/// Runs a command under a session: `launch` starts it once the session is ready, and it begins once the scheduler knows it and
/// acts. The first signal that asks for the end is the command's affair, the second one kills it.
///
/// # Errors
/// The session did not begin, or the command was not started.
pub fn around(
    site: &Site,
    wanted: &Around,
    events: &mut dyn Events,
    launch: &mut dyn FnMut() -> io::Result<Box<dyn Command>>,
    listener: &mut dyn Listener,
) -> Result<Done, SessionError> {
    let mut session = Session::begin(site, &wanted.request, events.now(), listener)?;
    if let Some(Event::Signal { number, .. }) = events.next(events.now()) {
        return Err(SessionError::Interrupted(number));
    }
    let server = listen(events, site)?;
    let command = launch().map_err(SessionError::Launch)?;
    let mut course = Course::begin(&mut session, events, command, wanted)?;
    let ending = course.follow(&mut session, events, listener);
    let kept = match course.kept.take() {
        Some(kept) => kept,
        None => give_back(&mut session, events.now(), listener),
    };
    session.turn_away();
    events.inbox().turn_away();
    drop(server);
    let GivenBack { measured, states, counters, exit } = kept;
    Ok(Done {
        ending,
        time: course.ended.saturating_duration_since(course.began),
        cpu_time: cpu_time(),
        backend: session.plan.backend,
        settings: session.settings.clone(),
        measured,
        states,
        counters,
        exit,
        gone: course.gone.take(),
        reloads: session.reloads.iter().map(|(_, exit)| exit.clone()).collect(),
        notes: lasting_notes(&session),
    })
}

/// How it goes with a command.
struct Course {
    command: Box<dyn Command>,
    began: Instant,
    ended: Instant,
    /// How often to say what was done, and when it is due next.
    activity: Option<(Duration, Instant)>,
    /// When the session was last looked after.
    looked: Option<Instant>,
    /// When the first signal came that asks for the end.
    interrupted: Option<Instant>,
    /// The machine has been given back, though the command may run on.
    kept: Option<GivenBack>,
    /// The scheduler went by itself.
    gone: Option<Gone>,
}

/// What was known when the machine was given back.
struct GivenBack {
    measured: Measured,
    states: Vec<MechanismState>,
    counters: Vec<(String, u64)>,
    exit: Option<Exit>,
}

impl Course {
    /// Lets the command begin once the scheduler knows it and acts.
    fn begin(
        session: &mut Session<'_>,
        events: &mut dyn Events,
        mut command: Box<dyn Command>,
        wanted: &Around,
    ) -> Result<Self, SessionError> {
        let process = Process::read(&session.site().root, command.process());
        let process = process.ok_or_else(|| SessionError::Launch(io::ErrorKind::NotFound.into()))?;
        session.enter(&process, &wanted.name, ROOT_USER, events.now()).map_err(SessionError::Application)?;
        session.attach(&|| events.now())?;
        events.await_end(command.process()).map_err(SessionError::Launch)?;
        let began = events.now();
        command.go().map_err(SessionError::Launch)?;
        let activity = wanted.activity.map(|every| (every, began + every));
        Ok(Self { command, began, ended: began, activity, looked: None, interrupted: None, kept: None, gone: None })
    }

    /// Until the command has ended; how it did.
    fn follow(&mut self, session: &mut Session<'_>, events: &mut dyn Events, listener: &mut dyn Listener) -> Ending {
        let mut ending = None;
        loop {
            match events.next(session.until(events.now())) {
                Some(Event::Ended(how)) => ending = Some(how),
                Some(Event::Signal { number, of_terminal }) => {
                    self.signal(session, number, of_terminal, events.now(), listener);
                }
                Some(Event::Asked(asked)) => answer(session, asked, "run", events.now()),
                None => {}
            }
            session.work("run", events.now());
            self.look_after(session, ending.is_none(), events.now(), listener);
            if let Some(ending) = ending {
                self.ended = events.now();
                return ending;
            }
        }
    }

    /// The first signal is the command's affair; it gets one that it has not had from the terminal. The second one kills it.
    fn signal(
        &mut self,
        session: &Session<'_>,
        number: i32,
        of_terminal: bool,
        now: Instant,
        listener: &mut dyn Listener,
    ) {
        if self.interrupted.is_some() {
            listener.hear(Notice::Killing);
            let processes = tree(&session.site().root, self.command.process());
            processes.iter().for_each(|process| self.command.send(*process, Signal::SIGKILL));
            return;
        }
        self.interrupted = Some(now);
        let has_it = of_terminal && !self.command.is_apart();
        if !has_it && let Ok(signal) = Signal::try_from(number) {
            self.command.send(self.command.process(), signal);
        }
    }

    fn look_after(&mut self, session: &mut Session<'_>, command_runs: bool, now: Instant, listener: &mut dyn Listener) {
        let since = |time: Instant| now.saturating_duration_since(time);
        if self.kept.is_some() || self.looked.is_some_and(|looked| since(looked) < TICK) {
            return;
        }
        self.looked = Some(now);
        if command_runs && self.interrupted.is_some_and(|interrupted| since(interrupted) >= GRACE) {
            self.kept = Some(give_back(session, now, listener));
            listener.hear(Notice::GivenBackEarly);
            return;
        }
        self.gone = session.tick(now, listener);
        if let Some(gone) = &self.gone {
            listener.hear(Notice::Ejected { gone, command_runs });
            self.kept = Some(give_back(session, now, listener));
        }
        if let Some((every, due)) = self.activity.as_mut().filter(|(_, due)| *due <= now) {
            *due += *every;
            // The command goes on, whether or not it can be said.
            let _ = listener.activity(&session.measured(now), &session.counters());
        }
    }
}

/// Gives the machine back, and keeps what is known up to then.
fn give_back(session: &mut Session<'_>, now: Instant, listener: &mut dyn Listener) -> GivenBack {
    let (measured, states) = (session.measured(now), session.states_with_reasons());
    let counters = session.counters();
    GivenBack { measured, states, counters, exit: session.give_back(listener) }
}

/// Of what was said at the beginning, what nothing else in a report says: a mechanism's state has its own words there.
fn lasting_notes(session: &Session<'_>) -> Vec<String> {
    let of_plan =
        session.plan.notes.iter().filter(|note| matches!(note, Note::NoLimits { .. })).map(ToString::to_string);
    of_plan.chain(session.left_out().iter().map(ToString::to_string)).collect()
}

/// What all that this process has waited for has computed.
fn cpu_time() -> Option<CpuTime> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let duration = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    Some(CpuTime { user: duration(usage.user_time()), system: duration(usage.system_time()) })
}
