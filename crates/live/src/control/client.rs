// SPDX-License-Identifier: MIT OR Apache-2.0
//! One connection: the lines that come, and the answers that go.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::{Answer, MAX_LINE, Peer, Request, RequestError};

/// Bytes that are taken of a connection before others have their turn.
const PORTION: usize = 4096;

/// Somebody who is connected.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) stream: UnixStream,
    pub(super) peer: Peer,
    /// What has come, and was not looked at yet.
    input: Vec<u8>,
    /// A request of this connection waits for its answer; further lines wait for their turn.
    open: bool,
    /// Nothing more will come.
    ended: bool,
    /// Nobody is there any more.
    pub(super) gone: bool,
}

impl Client {
    pub(super) fn new(stream: UnixStream, peer: Peer) -> Self {
        Self { stream, peer, input: Vec::new(), open: false, ended: false, gone: false }
    }

    /// Whether more of what comes can be of use now.
    pub(super) fn wants_to_read(&self) -> bool {
        !self.open && !self.ended && !self.has_line()
    }

    /// Whether a line is there and may be looked at.
    pub(super) fn is_ready(&self) -> bool {
        !self.open && self.has_line()
    }

    fn has_line(&self) -> bool {
        self.input.contains(&b'\n') || self.input.len() > MAX_LINE
    }

    /// Reads a portion.
    pub(super) fn read(&mut self) {
        let mut portion = [0; PORTION];
        match self.stream.read(&mut portion) {
            Ok(0) => self.ended = true,
            Ok(length) => self.input.extend_from_slice(&portion[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.gone = true,
        }
        self.see_end();
    }

    /// Who has ended goes once the last line is answered.
    fn see_end(&mut self) {
        self.gone |= self.ended && !self.open && !self.has_line();
    }

    /// The next line, as a request that is open from now on, or what is wrong with the line.
    pub(super) fn take(&mut self) -> Result<Request, RequestError> {
        let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else {
            // Where the next one begins is not known.
            self.ended = true;
            self.input.clear();
            return Err(RequestError::Line);
        };
        let request = parse(&self.input[..end]);
        self.input.drain(..=end);
        self.open = request.is_ok();
        request
    }

    /// Answers; who does not take it at once is sent away.
    pub(super) fn say(&mut self, answer: &Answer) {
        self.open = false;
        let line = match answer {
            Ok(text) if text.is_empty() => "ok\n".to_owned(),
            Ok(text) => format!("{text}\n"),
            Err(why) => format!("error {}\n", why.replace('\n', " ")),
        };
        let written = self.stream.write(line.as_bytes());
        self.gone |= written.map_or(true, |length| length < line.len());
        self.see_end();
    }
}

fn parse(line: &[u8]) -> Result<Request, RequestError> {
    let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= MAX_LINE && !text.contains(char::is_control));
    Request::parse(text.ok_or(RequestError::Line)?)
}
