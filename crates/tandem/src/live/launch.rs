// SPDX-License-Identifier: GPL-2.0-only
//! The hidden command that `tandem run` calls itself by: it becomes the command that is run ([`tandem_live::session::launch`]).

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;
use tandem_live::session::launch::{NotBegun, Waiting};

use crate::failure::Failure;

/// The name of the hidden command.
const NAME: &str = "launch";

/// This program, called to become a command.
pub fn helper() -> Command {
    let mut helper = Command::new("/proc/self/exe");
    helper.arg0("tandem").arg(NAME);
    helper
}

/// Become a user, then a command: how `tandem run` starts its command
#[derive(Debug, Args)]
pub struct Launch {
    /// The end of a pipe to wait at
    #[arg(long)]
    gate: i32,

    #[arg(long)]
    user: Option<u32>,

    #[arg(long)]
    group: Option<u32>,

    #[arg(long)]
    name: Option<String>,

    /// Begin a session without a terminal
    #[arg(long)]
    apart: bool,

    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Launch {
    /// Becomes the command; what went wrong if it returns.
    pub fn run(&self) -> Failure {
        let Self { gate, user, group, name, apart, command } = self;
        let (name, command) = (name.clone(), command.clone());
        let waiting = Waiting { gate: *gate, user: *user, group: *group, name, apart: *apart, command };
        let error = waiting.become_command();
        // The process that has given up has said why.
        if !matches!(error, NotBegun::GivenUp) {
            let _ = writeln!(stderr(), "tandem: {error}");
        }
        Failure::Status(error.status())
    }
}
