// SPDX-License-Identifier: GPL-2.0-only
//! Starts the command: as its user, and not before the scheduler knows it, so that nothing it starts can escape.
//!
//! This program calls itself ([`Launch`]). What it has become waits at a pipe until it is told to go on, becomes the user, and
//! then the command: its process number is that of the command all the time.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write, stderr};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use clap::Args;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::{Gid, Uid, close, initgroups, setgid, setgroups, setuid};

use super::user::Identity;
use crate::failure::{Failure, NOT_STARTED};

/// The name of the hidden command.
const NAME: &str = "launch";
/// Exit statuses as shells have them: the command cannot be executed; it was not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// What sudo says of itself, which a command that the user had started would not see.
const OF_SUDO: [&str; 6] = ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "SUDO_HOME", "DOAS_USER"];

/// A command that waits for its start.
#[derive(Debug)]
pub struct Launched {
    /// Its process.
    pub process: u32,
    gate: io::PipeWriter,
}

/// Starts a command that waits.
///
/// # Errors
/// The system has no more processes or pipes.
pub fn launch(command: &[OsString], user: Option<&Identity>) -> io::Result<Launched> {
    let (waiting, gate) = io::pipe()?;
    // The only thing beside the standard streams that what is started inherits; it closes that itself.
    fcntl(&waiting, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let mut helper = Command::new("/proc/self/exe");
    helper.arg0("tandem").arg(NAME).arg(format!("--gate={}", std::os::fd::AsRawFd::as_raw_fd(&waiting)));
    if let Some(Identity { user, group, name, home, shell }) = user {
        helper.arg(format!("--user={user}")).arg(format!("--group={group}"));
        helper.env("HOME", home).env("SHELL", shell);
        if let Some(name) = name {
            helper.arg(format!("--name={name}")).env("USER", name).env("LOGNAME", name);
        }
        for variable in OF_SUDO {
            helper.env_remove(variable);
        }
    }
    let process = helper.arg("--").args(command).stdin(Stdio::inherit()).spawn()?.id();
    Ok(Launched { process, gate })
}

impl Launched {
    /// Lets it begin. If this is never called it ends without having done anything.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn go(mut self) -> io::Result<()> {
        self.gate.write_all(b"g")
    }
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

    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Launch {
    /// Becomes the command; what went wrong if it returns.
    pub fn run(&self) -> Failure {
        let failed = |what: &str, why: io::Error| {
            let _ = writeln!(stderr(), "tandem: {what}: {why}");
            Failure::Status(NOT_STARTED)
        };
        match self.wait() {
            Ok(true) => {}
            // Whoever started this has given up, and said why.
            Ok(false) => return Failure::Status(NOT_STARTED),
            Err(why) => return failed("cannot wait to be told to begin", why),
        }
        if let Err(why) = self.become_user() {
            return failed("cannot become the command's user", why);
        }
        let [program, arguments @ ..] = self.command.as_slice() else { return Failure::Status(NOT_STARTED) };
        let why = Command::new(program).args(arguments).exec();
        let status = if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
        let _ = writeln!(stderr(), "tandem: {}: {why}", program.display());
        Failure::Status(status)
    }

    /// Waits until somebody says go on; false if there is nobody any more.
    fn wait(&self) -> io::Result<bool> {
        let mut pipe = File::open(format!("/proc/self/fd/{}", self.gate))?;
        close(self.gate)?;
        Ok(pipe.read(&mut [0])? == 1)
    }

    /// Groups first: who has given up root cannot change them.
    fn become_user(&self) -> io::Result<()> {
        let (Some(user), Some(group)) = (self.user, self.group) else { return Ok(()) };
        let group = Gid::from_raw(group);
        match &self.name {
            Some(name) => initgroups(&CString::new(name.as_str())?, group)?,
            None => setgroups(&[group])?,
        }
        setgid(group)?;
        setuid(Uid::from_raw(user))?;
        Ok(())
    }
}
