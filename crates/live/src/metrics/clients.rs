// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is connected: so many at a time, and none for ever. Whoever comes always finds a place, for which the oldest goes who
//! has not asked yet or has an answer already.
//!
//! A client that sends its request and reads the answer needs a place for a millisecond. Those that keep one without asking,
//! by negligence or on purpose, thus lose it to others: from the address that has most places first, as one that connects
//! again and again must not drive out the rest.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections at a time.
pub(super) const MOST: usize = 16;

/// Everybody who is connected, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    connected: Vec<Client>,
    next: u64,
}

#[derive(Debug)]
struct Client {
    number: u64,
    address: IpAddr,
    /// Its request is there, and its answer is under way.
    answering: bool,
    /// The connection, to end it from outside.
    stream: TcpStream,
}

/// One of the connections that there may be, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    clients: Arc<Clients>,
    number: u64,
}

impl Clients {
    /// A place for a connection; if there is none, somebody else's. `None`: all are being answered just now.
    pub(super) fn enter(self: &Arc<Self>, stream: &TcpStream) -> Option<Place> {
        let (address, stream) = (stream.peer_addr().ok()?.ip(), stream.try_clone().ok()?);
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.connected.len() >= MOST {
            let goes = state.who_goes()?;
            let gone = state.connected.remove(goes);
            // Its thread ends with its next look at the connection.
            let _ = gone.stream.shutdown(Shutdown::Both);
        }
        let number = state.next;
        state.next += 1;
        state.connected.push(Client { number, address, answering: false, stream });
        Some(Place { clients: Arc::clone(self), number })
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Client)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = state.connected.iter_mut().find(|client| client.number == number) {
            change(client);
        }
    }
}

impl State {
    /// The oldest one that is not being answered, of the address that has most of those.
    fn who_goes(&self) -> Option<usize> {
        let idle = || self.connected.iter().enumerate().filter(|(_, client)| !client.answering);
        let of_address = |address: IpAddr| idle().filter(|(_, client)| client.address == address).count();
        // Of several with as many, `max_by_key` gives the last: from the back that is the oldest.
        let goes = idle().collect::<Vec<_>>().into_iter().rev().max_by_key(|(_, client)| of_address(client.address));
        goes.map(|(index, _)| index)
    }
}

impl Place {
    /// Says whether its answer is under way, so that the place is not given to anybody else.
    pub(super) fn answering(&self, answering: bool) {
        self.clients.change(self.number, |client| client.answering = answering);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.clients.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.connected.retain(|client| client.number != self.number);
    }
}
