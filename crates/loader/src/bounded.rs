// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading what a user names, which may be anything: a file without end (`/dev/zero`), a pipe from a program that writes
//! for ever, a copy of a disk. Each kind of input has a [`Limit`]; more bytes are not read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most that is read of one kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    most: u64,
    /// The kind of input, in words.
    kind: &'static str,
    /// What a user does whose input is larger.
    next: &'static str,
}

/// Bytes at the beginning of a file by which its kind is told.
const HEAD: u64 = 4096;

impl Limit {
    /// A machine, a workload, an experiment, the file beside an object, a file of the kernel's: they have some thousand bytes.
    pub const DESCRIPTION: Self = Self::new(64 << 20, "a description", "is this the file that was meant?");
    /// An object for the kernel: those of schedulers have some hundred kilobytes.
    pub const OBJECT: Self =
        Self::new(256 << 20, "an object", "a sched_ext object such as scx_simple.bpf.o is expected");
    /// The JSON of a command, or a baseline: some kilobytes for each run.
    pub const REPORT: Self = Self::new(256 << 20, "a report", "make several reports, each of fewer runs");
    /// A trace with every slice of a run. A browser does not open the page of a larger one.
    pub const TRACE: Self = Self::new(2 << 30, "a trace", "trace a shorter run (--duration)");

    /// At most so many bytes of `kind`; a user with more does what `next` says.
    pub const fn new(most: u64, kind: &'static str, next: &'static str) -> Self {
        Self { most, kind, next }
    }

    /// The bytes of the file at `path`, which may be a pipe.
    ///
    /// # Errors
    /// The system's, of a folder for instance; or `FileTooLarge`.
    pub fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_from(File::open(path)?)
    }

    /// The text of the file at `path`, which may be a pipe.
    ///
    /// # Errors
    /// As [`Limit::read`] has them; or the bytes are not UTF-8.
    pub fn read_text(self, path: &Path) -> io::Result<String> {
        text(self.read(path)?)
    }

    /// The bytes that `source` gives up to its end.
    ///
    /// # Errors
    /// As [`Limit::read`] has them.
    pub fn read_from(self, source: impl Read) -> io::Result<Vec<u8>> {
        self.continued(Vec::new(), source)
    }

    /// The text that `source`, standard input for instance, gives up to its end.
    ///
    /// # Errors
    /// As [`Limit::read_text`] has them.
    pub fn read_text_from(self, source: impl Read) -> io::Result<String> {
        text(self.read_from(source)?)
    }

    /// `bytes`, and those that `source` gives behind them.
    fn continued(self, mut bytes: Vec<u8>, source: impl Read) -> io::Result<Vec<u8>> {
        let left = (self.most + 1).saturating_sub(bytes.len() as u64);
        source.take(left).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.most {
            let Self { most, kind, next } = self;
            let message = format!("it has more than {} MiB, the limit of {kind}; {next}", most >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    }
}

/// The bytes of the file at `path`, which may be a pipe; `limit_of` tells by the file's beginning what it is.
///
/// # Errors
/// As [`Limit::read`] has them.
pub fn read_by_head(path: &Path, limit_of: impl FnOnce(&[u8]) -> Limit) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    limit_of(&head).continued(head, file)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text (UTF-8)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Limit = Limit::new(10, "ten bytes", "write fewer");

    #[test]
    fn as_much_as_is_allowed_is_read_and_no_more() {
        assert_eq!(TEN.read_from(&[7_u8; 10][..]).unwrap(), [7; 10]);
        let mut long = &[7_u8; 20][..];
        assert_eq!(TEN.read_from(&mut long).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(long.len(), 9, "one byte beyond the limit is read, to see that it is there");
    }

    #[test]
    fn what_has_no_end_is_not_read_for_ever() {
        let error = Limit::DESCRIPTION.read_text_from(io::repeat(b' ')).unwrap_err();
        let message = "it has more than 64 MiB, the limit of a description; is this the file that was meant?";
        assert_eq!(error.to_string(), message);
        let zero = Path::new("/dev/zero");
        assert_eq!(Limit::DESCRIPTION.read_text(zero).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn the_beginning_of_a_file_tells_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let limit = |head: &[u8]| if head.starts_with(b"T") { Limit::TRACE } else { TEN };
        for (content, whole) in [("T2345678901", true), ("12345678901", false), ("1234567890", true)] {
            std::fs::write(&path, content).unwrap();
            let read = read_by_head(&path, limit);
            assert_eq!(read.ok(), whole.then(|| content.as_bytes().to_vec()), "{content}");
        }
    }

    #[test]
    fn a_folder_is_an_error_and_nothing_is_an_empty_text() {
        assert!(Limit::OBJECT.read(Path::new("/")).is_err());
        assert_eq!(Limit::REPORT.read_text(Path::new("/dev/null")).unwrap(), "");
    }
}
