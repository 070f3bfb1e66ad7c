// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers, and people of all manners.

use std::sync::mpsc::{Receiver, channel};

use super::*;

/// A server that takes every request, and those that it was asked.
fn server() -> (tempfile::TempDir, PathBuf, Server, Receiver<(Peer, Request)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let (sender, asked) = channel();
    let answer = move |peer, request| {
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
    ask(path, request, Duration::from_secs(10)).unwrap()
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
    for expected in ["error expected", "error `0` is no relative", "error a request is one line", "error a request", "ok"] {
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
    let flood = b"status\n".repeat(1000);
    let told = (0..2000).take_while(|_| deaf.write_all(&flood).is_ok()).count();
    assert!(told < 2000, "two million requests of one who never listens");
    assert_eq!(asked(&path, "hint 6 1"), Ok("ok".to_owned()));
    assert!(heard.try_iter().count() < 2_000_000);
}

#[test]
fn connections_are_counted() {
    let (_folder, path, _server, _heard) = server();
    let connected: Vec<UnixStream> = (0..MOST + 1).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let mut line = String::new();
    BufReader::new(connected.last().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "error too many connections: close some\n");
    drop(connected);
    // The server sees that they have gone when it next looks.
    let answered = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        matches!(ask(&path, "hint 6 1", Duration::from_secs(10)), Ok(Ok(_)))
    });
    assert!(answered, "no room after all have left");
}

#[test]
fn a_server_that_has_gone_leaves_no_socket_and_a_dead_ones_is_taken_over() {
    let (_folder, path, first, _heard) = server();
    drop(first);
    assert!(!path.exists());
    assert!(matches!(ask(&path, "status", Duration::from_secs(1)), Err(ControlError::Nobody { .. })));
    // As a process leaves it that was killed.
    drop(UnixListener::bind(&path).unwrap());
    assert!(matches!(ask(&path, "status", Duration::from_secs(1)), Err(ControlError::Nobody { .. })));
    let _server = Server::start(&path, |_, _| Ok(String::new())).unwrap();
    assert_eq!(asked(&path, "status"), Ok("ok".to_owned()));
}

#[test]
fn everybody_may_connect() {
    let (_folder, path, _server, _heard) = server();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
}
