// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control socket: programs tell a running Tandem how long their threads are, and ask what runs.
//!
//! [`request`]: what can be said. [`rights`]: who may say it. [`hints`]: how much of it is kept. [`Server`] listens.
//!
//! Anybody may connect, so nobody is trusted: lines are short, connections are counted, an answer that is not taken at once
//! ends its connection, and one thread serves all in turn, a few lines of each. What is asked is answered by a function of
//! whoever owns the server, one request at a time.

pub mod hints;
pub mod request;
pub mod rights;
#[cfg(test)]
mod tests;

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

pub use request::{Request, RequestError};
pub use rights::{Denied, Peer};

/// Bytes of a request, at most.
pub const MAX_LINE: usize = 128;
/// Connections of one user, at most: programs keep theirs while they run.
const MOST_OF_USER: usize = 128;
/// Connections of all.
const MOST: usize = 512;
/// Bytes that are taken of a connection before others have their turn.
const PORTION: usize = 4096;

/// What a request is answered with: a text, or why not.
pub type Answer = Result<String, String>;

/// Why there is no control socket, or nobody behind it.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket cannot be made.
    #[error("{}: the control socket cannot be made: {why}", path.display())]
    Listen {
        /// Path of the socket.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// Nobody listens.
    #[error("{}: nobody listens: Tandem does not run (`tandem status` says more)", path.display())]
    Nobody {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The connection ended early.
    #[error("{}: {why}", path.display())]
    Lost {
        /// Path of the socket.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

/// A socket that is listened to; closed and removed when this is dropped.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    /// Closed to end the thread.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `path`, where everybody may connect; what an earlier one left there goes. `answer` is called in a thread of
    /// the server's, once for each request; its text must be one line.
    ///
    /// # Errors
    /// [`ControlError::Listen`].
    pub fn start(
        path: &Path,
        answer: impl FnMut(Peer, Request) -> Answer + Send + 'static,
    ) -> Result<Self, ControlError> {
        let failed = |why| ControlError::Listen { path: path.to_owned(), why };
        let (listener, wake, woken) = listen(path).map_err(failed)?;
        let mut room = Room { answer, listener, woken, clients: Vec::new() };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(move || room.serve());
        Ok(Self { path: path.to_owned(), wake: Some(wake), thread: Some(thread.map_err(failed)?) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(path: &Path) -> io::Result<(UnixListener, UnixStream, UnixStream)> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    listener.set_nonblocking(true)?;
    let (wake, woken) = UnixStream::pair()?;
    Ok((listener, wake, woken))
}

/// Somebody who is connected.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    peer: Peer,
    /// What has come of a line.
    input: Vec<u8>,
    gone: bool,
}

/// What the server's thread has.
struct Room<A> {
    answer: A,
    listener: UnixListener,
    woken: UnixStream,
    clients: Vec<Client>,
}

impl<A: FnMut(Peer, Request) -> Answer> Room<A> {
    /// Serves until the other end of `woken` is closed.
    fn serve(&mut self) {
        while let Some(ready) = self.wait() {
            for (client, _) in self.clients.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
                client.serve(&mut self.answer);
            }
            self.clients.retain(|client| !client.gone);
            self.accept();
        }
    }

    /// Waits for somebody; which of the clients have something to say. `None`: it is time to end.
    fn wait(&self) -> Option<Vec<bool>> {
        let fixed = [self.woken.as_fd(), self.listener.as_fd()];
        let all = fixed.into_iter().chain(self.clients.iter().map(|client| client.stream.as_fd()));
        let mut waiting: Vec<PollFd<'_>> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => return Some(Vec::new()),
            Err(_) => return None,
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        (!ready[0]).then(|| ready[2..].to_vec())
    }

    /// Lets those in who knock, as far as there is room. That of a user is limited: the others shall find some.
    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let Ok(credentials) = getsockopt(&stream, PeerCredentials) else { continue };
            let peer = Peer { user: credentials.uid(), process: credentials.pid().unsigned_abs() };
            let mut client = Client { stream, peer, input: Vec::new(), gone: false };
            let of_user = self.clients.iter().filter(|other| other.peer.user == peer.user).count();
            let is_full = self.clients.len() >= MOST || (peer.user != 0 && of_user >= MOST_OF_USER);
            if is_full || client.stream.set_nonblocking(true).is_err() {
                client.say(&Err("too many connections: close some".to_owned()));
            } else {
                self.clients.push(client);
            }
        }
    }
}

impl Client {
    /// Reads a portion, and answers the lines that are complete.
    fn serve(&mut self, answer: &mut impl FnMut(Peer, Request) -> Answer) {
        let mut portion = [0; PORTION];
        match self.stream.read(&mut portion) {
            Ok(0) => self.gone = true,
            Ok(length) => self.input.extend_from_slice(&portion[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.gone = true,
        }
        let input = std::mem::take(&mut self.input);
        let mut rest = input.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = (&rest[..end], &rest[end + 1..]);
            let said = match parse(line) {
                Ok(request) => answer(self.peer, request),
                Err(error) => Err(error.to_string()),
            };
            self.say(&said);
            if self.gone {
                return;
            }
            rest = behind;
        }
        if rest.len() > MAX_LINE {
            self.say(&Err(RequestError::Line.to_string()));
            self.gone = true;
        }
        self.input = rest.to_vec();
    }

    /// Answers; who does not take it at once is sent away.
    fn say(&mut self, answer: &Answer) {
        let line = match answer {
            Ok(text) if text.is_empty() => "ok\n".to_owned(),
            Ok(text) => format!("{text}\n"),
            Err(why) => format!("error {}\n", why.replace('\n', " ")),
        };
        let written = self.stream.write(line.as_bytes());
        self.gone |= written.map_or(true, |length| length < line.len());
    }
}

/// Reads a line as it came, without its end.
///
/// # Errors
/// [`RequestError`], to be told to whoever asked.
pub fn parse(line: &[u8]) -> Result<Request, RequestError> {
    let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= MAX_LINE && !text.contains(char::is_control));
    Request::parse(text.ok_or(RequestError::Line)?)
}

/// Asks whoever listens at `path`, and waits for the answer at most that long.
///
/// # Errors
/// [`ControlError::Nobody`], [`ControlError::Lost`].
pub fn ask(path: &Path, request: &str, patience: Duration) -> Result<Answer, ControlError> {
    let lost = |why| ControlError::Lost { path: path.to_owned(), why };
    let mut stream = UnixStream::connect(path).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::Nobody { path: path.to_owned() },
        _ => lost(why),
    })?;
    stream.set_read_timeout(Some(patience)).map_err(lost)?;
    stream.write_all(format!("{request}\n").as_bytes()).map_err(lost)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(lost)?;
    let Some(line) = line.strip_suffix('\n') else {
        return Err(lost(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up without an answer")));
    };
    Ok(match line.strip_prefix("error ") {
        Some(why) => Err(why.to_owned()),
        None => Ok(line.to_owned()),
    })
}
