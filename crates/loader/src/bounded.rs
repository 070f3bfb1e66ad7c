// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading what a user names, which may be anything: a file without end (`/dev/zero`), a pipe from a program that writes
//! for ever, a copy of a disk. More than [`LARGEST`] bytes are no description of anything, and are not read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes that are read of one file or pipe: 64 MiB. Descriptions of machines and workloads have some thousand.
pub const LARGEST: u64 = 64 << 20;

/// The bytes of the file at `path`, which may be a pipe.
///
/// # Errors
/// The system's, of a folder for instance; or `FileTooLarge`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?, LARGEST)
}

/// The text of the file at `path`, which may be a pipe.
///
/// # Errors
/// As [`read`] has them; or the bytes are not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

/// The text that `source`, standard input for instance, gives up to its end.
///
/// # Errors
/// As [`read_text`] has them.
pub fn read_text_from(source: impl Read) -> io::Result<String> {
    text(read_from(source, LARGEST)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text (UTF-8)"))
}

fn read_from(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {} MiB, which no description needs", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_is_allowed_is_read_and_no_more() {
        assert_eq!(read_from(&[7_u8; 10][..], 10).unwrap(), [7; 10]);
        let error = read_from(&[7_u8; 11][..], 10).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_has_no_end_is_not_read_for_ever() {
        let error = read_text_from(io::repeat(b' ')).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 64 MiB, which no description needs");
        assert_eq!(read_text(Path::new("/dev/zero")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_folder_is_an_error_and_nothing_is_an_empty_text() {
        assert!(read(Path::new("/")).is_err());
        assert_eq!(read_text(Path::new("/dev/null")).unwrap(), "");
    }
}
