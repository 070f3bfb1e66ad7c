// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listens at the control socket: one thread that reads lines and writes answers, and waits for neither.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::client::Client;
use super::pace::{Pace, cost};
use super::rights::ROOT_USER;
use super::{Answer, Asked, ControlError, KernelPeers, Peer, Peers, Reply, Request};

/// Connections of one user, at most: programs keep theirs while they run.
pub(super) const MOST_OF_USER: usize = 128;
/// Connections of all users but root.
pub(super) const MOST: usize = 512;
/// Connections of root, for which there is room whatever others have.
pub(super) const MOST_OF_ROOT: usize = 64;
/// Connections that are let in before those who are in have their turn.
const MOST_AT_ONCE: usize = 64;
/// After an error that may last, such as no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

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
        mut answer: impl FnMut(Peer, Request) -> Answer + Send + 'static,
    ) -> Result<Self, ControlError> {
        let at_once = move |Asked { peer, request, reply }: Asked| reply.send(answer(peer, request));
        Self::listen(path, Arc::new(KernelPeers), at_once)
    }

    /// Listens as [`start`](Self::start) does; `asked` takes each request, and somebody answers it later. Of one connection no
    /// other request comes before that.
    ///
    /// # Errors
    /// [`ControlError::Listen`].
    pub fn listen(
        path: &Path,
        peers: Arc<dyn Peers>,
        asked: impl FnMut(Asked) + Send + 'static,
    ) -> Result<Self, ControlError> {
        Self::listen_by(path, peers, asked, Instant::now)
    }

    /// Listens as [`listen`](Self::listen) does, by a clock that a test may have in its hands.
    ///
    /// # Errors
    /// [`ControlError::Listen`].
    pub(super) fn listen_by(
        path: &Path,
        peers: Arc<dyn Peers>,
        asked: impl FnMut(Asked) + Send + 'static,
        clock: impl Fn() -> Instant + Send + 'static,
    ) -> Result<Self, ControlError> {
        let failed = |why| ControlError::Listen { path: path.to_owned(), why };
        let listener = bind(path).map_err(failed)?;
        let (wake, woken) = UnixStream::pair().map_err(failed)?;
        let mut room = Room::new(asked, Box::new(clock), peers, listener, woken).map_err(failed)?;
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

fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// What says what time it is.
type Clock = Box<dyn Fn() -> Instant + Send>;

/// What the server's thread has.
struct Room<A> {
    asked: A,
    clock: Clock,
    peers: Arc<dyn Peers>,
    listener: UnixListener,
    /// Nobody is let in until then.
    deaf: Option<Instant>,
    woken: UnixStream,
    /// Rung by whoever has put an answer into `answers`.
    bell: Arc<UnixStream>,
    rung: UnixStream,
    sender: Sender<(u64, Answer)>,
    answers: Receiver<(u64, Answer)>,
    clients: BTreeMap<u64, Client>,
    next: u64,
    /// By user, but for root.
    paces: BTreeMap<u32, Pace>,
}

impl<A: FnMut(Asked)> Room<A> {
    fn new(
        asked: A,
        clock: Clock,
        peers: Arc<dyn Peers>,
        listener: UnixListener,
        woken: UnixStream,
    ) -> io::Result<Self> {
        let (bell, rung) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let (sender, answers) = channel();
        let (clients, paces) = (BTreeMap::new(), BTreeMap::new());
        let bell = Arc::new(bell);
        Ok(Self {
            asked,
            clock,
            peers,
            listener,
            deaf: None,
            woken,
            bell,
            rung,
            sender,
            answers,
            clients,
            next: 0,
            paces,
        })
    }

    /// Serves until the other end of `woken` is closed.
    fn serve(&mut self) {
        while self.wait() {
            self.deliver();
            self.take_lines((self.clock)());
            self.clients.retain(|_, client| !client.gone);
            self.accept((self.clock)());
        }
    }

    /// Waits until there is something to do, and reads what has come. False: it is time to end.
    fn wait(&mut self) -> bool {
        let now = (self.clock)();
        let timeout = self.patience(now);
        let listens = if self.deaf.is_none_or(|until| until <= now) { PollFlags::POLLIN } else { PollFlags::empty() };
        let fixed = [
            PollFd::new(self.woken.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.rung.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), listens),
        ];
        let of_client = |client: &Client| if client.wants_to_read() { PollFlags::POLLIN } else { PollFlags::empty() };
        let clients = self.clients.values();
        let clients = clients.map(|client| (client, of_client(client)));
        let all = fixed.into_iter().chain(clients.map(|(client, flags)| PollFd::new(client.stream.as_fd(), flags)));
        let mut waiting: Vec<PollFd<'_>> = all.collect();
        match poll(&mut waiting, timeout) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => return true,
            Err(_) => return false,
        }
        let ready: Vec<PollFlags> = waiting.iter().map(|fd| fd.revents().unwrap_or(PollFlags::empty())).collect();
        for (client, ready) in self.clients.values_mut().zip(&ready[3..]) {
            if ready.contains(PollFlags::POLLIN) {
                client.read();
            } else if !ready.is_empty() {
                // Both ends are closed: there is nobody to answer.
                client.gone = true;
            }
        }
        ready[0].is_empty()
    }

    /// How long there is nothing to do unless somebody comes: until a user who has asked too much may ask again.
    fn patience(&self, now: Instant) -> PollTimeout {
        let may_ask = |user: u32| self.paces.get(&user).map_or(now, Pace::ready);
        let asking = self.clients.values().filter(|client| client.is_ready()).map(|client| may_ask(client.peer.user));
        let Some(first) = asking.chain(self.deaf.filter(|until| *until > now)).min() else { return PollTimeout::NONE };
        // Rounded up: a poll that ends too early is one for nothing.
        let ms = first.saturating_duration_since(now).as_micros().div_ceil(1000);
        PollTimeout::from(u16::try_from(ms).unwrap_or(u16::MAX))
    }

    /// Passes on the answers that have come.
    fn deliver(&mut self) {
        let mut rings = [0; 1024];
        while matches!((&self.rung).read(&mut rings), Ok(length) if length == rings.len()) {}
        for (client, answer) in self.answers.try_iter() {
            if let Some(client) = self.clients.get_mut(&client) {
                client.say(&answer);
            }
        }
    }

    /// Takes one line of each connection whose user may ask.
    fn take_lines(&mut self, now: Instant) {
        for (id, client) in self.clients.iter_mut().filter(|(_, client)| client.is_ready() && !client.gone) {
            let user = client.peer.user;
            let mut pace = (!client.peer.is_root()).then(|| self.paces.entry(user).or_insert_with(|| Pace::new(now)));
            if pace.as_mut().is_some_and(|pace| !pace.may_ask(now)) {
                continue;
            }
            let taken = client.take();
            if let Some(pace) = pace {
                pace.spend(cost(taken.as_ref().ok()));
            }
            match taken {
                Ok(request) => {
                    let reply = Reply::new(*id, self.sender.clone(), Arc::clone(&self.bell));
                    (self.asked)(Asked { peer: client.peer, request, reply });
                }
                Err(error) => client.say(&Err(error.to_string())),
            }
        }
    }

    /// Lets those in who knock, as far as there is room. That of a user is limited: the others shall find some, and root does
    /// in any case.
    fn accept(&mut self, now: Instant) {
        // A user of whom nothing is known begins with as many points.
        self.paces.retain(|_, pace| !pace.is_full(now));
        self.deaf = self.deaf.filter(|until| *until > now);
        for _ in 0..MOST_AT_ONCE {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.deaf = Some(now + PAUSE);
                    return;
                }
            };
            let Some(peer) = self.peers.of(&stream) else { continue };
            let mut client = Client::new(stream, peer);
            if !self.has_room(peer.user) || client.stream.set_nonblocking(true).is_err() {
                client.say(&Err("too many connections: close some".to_owned()));
                continue;
            }
            self.clients.insert(self.next, client);
            self.next += 1;
        }
    }

    fn has_room(&self, user: u32) -> bool {
        let count = |whose: &dyn Fn(u32) -> bool| self.clients.values().filter(|other| whose(other.peer.user)).count();
        let of_user = count(&|other| other == user);
        match user {
            ROOT_USER => of_user < MOST_OF_ROOT,
            _ => of_user < MOST_OF_USER && count(&|other| other != ROOT_USER) < MOST,
        }
    }
}
