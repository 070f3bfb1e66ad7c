// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens while a session lives, in one queue ([`Inbox`]): signals, the command's end, what is asked over the control
//! socket. And the time: a test has both in its hands.

use std::fs;
use std::io;
use std::thread;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

pub use super::inbox::Inbox;
use super::site::Site;
use crate::control::{Asked, ControlError, Server};

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A signal that asks for the end.
    Signal {
        /// Number of the signal.
        number: i32,
        /// Whether the terminal sent it, and so the command has it, too.
        of_terminal: bool,
    },
    /// The command has ended.
    Ended(Ending),
    /// A program asks at the control socket.
    Asked(Asked),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(Signal),
    /// That is not known.
    Unknown,
}

/// A queue of events, and the time in which they happen.
pub trait Events {
    /// The time now.
    fn now(&self) -> Instant;

    /// Waits for the next event; `None` if nothing happens until then.
    fn next(&mut self, until: Instant) -> Option<Event>;

    /// The queue, for another thread that has events.
    fn inbox(&self) -> Inbox;

    /// From now on the end of this process is an event, and orphans that it leaves stay in sight.
    ///
    /// # Errors
    /// The system has no thread left that could wait.
    fn await_end(&mut self, command: u32) -> io::Result<()>;
}

/// Listens at the control socket: each request is an event.
pub(super) fn listen(events: &dyn Events, site: &Site) -> Result<Server, ControlError> {
    let inbox = events.inbox();
    Server::listen(&site.socket(), site.peers.clone(), move |asked| inbox.ask(asked))
}

/// The events of this process, by the clock.
#[derive(Debug)]
pub struct ProcessEvents(Inbox);

impl ProcessEvents {
    /// A queue in which from now on stand SIGINT, SIGTERM, SIGQUIT and SIGHUP; but not what was ignored before, as SIGHUP is
    /// under `nohup`.
    ///
    /// # Errors
    /// The system does not let signals be watched.
    pub fn watch() -> io::Result<Self> {
        let inbox = Inbox::default();
        let ignored = ignored_signals();
        let wanted = [SIGINT, SIGTERM, SIGQUIT, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = SignalsInfo::<WithOrigin>::new(wanted)?;
        let of_signals = inbox.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for origin in signals.forever() {
                let of_terminal = matches!(origin.cause, Cause::Kernel);
                if !of_signals.tell(Event::Signal { number: origin.signal, of_terminal }) {
                    return;
                }
            }
        })?;
        Ok(Self(inbox))
    }
}

impl Drop for ProcessEvents {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Events for ProcessEvents {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn next(&mut self, until: Instant) -> Option<Event> {
        self.0.wait(until)
    }

    fn inbox(&self) -> Inbox {
        self.0.clone()
    }

    /// Waits for all else that becomes a child of this process, too: orphans of the command do.
    fn await_end(&mut self, command: u32) -> io::Result<()> {
        // Without it orphans go to another process, and are seen no more; the command's end is seen all the same.
        let _ = set_child_subreaper(true);
        let inbox = self.0.clone();
        thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let is_command = |process: Pid| process.as_raw().unsigned_abs() == command;
            loop {
                let ending = match waitpid(None, None) {
                    Ok(WaitStatus::Exited(process, status)) if is_command(process) => Ending::Exited(status),
                    Ok(WaitStatus::Signaled(process, signal, _)) if is_command(process) => Ending::Killed(signal),
                    Ok(_) | Err(Errno::EINTR) => continue,
                    Err(_) => Ending::Unknown,
                };
                if !inbox.tell(Event::Ended(ending)) || ending == Ending::Unknown {
                    return;
                }
            }
        })?;
        Ok(())
    }
}

/// The signals that this process ignores, as a set: signal N is bit N - 1.
pub fn ignored_signals() -> u64 {
    ignored_in(&fs::read_to_string("/proc/self/status").unwrap_or_default())
}

/// The set of ignored signals in a `/proc/PID/status`; empty if it does not say.
fn ignored_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        // SIGHUP is signal 1, SIGINT 2.
        assert_eq!(ignored_in("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored_in(""), 0);
    }
}
