// SPDX-License-Identifier: GPL-2.0-only
//! `tandem attach`: a session that stays until it is told to go.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use tandem_live::meter::Measured;
use tandem_live::session::events::ProcessEvents;
use tandem_live::session::{Listener, Notice, Resident, application, stay};

use super::activity::Activity;
use super::mechanisms::MechanismOptions;
use super::words::tell;
use super::{seconds, site};
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  sudo tandem attach --stats 10
  sudo tandem attach --isolate shared --application 4242
  sudo tandem attach --isolate dedicated --announce jobs
  sudo tandem attach --metrics 9435 && curl http://127.0.0.1:9435/metrics
  sudo systemctl start tandem

It stays until Ctrl-C or SIGTERM, and gives the machine back then. Exit status: 0; 125 if it could not begin; 2 a mistake
in an option; 4 if the scheduler was ejected. docs/live.md is the guide.";

/// Let Tandem's scheduler run until told otherwise, for all programs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Attach {
    #[command(flatten)]
    mechanisms: MechanismOptions,

    /// A process that is an application, with all that it starts; may be repeated. Others are
    /// announced later, by whom `--announce` allows
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
        // Before anything is changed: an interrupt meanwhile gives it back.
        let mut events = ProcessEvents::watch()
            .map_err(|error| Failure::NotStarted(format!("cannot watch for signals: {error}")))?;
        let site = site();
        let found = |process: &u32| {
            let missing = || format!("--application {process}: there is no such process, or it is a thread");
            application(&site.root, *process).ok_or_else(|| Failure::Options(missing()))
        };
        let applications = self.applications.iter().map(found).collect::<Result<_, _>>()?;
        let wanted =
            Resident { request: self.mechanisms.request()?, applications, metrics: self.metrics, activity: self.stats };
        Ok(stay(&site, &wanted, &mut events, &mut Speaker { out: context.out, activity: Activity::default() })?)
    }
}

/// Says on standard output what was done lately, and all else on standard error.
struct Speaker<'a> {
    out: &'a mut dyn Write,
    activity: Activity,
}

impl Listener for Speaker<'_> {
    fn hear(&mut self, notice: Notice<'_>) {
        tell(&notice);
    }

    fn activity(&mut self, measured: &Measured, counters: &[(String, u64)]) -> io::Result<()> {
        writeln!(self.out, "{}", self.activity.line(measured, counters))?;
        self.out.flush()
    }
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
