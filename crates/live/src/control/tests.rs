// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers, and people of all manners.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::peers::named::{NamedPeers, connect_as};
use super::server::{MOST, MOST_OF_ROOT, MOST_OF_USER};
use super::*;
use crate::testing::{PATIENCE, wait_until};

/// A server that takes every request, and those that it was asked.
fn server() -> (tempfile::TempDir, PathBuf, Server, Receiver<(Peer, Request)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let (sender, asked) = channel();
    let answer = move |peer: Peer, request: Request| {
        let _ = sender.send((peer, request));
        match request {
            Request::Status => Ok("{}".to_owned()),
            Request::Hint { length: 13, .. } => Err("not thirteen".to_owned()),
            _ => Ok(String::new()),
        }
    };
    let server = Server::start(&path, answer).unwrap();
    (folder, path, server, asked)
}

fn asked(path: &Path, request: &str) -> Answer {
    ask(path, request, PATIENCE).unwrap()
}

#[test]
fn a_request_is_answered_and_the_server_knows_who_asks() {
    let (_folder, path, _server, heard) = server();
    assert_eq!(asked(&path, "hint 5 700"), Ok("ok".to_owned()));
    assert_eq!(asked(&path, "hint 5 13"), Err("not thirteen".to_owned()));
    assert_eq!(asked(&path, "status"), Ok("{}".to_owned()));
    let (peer, request) = heard.recv().unwrap();
    assert_eq!((peer.process, request), (std::process::id(), Request::Hint { thread: 5, length: 700 }));
}

#[test]
fn what_is_no_request_is_refused_in_words_and_the_next_one_is_heard() {
    let (_folder, path, _server, heard) = server();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"stop\nhint 5 0\n\xff\xfe\nhint 5\t1\nhint 5 1\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    for expected in
        ["error expected", "error `0` is no relative", "error a request is one line", "error a request", "ok"]
    {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(expected), "{line}");
    }
    assert_eq!(heard.try_iter().count(), 1);
}

#[test]
fn a_line_without_end_is_cut_off() {
    let (_folder, path, _server, heard) = server();
    let mut stream = UnixStream::connect(&path).unwrap();
    // The server may hang up before all of it is written.
    let _ = stream.write_all(&[b'x'; 100_000]);
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    assert!(said.is_empty() || said.starts_with(b"error a request is one line of at most 128"));
    assert_eq!(asked(&path, "hint 5 1"), Ok("ok".to_owned()));
    assert_eq!(heard.try_iter().count(), 1);
}

#[test]
fn half_a_line_waits_for_the_other_half_and_keeps_nobody_else_waiting() {
    let (_folder, path, _server, _heard) = server();
    let mut slow = UnixStream::connect(&path).unwrap();
    slow.write_all(b"hint 5 ").unwrap();
    assert_eq!(asked(&path, "hint 6 1"), Ok("ok".to_owned()));
    slow.write_all(b"7\n").unwrap();
    let mut line = String::new();
    BufReader::new(slow).read_line(&mut line).unwrap();
    assert_eq!(line, "ok\n");
}

#[test]
fn who_never_listens_is_sent_away() {
    let (_folder, path, _server, heard) = server();
    let mut deaf = UnixStream::connect(&path).unwrap();
    // Far more answers than a socket holds: at some time nobody reads what is written.
    let flood = b"hint 5 7\n".repeat(1000);
    let told = (0..2000).take_while(|_| deaf.write_all(&flood).is_ok()).count();
    assert!(told < 2000, "two million requests of one who never listens");
    assert_eq!(asked(&path, "hint 6 1"), Ok("ok".to_owned()));
    assert!(heard.try_iter().count() < 2_000_000);
}

/// A server that knows other users than the kernel does.
fn server_of_many() -> (tempfile::TempDir, PathBuf, Server) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let server = Server::listen(&path, Arc::new(NamedPeers), |asked| asked.reply.send(Ok(String::new()))).unwrap();
    (folder, path, server)
}

/// What a user hears who connects and asks.
fn heard(stream: &mut UnixStream) -> String {
    // Who is sent away may not be able to say anything.
    let _ = stream.write_all(b"hint 6 1\n");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

#[test]
fn four_users_with_all_their_connections_lock_out_no_root() {
    let (_folder, path, _server) = server_of_many();
    let connect = |user| connect_as(user, &path).unwrap();
    let mut taken: Vec<UnixStream> = Vec::new();
    for user in 1..=4 {
        taken.extend((0..MOST_OF_USER).map(|_| connect(user)));
        assert_eq!(heard(&mut connect(user)), "error too many connections: close some\n");
    }
    assert_eq!(taken.len(), MOST);
    assert_eq!(heard(&mut connect(5)), "error too many connections: close some\n");
    let mut root: Vec<UnixStream> = (0..MOST_OF_ROOT).map(|_| connect(0)).collect();
    assert!(root.iter_mut().all(|stream| heard(stream) == "ok\n"));
    assert_eq!(heard(&mut connect(0)), "error too many connections: close some\n");
    drop(taken);
    // The server sees that they have gone when it next looks.
    wait_until(|| heard(&mut connect(5)) == "ok\n");
}

#[test]
fn who_asks_too_much_waits_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let time = Arc::new(Mutex::new(Instant::now()));
    let clock = Arc::clone(&time);
    let answer = |asked: Asked| asked.reply.send(Ok(String::new()));
    let _server = Server::listen_by(&path, Arc::new(NamedPeers), answer, move || *clock.lock().unwrap()).unwrap();
    let mut busy = connect_as(7, &path).unwrap();
    busy.write_all(&b"status\n".repeat(150)).unwrap();
    let mut answers = BufReader::new(busy.try_clone().unwrap());
    let mut answered = |count: usize| {
        let lines: Vec<String> = answers.by_ref().lines().take(count).map(Result::unwrap).collect();
        assert!(lines.len() == count && lines.iter().all(|line| line == "ok"), "{lines:?}");
        // Root and another user are answered while the first one waits: the server has looked at that one's next line.
        for user in [0, 8, 0, 8] {
            assert_eq!(heard(&mut connect_as(user, &path).unwrap()), "ok\n");
        }
        busy.set_nonblocking(true).unwrap();
        let more = answers.fill_buf().map(<[u8]>::to_vec).unwrap_err();
        assert_eq!(more.kind(), std::io::ErrorKind::WouldBlock);
        busy.set_nonblocking(false).unwrap();
    };
    answered(100);
    // Each costs as much as comes in a twentieth of a second.
    *time.lock().unwrap() += Duration::from_secs(2);
    answered(40);
    *time.lock().unwrap() += Duration::from_millis(450);
    answered(9);
    *time.lock().unwrap() += Duration::from_millis(50);
    answered(1);
}

#[test]
fn a_connection_has_one_request_open_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let (sender, asked) = channel();
    let _server = Server::listen(&path, Arc::new(NamedPeers), move |asked| drop(sender.send(asked))).unwrap();
    let mut hasty = connect_as(7, &path).unwrap();
    hasty.write_all(&b"hint 5 1\n".repeat(50)).unwrap();
    let first = asked.recv().unwrap();
    let mut other = connect_as(8, &path).unwrap();
    other.write_all(b"hint 6 1\n").unwrap();
    // Not the first one's second request.
    let second = asked.recv().unwrap();
    assert_eq!((first.peer.user, second.peer.user), (7, 8));
    assert!(asked.try_recv().is_err());
    first.reply.send(Ok(String::new()));
    assert_eq!(asked.recv().unwrap().peer.user, 7);
}

#[test]
fn an_answer_that_drips_is_waited_for_no_longer_than_one_that_does_not_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // Drops for ten times as long as they are waited for, and then the end: whoever waited anew for each would see that.
    let dripping = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let drop = |_: &u32| {
            sleep(Duration::from_millis(1));
            stream.write_all(b"x").is_ok()
        };
        (0..300).take_while(drop).count()
    });
    let Err(ControlError::Lost { why, .. }) = ask(&path, "status", Duration::from_millis(30)) else {
        panic!("an answer")
    };
    assert_eq!(why.kind(), std::io::ErrorKind::TimedOut, "{why}");
    dripping.join().unwrap();
}

#[test]
fn a_server_that_has_gone_leaves_no_socket_and_a_dead_ones_is_taken_over() {
    let (_folder, path, first, _heard) = server();
    drop(first);
    assert!(!path.exists());
    assert!(matches!(ask(&path, "status", PATIENCE), Err(ControlError::Nobody { .. })));
    // As a process leaves it that was killed.
    drop(UnixListener::bind(&path).unwrap());
    assert!(matches!(ask(&path, "status", PATIENCE), Err(ControlError::Nobody { .. })));
    let _server = Server::start(&path, |_, _| Ok(String::new())).unwrap();
    assert_eq!(asked(&path, "status"), Ok("ok".to_owned()));
}

#[test]
fn everybody_may_connect() {
    let (_folder, path, _server, _heard) = server();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
}
