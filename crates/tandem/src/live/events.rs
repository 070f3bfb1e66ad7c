// SPDX-License-Identifier: GPL-2.0-only
//! What happens while a scheduler runs, in one queue: signals, the command's end, what is asked over the control socket.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use tandem_live::control::{Answer, ControlError, Peer, Request, Server};

use crate::files::ignored_signals;

/// How long somebody who asks waits for an answer, at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A signal that asks for the end.
    Signal {
        /// Its number.
        number: i32,
        /// Whether the terminal sent it, and so the command has it, too.
        of_terminal: bool,
    },
    /// The command has ended.
    Ended(Ending),
    /// Somebody asks; the answer goes to `reply`.
    Asked {
        /// Who.
        peer: Peer,
        /// What.
        request: Request,
        /// Where they wait.
        reply: SyncSender<Answer>,
    },
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(Signal),
    /// Nobody knows.
    Unknown,
}

/// The queue.
#[derive(Debug)]
pub struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

impl Events {
    /// A queue in which from now on stand SIGINT, SIGTERM, SIGQUIT and SIGHUP; but not what was ignored before, as SIGHUP is
    /// under `nohup`.
    ///
    /// # Errors
    /// The system does not let signals be watched.
    pub fn watch() -> io::Result<Self> {
        let (sender, receiver) = channel();
        let ignored = ignored_signals();
        let wanted = [SIGINT, SIGTERM, SIGQUIT, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = SignalsInfo::<WithOrigin>::new(wanted)?;
        let of_signals = sender.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for origin in signals.forever() {
                let of_terminal = matches!(origin.cause, Cause::Kernel);
                if of_signals.send(Event::Signal { number: origin.signal, of_terminal }).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { sender, receiver })
    }

    /// Listens at the control socket.
    ///
    /// # Errors
    /// [`ControlError::Listen`].
    pub fn listen(&self, path: &Path) -> Result<Server, ControlError> {
        let sender = self.sender.clone();
        Server::start(path, move |peer, request| {
            let (reply, answer) = sync_channel(1);
            let ending = || "Tandem is just ending".to_owned();
            sender.send(Event::Asked { peer, request, reply }).map_err(|_| ending())?;
            answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(ending()))
        })
    }

    /// Waits for the command to end, and for whatever else becomes a child of this process: orphans of the command do.
    ///
    /// # Errors
    /// There is no thread left to wait in.
    pub fn await_end(&self, command: u32) -> io::Result<()> {
        let sender = self.sender.clone();
        thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let is_command = |process: Pid| process.as_raw().unsigned_abs() == command;
            loop {
                let ending = match waitpid(None, None) {
                    Ok(WaitStatus::Exited(process, status)) if is_command(process) => Ending::Exited(status),
                    Ok(WaitStatus::Signaled(process, signal, _)) if is_command(process) => Ending::Killed(signal),
                    Ok(_) | Err(Errno::EINTR) => continue,
                    Err(_) => Ending::Unknown,
                };
                if sender.send(Event::Ended(ending)).is_err() || ending == Ending::Unknown {
                    return;
                }
            }
        })?;
        Ok(())
    }

    /// The next one; `None` if nothing happens until then.
    pub fn next(&self, until: Instant) -> Option<Event> {
        // The queue has a sender of its own: it ends by the time alone.
        self.receiver.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }
}
