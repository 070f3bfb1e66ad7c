// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session under a flood: eight users announce, ask for the status and say lengths as fast as they can, over real
//! connections and by the clock.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::SIGTERM;

use super::script::{ask_as, request};
use super::*;
use crate::control::peers::named::connect_as;
use crate::session::events::{Event, Events, Inbox};
use crate::session::status::SessionStatus;
use crate::session::{Resident, stay};
use crate::testing::wait_until;

const USERS: std::ops::Range<u32> = 1001..1009;

/// Events by the clock, but for signals, which a test sends. It counts what is asked once a signal has come.
#[derive(Default)]
struct Clock {
    inbox: Inbox,
    /// The signal has been sent; requests that were taken nonetheless.
    signalled: AtomicBool,
    late: AtomicUsize,
}

impl Events for &Clock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn next(&mut self, until: Instant) -> Option<Event> {
        let signalled = self.signalled.load(Ordering::SeqCst);
        let event = self.inbox.wait(until);
        if signalled && matches!(event, Some(Event::Asked(_))) {
            self.late.fetch_add(1, Ordering::SeqCst);
        }
        event
    }

    fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    fn await_end(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }
}

impl Clock {
    fn signal(&self) {
        self.inbox.tell(Event::Signal { number: SIGTERM, of_terminal: false });
        self.signalled.store(true, Ordering::SeqCst);
    }
}

/// A connection that asks for these things, again and again, and reads the answers, until it is hung up on.
fn ask_for_ever(mut stream: UnixStream, requests: &[String], flood: &Flood) {
    let heard = stream.try_clone().unwrap();
    let (lines, answered) = (requests.concat(), AtomicUsize::new(0));
    let announces = requests[0].starts_with("application");
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in BufReader::new(heard).lines().map_while(Result::ok) {
                answered.fetch_add(1, Ordering::Relaxed);
                flood.answered.fetch_add(1, Ordering::Relaxed);
            }
        });
        if announces && stream.write_all(lines.as_bytes()).is_ok() {
            wait_until(|| answered.load(Ordering::Relaxed) >= requests.len());
            flood.to_announce.fetch_sub(requests.len(), Ordering::Relaxed);
            wait_until(|| flood.to_announce.load(Ordering::Relaxed) == 0);
        }
        while stream.write_all(lines.as_bytes()).is_ok() {}
    });
}

/// What the users ask for: most connections of each announce, one says lengths, others ask for the status. Of what a user may ask
/// the first connection that wants something has the first share: those that announce come first, and announce nothing again until
/// all is announced, as some might never have their turn.
fn begin_flood<'s>(scope: &'s thread::Scope<'s, '_>, flood: &'s Flood) {
    let socket = flood.socket.as_path();
    for user in USERS {
        let processes = (0..flood.of_user).map(move |process| (user - 1000) * 1000 + process);
        let announce: Vec<String> = processes.clone().map(|process| format!("application {process}\n")).collect();
        let hint: Vec<String> = processes.map(|process| format!("hint {process} 7\n")).collect();
        let status = vec!["status\n".to_owned(); 100];
        let announce = announce.chunks(flood.of_user.div_ceil(14) as usize).map(<[String]>::to_vec);
        for requests in announce.chain([hint, status.clone(), status]) {
            let stream = connect_as(user, socket).unwrap();
            scope.spawn(move || ask_for_ever(stream, &requests, flood));
        }
    }
}

fn world(of_user: u32) -> World {
    let world = World::new();
    for user in USERS {
        (0..of_user).for_each(|process| world.process_of(user, (user - 1000) * 1000 + process, 1, "p"));
    }
    world.process_of(0, 500, 1, "roots");
    world
}

/// How long root's hints take, each.
fn root_hints(socket: &Path, count: usize) -> Vec<Duration> {
    let mut stream = connect_as(0, socket).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut ask = |line: &mut String| {
        line.clear();
        let begun = Instant::now();
        stream.write_all(b"hint 500 7\n").unwrap();
        answers.read_line(line).unwrap();
        assert_eq!(line, "ok\n");
        begun.elapsed()
    };
    let mut line = String::new();
    (0..count).map(|_| ask(&mut line)).collect()
}

/// What was seen of a session under a flood.
struct Seen {
    status: SessionStatus,
    /// Root's hints, sorted.
    hints: Vec<Duration>,
    /// From the signal to the session's end.
    end: Duration,
    answered: usize,
    /// Requests that were taken after the signal had come.
    late: usize,
}

/// What happens outside of the session: the flood begins, root asks, then the signal comes.
fn outside<'s>(
    scope: &'s thread::Scope<'s, '_>,
    flood: &'s Flood,
    hints: usize,
) -> (Vec<Duration>, SessionStatus, Instant) {
    let socket = flood.socket.as_path();
    wait_until(|| connect_as(0, socket).is_ok());
    begin_flood(scope, flood);
    let all_full = |status: &SessionStatus| status.applications.len() == 64 * USERS.count();
    let asked = || serde_json::from_str(&ask_as(0, socket, "status").unwrap()).unwrap();
    wait_until(|| {
        // Root's questions would be the larger flood.
        thread::sleep(Duration::from_millis(20));
        flood.answered.load(Ordering::Relaxed) >= flood.answers && all_full(&asked())
    });
    let mut measured = root_hints(socket, hints);
    measured.sort_unstable();
    let status = asked();
    let signalled = Instant::now();
    flood.clock.signal();
    (measured, status, signalled)
}

/// What the session and those outside have in common.
struct Flood {
    /// Processes that each user tries to announce.
    of_user: u32,
    /// Answers that all users have had before the signal comes, at least.
    answers: usize,
    socket: PathBuf,
    clock: Clock,
    answered: AtomicUsize,
    /// What no user has announced yet.
    to_announce: AtomicUsize,
}

fn session_under_flood(of_user: u32, answers: usize, hints: usize) -> Seen {
    let (world, clock) = (world(of_user), Clock::default());
    let [answered, to_announce] = [0, USERS.count() * of_user as usize].map(AtomicUsize::new);
    let flood = Flood { of_user, answers, socket: world.site.socket(), clock, answered, to_announce };
    let seen = thread::scope(|scope| {
        let asking = scope.spawn(|| outside(scope, &flood, hints));
        let wanted = Resident { request: request("longest=true"), ..Resident::default() };
        stay(&world.site, &wanted, &mut &flood.clock, &mut world.listener()).unwrap();
        let ended = Instant::now();
        let (hints, status, signalled) = asking.join().unwrap();
        let late = flood.clock.late.load(Ordering::SeqCst);
        Seen { status, hints, end: ended - signalled, answered: flood.answered.load(Ordering::Relaxed), late }
    });
    world.assert_given_back();
    seen
}

/// What takes seconds.
mod long {
    use super::*;

    #[test]
    fn eight_users_can_neither_fill_a_session_nor_keep_it_from_ending() {
        // More answers than users have at once, so that some have waited.
        let seen = session_under_flood(66, 2000, 10);
        let of_user = |user: u32| {
            let theirs = |process: u32| process / 1000 == user - 1000;
            seen.status.applications.iter().filter(|known| theirs(known.process)).count()
        };
        assert_eq!(USERS.map(of_user).collect::<Vec<_>>(), [64; 8]);
        assert!(seen.answered >= 2000);
        assert_eq!(seen.late, 0, "requests went before a signal");
    }

    /// Prints what `cargo test -p tandem-live --lib flood -- --ignored --nocapture` is asked for.
    #[test]
    #[ignore = "a measurement"]
    fn how_long_root_waits_under_a_flood() {
        let Seen { hints, end, answered, .. } = session_under_flood(625, 5000, 1000);
        let at = |share: usize| hints[(hints.len() * share / 100).min(hints.len() - 1)];
        println!("{answered} answers to eight users meanwhile");
        println!("root's hint: median {:?}, p99 {:?}, longest {:?}", at(50), at(99), at(100));
        println!("from SIGTERM to the end: {end:?}");
    }
}
