// SPDX-License-Identifier: GPL-2.0-only
//! `tandem hint`: says how long a thread is. `tandem announce`: says that a process is an application.

use std::os::unix::process::parent_id;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use tandem_live::control::ask;
use tandem_live::control::request::MAX_LENGTH;
use tandem_live::session::SOCKET;

use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  tandem hint 700                 the calling shell's length
  tandem hint --thread 4242 700
  tandem hint --thread 4242 --next 700    of the thread that 4242 creates next

C programs call tandem_hint(700) of tandem.h in each thread, or tandem_hint_next(700) before they create it.";

const ANNOUNCE: &str = "\
With isolation only root may announce, unless root started the session with `--announce anybody` or `--announce GROUP`: an
application keeps all other programs off its CPUs. docs/live.md says more.";

/// Tell a running Tandem how long a thread is, relative to other threads of its program
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Hint {
    /// The thread, by its number as `ps -L` shows it; without it the process that calls this
    #[arg(long, value_name = "TID", value_parser = clap::value_parser!(u32).range(1..=0x7fff_ffff))]
    thread: Option<u32>,

    /// Speak of the next thread that this one creates, before it does; only under sched_ext
    #[arg(long, requires = "thread")]
    next: bool,

    /// Any number that is larger for longer threads, such as the number of rounds that it will do
    #[arg(value_name = "LENGTH", value_parser = clap::value_parser!(u64).range(1..=MAX_LENGTH))]
    length: u64,
}

/// Tell a running Tandem that a process, with all that it has started and will start, is an application
#[derive(Debug, Args)]
#[command(after_help = ANNOUNCE)]
pub struct Announce {
    /// The process, one of yours unless you are root; without it the one that calls this, such as a shell
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=0x7fff_ffff))]
    process: Option<u32>,
}

impl Hint {
    /// Runs the command.
    pub fn run(&self, _: &mut Context<'_>) -> Result<(), Failure> {
        let thread = self.thread.unwrap_or_else(parent_id);
        let word = if self.next { "hint-next" } else { "hint" };
        tell(&format!("{word} {thread} {}", self.length))
    }
}

impl Announce {
    /// Runs the command.
    pub fn run(&self, _: &mut Context<'_>) -> Result<(), Failure> {
        let process = self.process.unwrap_or_else(parent_id);
        tell(&format!("application {process}"))
    }
}

fn tell(request: &str) -> Result<(), Failure> {
    let answer = ask(Path::new(SOCKET), request, Duration::from_secs(5));
    answer.map_err(|error| Failure::System(error.to_string()))?.map(drop).map_err(Failure::System)
}
