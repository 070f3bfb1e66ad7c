// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events by a script, and a clock that only the script moves.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use tandem_bpf_vm::open::{Meaning, Reason};

use super::world::World;
use crate::KeepsLimits;
use crate::control::peers::named::connect_as;
use crate::control::{Answer, ask};
use crate::plan::{Choice, Governor, SessionRequest};
use crate::session::events::{Ending, Event, Events, Inbox};
use crate::testing::PATIENCE;

/// What happens at a time.
pub(super) enum Step<'w> {
    /// An event.
    Event(Event),
    /// Something changes in the world.
    Do(Box<dyn FnOnce() + 'w>),
    /// A program asks at the control socket: a real one, and a real connection.
    Ask(&'static str),
    /// A program of this user asks.
    AskAs(u32, &'static str),
}

impl Step<'_> {
    pub(super) fn exited(status: i32) -> Self {
        Self::Event(Event::Ended(Ending::Exited(status)))
    }

    /// A signal that another process has sent.
    pub(super) fn signal(number: i32) -> Self {
        Self::Event(Event::Signal { number, of_terminal: false })
    }
}

/// A script.
pub(super) struct Script<'w> {
    now: Instant,
    begun: Instant,
    steps: VecDeque<(Duration, Step<'w>)>,
    socket: PathBuf,
    inbox: Inbox,
    /// Programs that wait for their answers, in the order in which they asked.
    asking: VecDeque<Asking>,
    /// What was asked, and answered.
    pub(super) answers: Vec<(&'static str, Answer)>,
}

/// A program that waits for its answer.
struct Asking {
    request: &'static str,
    thread: JoinHandle<Answer>,
    /// The way back, which is there until it was used.
    way: Weak<()>,
}

impl<'w> Script<'w> {
    /// Steps and the milliseconds after the beginning at which they happen, in their order.
    pub(super) fn new(world: &World, steps: impl IntoIterator<Item = (u64, Step<'w>)>) -> Self {
        let (now, socket) = (Instant::now(), world.site.socket());
        let steps = steps.into_iter().map(|(ms, step)| (Duration::from_millis(ms), step)).collect();
        Self { now, begun: now, steps, socket, inbox: Inbox::default(), asking: VecDeque::new(), answers: Vec::new() }
    }

    /// Those that were answered have heard it before anything else happens.
    fn hear_answers(&mut self) {
        while self.asking.front().is_some_and(|asking| asking.way.strong_count() == 0) {
            let Some(Asking { request, thread, .. }) = self.asking.pop_front() else { break };
            self.answers.push((request, thread.join().unwrap()));
        }
    }

    /// An event that a step is; `None` if it only changes the world.
    fn take(&mut self, step: Step<'w>) -> Option<Event> {
        match step {
            Step::Event(event) => Some(event),
            Step::Do(change) => {
                change();
                None
            }
            Step::Ask(request) => {
                let socket = self.socket.clone();
                self.await_answer(request, spawn(move || ask(&socket, request, PATIENCE).unwrap()))
            }
            Step::AskAs(user, request) => {
                let socket = self.socket.clone();
                self.await_answer(request, spawn(move || ask_as(user, &socket, request)))
            }
        }
    }

    /// The request, as it comes through the socket.
    fn await_answer(&mut self, request: &'static str, thread: JoinHandle<Answer>) -> Option<Event> {
        let event = self.inbox.wait(Instant::now() + PATIENCE).expect("the request comes through the socket");
        if let Event::Asked(asked) = &event {
            self.asking.push_back(Asking { request, thread, way: asked.reply.way() });
        }
        Some(event)
    }
}

impl Events for Script<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn next(&mut self, until: Instant) -> Option<Event> {
        self.hear_answers();
        assert!(!self.steps.is_empty(), "the script has come to its end, and the session has not");
        while self.steps.front().is_some_and(|(at, _)| self.begun + *at <= until) {
            let Some((at, step)) = self.steps.pop_front() else { break };
            self.now = self.now.max(self.begun + at);
            if let Some(event) = self.take(step) {
                return Some(event);
            }
        }
        self.now = until;
        None
    }

    fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    fn await_end(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }
}

/// Asks as a user, over a connection that says so.
pub(super) fn ask_as(user: u32, socket: &Path, request: &str) -> Answer {
    let mut stream = connect_as(user, socket).unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let line = line.trim_end();
    line.strip_prefix("error ").map_or(Ok(line.to_owned()), |why| Err(why.to_owned()))
}

/// What a session is asked to do: `isolate=shared`, `speed=true` …, with schedutil and by sched_ext unless said otherwise.
pub(super) fn request(settings: &str) -> SessionRequest {
    let pair = |setting: &str| setting.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = settings.split_whitespace().filter_map(pair).collect();
    // What the scheduler says of one of its states.
    let why = Reason { why: "All {cpus} CPUs are equally fast.".to_owned(), remedy: None };
    let one_kind = ("one_kind".to_owned(), Meaning { reasons: vec![why], ..Meaning::default() });
    SessionRequest {
        backend: Choice::Auto,
        settings,
        governor: Some(Governor::Schedutil),
        announcers: None,
        states: [one_kind].into_iter().collect(),
        keeps_limits: KeepsLimits::Never,
    }
}
