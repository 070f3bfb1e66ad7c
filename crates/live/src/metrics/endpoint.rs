// SPDX-License-Identifier: MIT OR Apache-2.0
//! The endpoint: threads of its own, so that nobody who asks can hold up who answers.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Snapshot;
use super::clients::{Clients, Place};
use super::http::{MOST_BYTES, answer};

/// In which a request must have come and its answer have gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// In which somebody who has asked must take the answer, or make some room for it: it mostly fits into the socket as a whole.
const TO_TAKE: Duration = Duration::from_millis(500);

/// After an error that may last, such as no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// What a scheduler does is nobody's business outside of the machine.
    #[error("{0}: metrics are for this machine only: an address such as 127.0.0.1:9435 or [::1]:9435 is needed")]
    NotLoopback(SocketAddr),
    /// The system refuses it.
    #[error("{address}: nobody can ask for metrics there: {why}")]
    Listen {
        /// Address of the endpoint.
        address: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
}

/// Hands out metrics at `http://ADDRESS/metrics` until it is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    snapshot: Mutex<Snapshot>,
    clients: Arc<Clients>,
    patience: Duration,
    stop: AtomicBool,
}

impl Endpoint {
    /// Begins to answer; port 0 takes any that is free.
    ///
    /// # Errors
    /// [`MetricsError`]: the address is not one of this machine's own, or is taken.
    pub fn open(address: SocketAddr) -> Result<Self, MetricsError> {
        Self::open_for(address, PATIENCE)
    }

    /// Begins to answer clients who ask and take their answer within `patience`, and lets the others go.
    ///
    /// # Errors
    /// [`MetricsError`], as of [`open`](Self::open).
    pub(crate) fn open_for(address: SocketAddr, patience: Duration) -> Result<Self, MetricsError> {
        if !address.ip().is_loopback() {
            return Err(MetricsError::NotLoopback(address));
        }
        let failed = |why| MetricsError::Listen { address, why };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared { patience, ..Shared::default() });
        let theirs = Arc::clone(&shared);
        let accept = move || accept(&listener, &theirs);
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(accept).map_err(failed)?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says what is to be handed out from now on.
    pub fn publish(&self, snapshot: Snapshot) {
        *self.shared.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // It waits for somebody.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((stream, _)) => serve_apart(stream, shared),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Serves a connection on a thread of its own; if there is no place for it, drops it.
fn serve_apart(stream: TcpStream, shared: &Arc<Shared>) {
    let Some(place) = shared.clients.enter(&stream) else { return };
    let shared = Arc::clone(shared);
    // Without a thread the connection is closed, as if there were no place.
    let _ = thread::Builder::new().name("metrics client".to_owned()).spawn(move || {
        let _ = serve(stream, &place, &shared);
    });
}

fn serve(mut stream: TcpStream, place: &Place, shared: &Shared) -> io::Result<()> {
    let end = Instant::now() + shared.patience;
    let mut request = Vec::new();
    let metrics = || shared.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone().text();
    let mut buffer = [0; 1024];
    let answer = loop {
        if let Some(answer) = answer(&request, metrics) {
            break answer;
        }
        let room = (MOST_BYTES - request.len()).min(buffer.len());
        match read_until(&mut stream, &mut buffer[..room], end)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    };
    place.answering(true);
    stream.set_write_timeout(Some(left(end)?.min(TO_TAKE)))?;
    stream.write_all(&answer)?;
    place.answering(false);
    // Closed with something unread, the connection would be reset, and the answer perhaps lost.
    stream.shutdown(Shutdown::Write)?;
    let mut rest = MOST_BYTES;
    while rest > 0 {
        match read_until(&mut stream, &mut buffer, end)? {
            0 => break,
            read => rest = rest.saturating_sub(read),
        }
    }
    Ok(())
}

/// Reads what comes until a time, however slowly: a client cannot have more by sending a byte now and then.
fn read_until(stream: &mut TcpStream, buffer: &mut [u8], end: Instant) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
