// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asks whoever listens at a control socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Answer, ControlError};

/// Bytes of an answer, at most.
const LONGEST: usize = 1 << 20;

/// Asks whoever listens at `path`, and waits for the answer at most that long, however slowly it comes.
///
/// # Errors
/// [`ControlError::Nobody`], [`ControlError::Lost`].
pub fn ask(path: &Path, request: &str, patience: Duration) -> Result<Answer, ControlError> {
    let lost = |why| ControlError::Lost { path: path.to_owned(), why };
    let end = Instant::now() + patience;
    let mut stream = UnixStream::connect(path).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::Nobody { path: path.to_owned() },
        _ => lost(why),
    })?;
    // Who refuses a connection says why, and hangs up: that can still be read if nothing can be written any more.
    let written = stream.write_all(format!("{request}\n").as_bytes());
    let line = line(&mut stream, end).map_err(lost)?;
    written.or_else(|why| if line.is_empty() { Err(lost(why)) } else { Ok(()) })?;
    let Some(line) = line.strip_suffix('\n') else {
        return Err(lost(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up without an answer")));
    };
    Ok(match line.strip_prefix("error ") {
        Some(why) => Err(why.to_owned()),
        None => Ok(line.to_owned()),
    })
}

/// What is said, up to the end of the line or of the connection.
fn line(stream: &mut UnixStream, end: Instant) -> io::Result<String> {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    while !said.ends_with(b"\n") && said.len() < LONGEST {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => said.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It was hung up before all that was asked had been read.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset && !said.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    String::from_utf8(said).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "its answer is no text"))
}
