// SPDX-License-Identifier: GPL-2.0-only
//! `tandem attach`: a session that stays until it is told to go.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use sd_notify::NotifyState;
use tandem_live::meter::Meters;
use tandem_live::metrics::Endpoint;
use tandem_live::process::Process;

use super::activity::Activity;
use super::events::{Event, Events};
use super::mechanisms::MechanismOptions;
use super::session::{ROOT, SOCKET, Session, TICK};
use super::{say, seconds, status};
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  sudo tandem attach --all --stats 10
  sudo tandem attach --isolate shared --application 4242
  sudo tandem attach --all --metrics 9435 && curl http://127.0.0.1:9435/metrics
  sudo systemctl start tandem

It stays until Ctrl-C or SIGTERM, and gives the machine back then. Exit status: 0; 125 if it could not begin; 2 a mistake
in an option; 4 if the scheduler was ejected. docs/live.md is the guide.";

/// Let Tandem's scheduler run until told otherwise, for all programs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Attach {
    #[command(flatten)]
    mechanisms: MechanismOptions,

    /// A process that is an application, with all that it starts; may be repeated. Others announce themselves later
    #[arg(long = "application", value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=0x7fff_ffff))]
    applications: Vec<u32>,

    /// Hand out metrics for Prometheus (OpenMetrics), on this machine only, at `http://127.0.0.1:PORT/metrics`
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    metrics: Option<SocketAddr>,

    /// Say on standard output what was done, every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stats: Option<Duration>,
}

impl Attach {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let applications = self.applications.iter().map(|process| application(*process));
        let applications = applications.collect::<Result<Vec<_>, _>>()?;
        // Before anything is changed: who is interrupted meanwhile gives it back.
        let events =
            Events::watch().map_err(|error| Failure::NotStarted(format!("cannot watch for signals: {error}")))?;
        let mut session = Session::begin(&self.mechanisms.request())?;
        let endpoint = self.metrics.map(Endpoint::open).transpose();
        let endpoint = endpoint.map_err(|error| Failure::NotStarted(error.to_string()))?;
        let server = events.listen(Path::new(SOCKET)).map_err(|error| Failure::NotStarted(error.to_string()))?;
        for process in applications {
            session.enter(process.id, &process.name).map_err(Failure::NotStarted)?;
        }
        session.attach()?;
        notify(&[NotifyState::Ready]);
        say(&format!("attached, by {}; Ctrl-C or SIGTERM ends it", session.backend_name()));
        if let Some(endpoint) = &endpoint {
            say(&format!("metrics are at http://{}/metrics", endpoint.address()));
        }
        let ended = self.stay(&mut session, &events, endpoint.as_ref(), context);
        notify(&[NotifyState::Stopping]);
        let exit = session.give_back();
        drop(server);
        if let Some(exit) = exit.filter(tandem_live::Exit::is_error) {
            say(&exit.dump);
        }
        ended
    }

    /// Until somebody ends it, or the scheduler goes.
    fn stay(
        &self,
        session: &mut Session,
        events: &Events,
        endpoint: Option<&Endpoint>,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let mut activity = Activity::default();
        let mut due = self.stats.map(|every| Instant::now() + every);
        let (mut looked, mut published) = (Instant::now(), None);
        loop {
            match events.next(Instant::now() + TICK) {
                Some(Event::Signal { .. }) => return Ok(()),
                Some(Event::Asked { peer, request, reply }) => {
                    let _ = reply.send(status::answer(session, peer, request, "attach"));
                }
                Some(Event::Ended(_)) | None => {}
            }
            if looked.elapsed() < TICK {
                continue;
            }
            looked = Instant::now();
            if let Some(gone) = session.tick() {
                return Err(Failure::Ejected(gone.to_string()));
            }
            if published.is_none_or(|at: Instant| at.elapsed() >= Meters::INTERVAL) {
                published = Some(Instant::now());
                if let Some(endpoint) = endpoint {
                    endpoint.publish(session.snapshot());
                }
            }
            if let Some((every, at)) = self.stats.zip(due).filter(|(_, at)| *at <= Instant::now()) {
                due = Some(at + every);
                let line = activity.line(&session.measured(), &session.counters());
                writeln!(context.out, "{line}").and_then(|()| context.out.flush())?;
            }
        }
    }
}

/// A process that is to be an application.
fn application(id: u32) -> Result<Process, Failure> {
    let found = Process::read(Path::new(ROOT), id).filter(|process| process.group == id && !process.kernel);
    found.ok_or_else(|| Failure::Options(format!("--application {id}: there is no such process, or it is a thread")))
}

/// Reads `9435` or `127.0.0.1:9435`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let of_port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let address: SocketAddr = of_port.or_else(|_| text.parse()).map_err(|_| {
        "expected a port, or an address of this machine's own with one: 9435, 127.0.0.1:9435, [::1]:9435".to_owned()
    })?;
    if !address.ip().is_loopback() {
        return Err("metrics are for this machine only: an address that others can reach is refused".to_owned());
    }
    Ok(address)
}

/// Tells the service manager, if there is one.
fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}
