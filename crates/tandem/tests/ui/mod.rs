// SPDX-License-Identifier: GPL-2.0-only
//! `tandem ui` as a browser, and as what is no browser, meets it: through a socket.

mod crowded;
mod refusing;
mod running;

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::command::program;

/// How long an answer, or a run of these tests, may take on a busy computer.
const PATIENCE: Duration = Duration::from_secs(300);

/// The command, serving; ended when it is dropped.
struct Page {
    process: Child,
    port: u16,
    token: String,
    /// Where its files are.
    temporary: TempDir,
}

/// What a server answered.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Page {
    fn open() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        // Whoever runs the tests in the background has them ignore Ctrl-C, and so what they start.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_tandem"), "ui"]);
        command
            .env("TANDEM_STORE", "off")
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
        let (port, token) = address.split_once('/').unwrap();
        Self { process, port: port.parse().unwrap(), token: token.trim_end_matches('/').to_owned(), temporary }
    }

    /// Sends these bytes, says that there are no more, and reads all that comes back.
    fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        self.exchange(bytes, true)
    }

    fn exchange(&self, bytes: &[u8], end: bool) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A server that refuses may close before all is sent.
        let _ = stream.write_all(bytes);
        if end {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Sends a request with these headers.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        // As a browser, which keeps its end open.
        let answer = self.exchange(&[format!("{request}\r\n").as_bytes(), body].concat(), false);
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{method} {path}: {:?}", String::from_utf8_lossy(&answer)));
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: answer[end + 4..].to_vec() }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn path(&self, path: &str) -> String {
        format!("/{}/{path}", self.token)
    }

    /// What the page itself gets.
    fn get(&self, path: &str) -> Answer {
        self.send("GET", &self.path(path), &[("Host", &self.host())], b"")
    }

    /// What the page itself posts.
    fn post(&self, path: &str, body: &str) -> Answer {
        let (host, origin) = (self.host(), format!("http://{}", self.host()));
        self.send("POST", &self.path(path), &[("Host", &host), ("Origin", &origin)], body.as_bytes())
    }

    /// Runs what is asked for to its end: how it was then.
    fn run(&self, request: &Value) -> Value {
        let answer = self.post("jobs", &request.to_string());
        assert_eq!(answer.status, 201, "{}", answer.text());
        self.wait(answer.json()["id"].as_u64().unwrap(), |job| !["waiting", "running"].contains(&state(job)))
    }

    /// Waits until a job is so.
    fn wait(&self, id: u64, is: impl Fn(&Value) -> bool) -> Value {
        eventually(|| {
            let job = self.get(&format!("jobs/{id}")).json();
            if is(&job) { Ok(job) } else { Err(job) }
        })
    }

    /// Files and folders that it made.
    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// Waits until it comes; what there is instead is said where it never does.
#[track_caller]
fn eventually<T, E: Debug>(mut comes: impl FnMut() -> Result<T, E>) -> T {
    let start = Instant::now();
    loop {
        match comes() {
            Ok(come) => return come,
            Err(instead) => assert!(start.elapsed() < PATIENCE, "{instead:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn state(job: &Value) -> &str {
    job["state"].as_str().unwrap()
}

impl Drop for Page {
    fn drop(&mut self) {
        // Ctrl-C ends its runs, too; to kill it would leave them.
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}
