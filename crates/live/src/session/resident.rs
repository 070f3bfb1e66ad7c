// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session that stays until it is told to go, for all programs.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::SessionError;
use super::events::{Event, Events, listen};
use super::life::{Session, TICK};
use super::notice::{Listener, Notice};
use super::published::Metrics;
use super::site::Site;
use super::status::answer;
use crate::control::rights::ROOT_USER;
use crate::plan::SessionRequest;
use crate::process::Process;

/// What is wanted of a session that stays.
#[derive(Debug, Clone, Default)]
pub struct Resident {
    /// Mechanisms, settings, the way of acting.
    pub request: SessionRequest,
    /// Processes that are applications from the beginning ([`application`]).
    pub applications: Vec<Process>,
    /// Where to hand out metrics: an address of this machine's own; port 0 takes any that is free.
    pub metrics: Option<SocketAddr>,
    /// How often to say what was done.
    pub activity: Option<Duration>,
}

/// The process of this number, which can be an application: `None` if there is none, or it is a thread, or the kernel's.
pub fn application(root: &Path, id: u32) -> Option<Process> {
    Process::read(root, id).filter(|process| process.group == id && !process.kernel)
}

/// Lets a session live until a signal asks for its end, or the scheduler goes.
///
/// # Errors
/// The session did not begin; [`SessionError::Ejected`]; [`SessionError::Activity`]. Whatever it is, the machine is given back.
pub fn stay(
    site: &Site,
    wanted: &Resident,
    events: &mut dyn Events,
    listener: &mut dyn Listener,
) -> Result<(), SessionError> {
    let mut session = Session::begin(site, &wanted.request, events.now(), listener)?;
    let mut metrics = Metrics::open(wanted.metrics, site.patience, events.now(), listener)?;
    let server = listen(events, site)?;
    for process in &wanted.applications {
        session.enter(process, &process.name, ROOT_USER, events.now()).map_err(SessionError::Application)?;
    }
    session.attach(&|| events.now())?;
    let address = metrics.as_ref().and_then(Metrics::address);
    listener.hear(Notice::Attached { backend: session.plan.backend, metrics: address });
    let ended = live(&mut session, wanted.activity, events, metrics.as_mut(), listener);
    listener.hear(Notice::Ending);
    session.turn_away();
    events.inbox().turn_away();
    let exit = session.give_back(listener);
    drop(server);
    listener.hear(Notice::Ended(exit.as_ref()));
    ended
}

/// Until a signal ends it, or the scheduler goes.
fn live(
    session: &mut Session<'_>,
    activity: Option<Duration>,
    events: &mut dyn Events,
    mut metrics: Option<&mut Metrics>,
    listener: &mut dyn Listener,
) -> Result<(), SessionError> {
    let mut due = activity.map(|every| (every, events.now() + every));
    let mut looked = events.now();
    loop {
        match events.next(session.until(events.now())) {
            Some(Event::Signal { .. }) => return Ok(()),
            Some(Event::Asked(asked)) => answer(session, asked, "attach", events.now()),
            Some(Event::Ended(_)) | None => {}
        }
        let now = events.now();
        session.work("attach", now);
        let since = |time: Instant| now.saturating_duration_since(time);
        if since(looked) < TICK {
            continue;
        }
        looked = now;
        if let Some(gone) = session.tick(now, listener) {
            return Err(SessionError::Ejected(gone));
        }
        if let Some(metrics) = &mut metrics {
            metrics.look_after(session, now, listener);
        }
        if let Some((every, at)) = due.as_mut().filter(|(_, at)| *at <= now) {
            *at += *every;
            listener.activity(&session.measured(now), &session.counters()).map_err(SessionError::Activity)?;
        }
    }
}
