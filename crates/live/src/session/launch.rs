// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts a session's command: as its user, and not before the scheduler knows it, so that nothing it starts can escape.
//!
//! [`launch`] starts a program that calls [`Waiting::become_command`]: it waits at a pipe until it is told to go on, becomes the
//! user, and then the command. Its process number is that of the command all the time.
//!
//! A command gets no descriptor but the standard streams. If it is another user's, of root's environment it gets a stated
//! list ([`KEPT`](super::environment::KEPT)); and if that user did not call for it, the terminal is root's: the command is
//! started in a session of its own, so that it cannot type there (`TIOCSTI`).

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Gid, Pid, Uid, close, setgid, setgroups, setsid, setuid};

use super::descriptors::close_reaching_commands;
use super::environment::{Variable, environment};
use super::user::Identity;
use crate::accounts;

/// Exit statuses as shells have them: the command was not started; it cannot be executed; it was not found.
const NOT_STARTED: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// A command that a session is around: it waits for its start.
pub trait Command {
    /// The command's process.
    fn process(&self) -> u32;

    /// Lets it begin. If this is never called it ends without having done anything.
    ///
    /// # Errors
    /// The command's process is gone.
    fn go(&mut self) -> io::Result<()>;

    /// Sends a signal to a process of it. One that has ended needs none.
    fn send(&self, process: u32, signal: Signal);

    /// Whether the terminal sends it no signals, as it is in a session of its own.
    fn is_apart(&self) -> bool {
        false
    }
}

/// A command of this machine.
#[derive(Debug)]
pub struct Launched {
    process: u32,
    gate: io::PipeWriter,
    apart: bool,
}

/// Starts a command that waits, with the variables that are given to it. `helper` is a program, with its first arguments, that
/// reads what follows them into a [`Waiting`]: `--gate=FD`, for another user `--user=UID --group=GID` and `--name=NAME`,
/// `--apart`, then `--` and the command.
///
/// # Errors
/// The system has no more processes or pipes.
pub fn launch(
    mut helper: process::Command,
    command: &[OsString],
    user: Option<&Identity>,
    given: &[Variable],
) -> io::Result<Launched> {
    let (waiting, gate) = io::pipe()?;
    // The only thing beside the standard streams that what is started inherits; it closes that itself.
    fcntl(&waiting, FcntlArg::F_SETFD(FdFlag::empty()))?;
    helper.arg(format!("--gate={}", waiting.as_raw_fd()));
    helper.env_clear().envs(environment(env::vars_os(), user, given));
    let apart = user.is_some_and(|user| !user.called && !user.is_root());
    if let Some(Identity { user, group, name, .. }) = user {
        helper.arg(format!("--user={user}")).arg(format!("--group={group}"));
        helper.args(name.as_ref().map(|name| format!("--name={name}")));
        helper.args(apart.then_some("--apart"));
    }
    let process = helper.arg("--").args(command).stdin(Stdio::inherit()).spawn()?.id();
    Ok(Launched { process, gate, apart })
}

impl Command for Launched {
    fn process(&self) -> u32 {
        self.process
    }

    fn go(&mut self) -> io::Result<()> {
        self.gate.write_all(b"g")
    }

    fn send(&self, process: u32, signal: Signal) {
        let Ok(number) = i32::try_from(process) else { return };
        let number = Pid::from_raw(number);
        // As the terminal does: the command, and what belongs to it.
        let sent = self.apart && process == self.process && killpg(number, signal).is_ok();
        if !sent {
            let _ = kill(number, signal);
        }
    }

    fn is_apart(&self) -> bool {
        self.apart
    }
}

/// What a started program is told: when to begin, as whom, and what to become.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The end of a pipe to wait at.
    pub gate: i32,
    /// The user to become; `None`, or no group: it stays who it is.
    pub user: Option<u32>,
    /// The user's main group.
    pub group: Option<u32>,
    /// The user's name, if they have an entry in the password file.
    pub name: Option<String>,
    /// Whether it begins a session of its own, without a terminal that it could type at.
    pub apart: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Why a command did not begin.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// The process that was to say so has given up, and said why.
    #[error("not told to begin")]
    GivenUp,
    /// The pipe cannot be read.
    #[error("cannot wait to be told to begin: {0}")]
    Gate(io::Error),
    /// Nobody can tell what the program would have of this process.
    #[error("cannot close what the command must not have: {0}")]
    Descriptors(io::Error),
    /// The process cannot become the user.
    #[error("cannot become the command's user: {0}")]
    User(io::Error),
    /// The process cannot become the program.
    #[error("{}: {why}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

impl NotBegun {
    /// The exit status of a process that could not become its command: 125, or as shells have it 126 and 127.
    pub fn status(&self) -> u8 {
        match self {
            Self::Program { why, .. } if why.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            Self::Program { .. } => NOT_EXECUTABLE,
            Self::GivenUp | Self::Gate(_) | Self::Descriptors(_) | Self::User(_) => NOT_STARTED,
        }
    }
}

impl Waiting {
    /// Waits for the start, and becomes the command; what went wrong if it returns.
    pub fn become_command(&self) -> NotBegun {
        if self.apart {
            // It fails for who leads a group of processes already: nobody does who was just started.
            let _ = setsid();
        }
        match self.wait() {
            Ok(true) => {}
            Ok(false) => return NotBegun::GivenUp,
            Err(why) => return NotBegun::Gate(why),
        }
        // While it is root: of a process that was root /proc shows nothing.
        if let Err(why) = close_reaching_commands() {
            return NotBegun::Descriptors(why);
        }
        if let Err(why) = self.become_user() {
            return NotBegun::User(why);
        }
        let [program, arguments @ ..] = self.command.as_slice() else { return NotBegun::GivenUp };
        let why = process::Command::new(program).args(arguments).exec();
        NotBegun::Program { program: program.into(), why }
    }

    /// Waits to be told to go on; false if there is no process any more that could say so.
    fn wait(&self) -> io::Result<bool> {
        let mut pipe = File::open(format!("/proc/self/fd/{}", self.gate))?;
        close(self.gate)?;
        Ok(pipe.read(&mut [0])? == 1)
    }

    /// Groups first: a process that has given up root cannot change them.
    fn become_user(&self) -> io::Result<()> {
        let (Some(user), Some(group)) = (self.user, self.group) else { return Ok(()) };
        let group = Gid::from_raw(group);
        match &self.name {
            Some(name) => setgroups(&accounts::groups_of(name, group.as_raw())?)?,
            None => setgroups(&[group])?,
        }
        setgid(group)?;
        setuid(Uid::from_raw(user))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd;

    use nix::sys::wait::{WaitStatus, waitpid};

    use super::*;

    /// A shell that waits at the gate as a [`Waiting`] does, then becomes a shell that exits with 7.
    fn launched() -> Launched {
        let script = r#"gate=${1#--gate=}; shift 2; [ "$(head -c1 /proc/self/fd/$gate)" = g ] || exit 1; exec "$@""#;
        let mut helper = process::Command::new("sh");
        helper.args(["-c", script, "sh"]);
        launch(helper, &["sh", "-c", "exit 7"].map(OsString::from), None, &[]).unwrap()
    }

    fn ending(process: u32) -> WaitStatus {
        waitpid(Pid::from_raw(process.cast_signed()), None).unwrap()
    }

    #[test]
    fn a_command_begins_when_it_is_told_to() {
        let mut command = launched();
        command.go().unwrap();
        assert!(matches!(ending(command.process()), WaitStatus::Exited(_, 7)));
    }

    #[test]
    fn a_command_that_is_never_told_to_begin_ends_without_having_done_anything() {
        let command = launched();
        let process = command.process();
        drop(command);
        assert!(matches!(ending(process), WaitStatus::Exited(_, 1)));
    }

    #[test]
    fn a_waiting_command_gets_signals() {
        let command = launched();
        command.send(command.process(), Signal::SIGKILL);
        assert!(matches!(ending(command.process()), WaitStatus::Signaled(_, Signal::SIGKILL, _)));
    }

    fn become_with(gate: i32) -> NotBegun {
        Waiting { gate, user: None, group: None, name: None, apart: false, command: vec!["true".into()] }
            .become_command()
    }

    #[test]
    fn a_process_whose_gate_is_closed_has_nothing_to_become() {
        let (waiting, gate) = io::pipe().unwrap();
        drop(gate);
        let given_up = become_with(waiting.into_raw_fd());
        assert_eq!((given_up.to_string(), given_up.status()), ("not told to begin".to_owned(), 125));
        // No process has so many descriptors.
        assert!(matches!(become_with(i32::MAX), NotBegun::Gate(_)));
    }
}
