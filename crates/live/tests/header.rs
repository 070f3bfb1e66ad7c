// SPDX-License-Identifier: MIT OR Apache-2.0
//! `include/tandem.h`: compiled as C and as C++ without a warning, and talking to a server.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

use tandem_live::control::{Answer, Peer, Request, Server};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Compiles the C program that calls the header, and waits for answers as long as a busy machine may take.
fn compile(folder: &Path, compiler: &str, options: &[&str]) -> PathBuf {
    compile_with(folder, compiler, &[options, &["-DTANDEM_PATIENCE=300000"]].concat())
}

fn compile_with(folder: &Path, compiler: &str, options: &[&str]) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(format!("hint{}", options.concat()));
    let mut command = Command::new(compiler);
    command.args(options).args(WARNINGS).arg("-I").arg(here.join("../../include"));
    command.arg(here.join("tests/c/hint.c")).arg("-o").arg(&program).arg("-pthread");
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}: install gcc and g++"));
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// What the program said: the number of each thread, and what was returned to it.
fn said(program: &Path, socket: &Path, lengths: &[&str]) -> Vec<(u32, i32)> {
    let output = Command::new(program).args(lengths).env("TANDEM_SOCKET", socket).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let line =
        |line: &str| line.split_once(' ').map(|(id, said)| (id.parse().unwrap(), said.parse().unwrap())).unwrap();
    text.lines().map(line).collect()
}

/// A server that refuses the length 13.
fn server(folder: &Path) -> (Server, PathBuf, Receiver<(Peer, Request)>) {
    let path = folder.join("control.sock");
    let (sender, heard) = channel();
    let answer = move |peer: Peer, request: Request| -> Answer {
        sender.send((peer, request)).unwrap();
        match request {
            Request::Hint { length: 13, .. } => Err("not thirteen".to_owned()),
            _ => Ok(String::new()),
        }
    };
    (Server::start(&path, answer).unwrap(), path, heard)
}

#[test]
fn c_and_cpp_programs_say_the_lengths_of_their_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, socket, heard) = server(folder.path());
    for (compiler, options) in [
        ("gcc", &["-std=c99", "-x", "c"][..]),
        ("gcc", &["-std=gnu11", "-x", "c"]),
        ("g++", &["-std=c++98", "-x", "c++"]),
        ("g++", &["-std=c++17", "-x", "c++"]),
    ] {
        let program = compile(folder.path(), compiler, options);
        let said = said(&program, &socket, &["700", "701", "702", "703", "704", "705"]);
        assert!(said.iter().all(|(_, said)| *said == 0), "{compiler}: {said:?}");
        let heard: Vec<(Peer, Request)> = heard.try_iter().collect();
        let (threads, lengths): (BTreeSet<u32>, BTreeSet<u64>) = heard
            .iter()
            .filter_map(|(_, request)| match request {
                Request::Hint { thread, length } => Some((*thread, *length)),
                _ => None,
            })
            .unzip();
        assert_eq!(lengths, BTreeSet::from([700, 701, 702, 703, 704, 705, 4711]));
        assert_eq!(threads, said.iter().map(|(thread, _)| *thread).collect());
        // The threads share a connection; the child has its own.
        let processes: BTreeSet<u32> = heard.iter().map(|(peer, _)| peer.process).collect();
        assert_eq!(processes.len(), 2, "{heard:?}");
    }
}

#[test]
fn lengths_are_said_before_threads_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, socket, heard) = server(folder.path());
    for (compiler, options) in [("gcc", ["-std=c99", "-x", "c"]), ("g++", ["-std=c++98", "-x", "c++"])] {
        let program = compile(folder.path(), compiler, &options);
        let said = said(&program, &socket, &["next", "700", "0", "701"]);
        assert_eq!(said.iter().map(|(_, said)| *said).collect::<Vec<_>>(), [0, -22, 0]);
        let heard: Vec<Request> = heard.try_iter().map(|(_, request)| request).collect();
        let thread = said[0].0;
        assert_eq!(heard, [700, 701].map(|length| Request::HintNext { thread, length }));
    }
}

#[test]
fn a_refusal_and_an_absurd_length_have_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, socket, heard) = server(folder.path());
    let program = compile(folder.path(), "gcc", &["-std=c99", "-x", "c"]);
    let absurd = ["13", "0", "9007199254740993", "18446744073709551615"];
    let returned: Vec<i32> = said(&program, &socket, &absurd).into_iter().map(|(_, said)| said).collect();
    let (eperm, einval) = (-1, -22);
    assert_eq!(returned, [eperm, einval, einval, einval, 0]);
    assert_eq!(heard.try_iter().count(), 2);
}

/// A program that waits anew for each byte would see the end of what comes: bytes for ten times as long as it waits in all.
#[test]
fn an_answer_that_drips_keeps_a_program_no_longer_than_one_that_does_not_come() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    // The connection of the thread and that of the child, one after the other.
    let drip = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let drop = |_: &u32| {
            sleep(Duration::from_millis(1));
            stream.write_all(b"o").is_ok()
        };
        (0..300).take_while(drop).count()
    };
    let dripping = spawn(move || [(); 2].map(|()| drip()));
    let program = compile_with(folder.path(), "gcc", &["-std=c99", "-x", "c", "-DTANDEM_PATIENCE=30"]);
    let etimedout = -110;
    let returned: Vec<i32> = said(&program, &socket, &["1"]).into_iter().map(|(_, said)| said).collect();
    assert_eq!(returned, [etimedout, etimedout]);
    dripping.join().unwrap();
}

#[test]
fn a_program_waits_for_a_second_unless_a_test_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("patience.c");
    fs::write(&source, "#include \"tandem.h\"\n_Static_assert(TANDEM_PATIENCE == 1000, \"a second\");\n").unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("gcc");
    command.args(["-std=c11", "-fsyntax-only", "-I"]).arg(here.join("../../include")).arg(&source);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_a_server_nothing_happens() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-std=c99", "-x", "c"]);
    let enoent = -2;
    let returned = said(&program, &folder.path().join("nobody"), &["1", "2"]);
    assert!(returned.iter().all(|(_, said)| *said == enoent), "{returned:?}");
    let (server, socket, _heard) = server(folder.path());
    drop(server);
    let returned = said(&program, &socket, &["1"]);
    assert!(returned.iter().all(|(_, said)| *said == enoent), "{returned:?}");
}
