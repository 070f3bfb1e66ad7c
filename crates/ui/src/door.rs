// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is at the door: connections that have not shown the token yet are few, short, and counted by user.
//!
//! Anybody on this computer can connect, so what connects and says nothing must not keep others out. Each user has a few places of their
//! own before the token; who comes when all are taken gets that of the connection which has waited longest, and what has shown
//! the token is not at the door any more. Of this server's own user and root all others can take nothing.
//!
//! Whose a connection is, the kernel says (`/proc/net/tcp`): the socket at its other end is this computer's, too. One that was closed
//! already counts there as root's; so only those that are open tell, and all others are one user.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

/// The state of a connection that neither end has closed (`TCP_ESTABLISHED`).
const OPEN: &str = "01";

/// Places before the token, of this server's user and root together: a browser opens six, and its other pages may, too.
const MOST_OWN: usize = 32;
/// Of each other user, and of all of these.
const MOST_OF_OTHER: usize = 4;
const MOST_OF_OTHERS: usize = 16;
/// How long a connection may wait there.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Whose a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// This server's, or root.
    Own,
    Other(u32),
    /// The table does not have it, or as closed.
    Unknown,
}

/// The connections that wait, by number: who came first has the lowest.
#[derive(Debug, Default)]
pub struct Door(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    places: BTreeMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    user: User,
    /// Tells the connection that its place is another's.
    lost: Arc<Notify>,
}

/// A place at the door. It is free again once the token was shown, or this is dropped.
#[derive(Debug)]
pub struct Ticket {
    number: u64,
    waiting: Arc<Mutex<Waiting>>,
    lost: Arc<Notify>,
}

impl Door {
    /// A place for a connection of this user; another one may lose its place by that.
    pub fn enter(&self, user: User) -> Ticket {
        let mut waiting = locked(&self.0);
        while let Some(number) = waiting.loser(user) {
            if let Some(place) = waiting.places.remove(&number) {
                place.lost.notify_one();
            }
        }
        let (number, lost) = (waiting.next, Arc::<Notify>::default());
        waiting.next += 1;
        waiting.places.insert(number, Place { user, lost: Arc::clone(&lost) });
        Ticket { number, waiting: Arc::clone(&self.0), lost }
    }
}

impl Waiting {
    /// The connection that has to go before one of this user may come; `None` if there is room.
    fn loser(&self, user: User) -> Option<u64> {
        let of =
            |wanted: User| self.places.iter().filter(move |(_, place)| place.user == wanted).map(|(number, _)| *number);
        if user == User::Own {
            return of(user).next().filter(|_| of(user).count() >= MOST_OWN);
        }
        if of(user).count() >= MOST_OF_OTHER {
            return of(user).next();
        }
        let others: Vec<User> =
            self.places.values().map(|place| place.user).filter(|user| *user != User::Own).collect();
        if others.len() < MOST_OF_OTHERS {
            return None;
        }
        // Of the user who has most; of several such users of the one who has waited longest.
        let most = others.iter().rev().max_by_key(|user| others.iter().filter(|other| other == user).count())?;
        of(*most).next()
    }
}

impl Ticket {
    /// The token was shown: this connection is at the door no more.
    pub fn admit(&self) {
        locked(&self.waiting).places.remove(&self.number);
    }

    fn is_waiting(&self) -> bool {
        locked(&self.waiting).places.contains_key(&self.number)
    }

    /// Until the connection has lost its place, or waited too long.
    pub async fn until_lost(&self, patience: Duration) {
        let late = async {
            sleep(patience).await;
            if !self.is_waiting() {
                std::future::pending::<()>().await;
            }
        };
        tokio::pin!(late);
        let lost = self.lost.notified();
        tokio::pin!(lost);
        std::future::poll_fn(|context| match late.as_mut().poll(context).is_ready() {
            true => std::task::Poll::Ready(()),
            false => lost.as_mut().poll(context),
        })
        .await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.admit();
    }
}

fn locked(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sockets of this computer, as they were at a moment.
#[derive(Debug)]
pub struct Sockets {
    tables: String,
    own: Option<u32>,
}

impl Sockets {
    /// Reads the tables below `/proc`.
    pub fn read(proc: &Path) -> Self {
        // A program may connect through a socket for IPv6.
        let tables = ["net/tcp", "net/tcp6"].map(|table| fs::read_to_string(proc.join(table)).unwrap_or_default());
        let status = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let own = users.and_then(|users| users.split_ascii_whitespace().nth(1)?.parse().ok());
        Self { tables: tables.concat(), own }
    }

    /// Whose socket has this address and is connected to port `to` of 127.0.0.1.
    pub fn user(&self, from: SocketAddrV4, to: u16) -> User {
        let server = SocketAddrV4::new(Ipv4Addr::LOCALHOST, to);
        let [of_peer, of_server] = [from, server].map(shown);
        let row = |line: &str| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let has = |field: Option<&str>, shown: &str| field.is_some_and(|field| field.ends_with(shown));
            let is_it = has(fields.next(), &of_peer) && has(fields.next(), &of_server) && fields.next() == Some(OPEN);
            is_it.then(|| fields.nth(3)?.parse().ok())?
        };
        match self.tables.lines().find_map(row) {
            Some(user) if user == 0 || Some(user) == self.own => User::Own,
            Some(user) => User::Other(user),
            None => User::Unknown,
        }
    }
}

/// An address as the tables have it, the bytes as this computer's; those of IPv6 end so where they stand for IPv4.
fn shown(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the tickets have a place.
    fn waiting(tickets: &[Ticket]) -> Vec<bool> {
        tickets.iter().map(Ticket::is_waiting).collect()
    }

    #[test]
    fn a_user_who_has_no_place_left_loses_the_oldest_of_their_own() {
        let door = Door::default();
        let own = door.enter(User::Own);
        let tickets: Vec<Ticket> = (0..6).map(|_| door.enter(User::Other(1000))).collect();
        assert_eq!(waiting(&tickets), [false, false, true, true, true, true]);
        assert!(own.is_waiting());
    }

    #[test]
    fn all_others_together_take_no_place_of_ones_own() {
        let door = Door::default();
        let own: Vec<Ticket> = (0..MOST_OWN).map(|_| door.enter(User::Own)).collect();
        let greedy: Vec<Ticket> = (0..4).map(|_| door.enter(User::Other(1))).collect();
        let first: Vec<Ticket> = (2..17).map(|user| door.enter(User::Other(user))).collect();
        // Who has most loses first.
        assert_eq!(waiting(&greedy), [false, false, false, true]);
        assert_eq!(waiting(&first), [true; 15]);
        let late: Vec<Ticket> = (17..33).map(|user| door.enter(User::Other(user))).collect();
        assert_eq!([waiting(&first), waiting(&late)], [vec![false; 15], vec![true; MOST_OF_OTHERS]]);
        assert_eq!(waiting(&own), [true; MOST_OWN]);
        let newest = door.enter(User::Own);
        assert_eq!((own[0].is_waiting(), own[1].is_waiting(), newest.is_waiting()), (false, true, true));
    }

    #[test]
    fn who_has_shown_the_token_keeps_nobody_out_and_loses_nothing() {
        let door = Door::default();
        let admitted: Vec<Ticket> = (0..100).map(|_| door.enter(User::Own)).inspect(Ticket::admit).collect();
        let late = door.enter(User::Own);
        assert!(late.is_waiting() && waiting(&admitted).iter().all(|waiting| !waiting));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        // The time is up at once, for who waits.
        runtime.block_on(late.until_lost(Duration::ZERO));
        let admitted = runtime.block_on(async {
            tokio::time::timeout(Duration::from_millis(1), admitted[99].until_lost(Duration::ZERO)).await
        });
        assert!(admitted.is_err(), "it never is for who was admitted");
        let evicted = door.enter(User::Other(5));
        let _more: Vec<Ticket> = (0..4).map(|_| door.enter(User::Other(5))).collect();
        runtime.block_on(evicted.until_lost(Duration::from_secs(3600)));
    }

    #[test]
    fn whose_a_connection_is_stands_in_the_kernels_tables() {
        let proc = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = proc.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let row = |from: &str, to: &str, user: u32| {
            let state = if user == 0 { "05" } else { OPEN };
            format!("   0: {from} {to} {state} 00000000:00000000 00:00000000 00000000  {user}        0 1 1 0\n")
        };
        let [server, a, b, c, closed] =
            [4000, 50_000, 50_001, 50_002, 50_003].map(|port| shown(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)));
        let mapped = |address: &str| format!("0000000000000000FFFF0000{address}");
        // Each connection has two rows, one for each end; the server's are its own user's.
        let tables = [row(&server, &a, 7), row(&a, &server, 1000), row(&server, &b, 7), row(&b, &server, 7)];
        write("net/tcp", &(head.to_owned() + &tables.concat() + &row(&closed, &server, 0)));
        write("net/tcp6", &(head.to_owned() + &row(&mapped(&c), &mapped(&server), 1001)));
        write("self/status", "Name:\ttandem\nUid:\t9\t7\t7\t7\n");
        let sockets = Sockets::read(proc.path());
        let user = |port| sockets.user(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port), 4000);
        assert_eq!(
            [50_000, 50_001, 50_002, 50_003, 50_004].map(user),
            [User::Other(1000), User::Own, User::Other(1001), User::Unknown, User::Unknown]
        );
    }

    #[test]
    fn a_connection_of_this_process_is_its_own() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        let std::net::SocketAddr::V4(from) = client.local_addr().unwrap() else { panic!("an address of IPv4") };
        assert_eq!(Sockets::read(Path::new("/proc")).user(from, address.port()), User::Own);
    }
}
