// SPDX-License-Identifier: GPL-2.0-only
//! Where an output goes: over a file, into a new one, or through something that is no file.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Most symbolic links that are followed one after the other, as in the kernel.
const MOST_LINKS: usize = 40;
/// Names of what the process has open already.
const STREAMS: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/"];

/// A file that two names may lead to. Links, symbolic or hard, do not change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A file that exists.
    There {
        /// Number of the file system.
        device: u64,
        /// Number of the file.
        inode: u64,
    },
    /// A file that does not exist yet.
    New {
        /// Number of the file system.
        device: u64,
        /// Number of the folder.
        folder: u64,
        /// The file's name in the folder.
        name: OsString,
    },
}

impl Identity {
    /// The identity of the file that is there.
    pub fn of(metadata: &Metadata) -> Self {
        Self::There { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Where an output goes.
#[derive(Debug)]
pub enum Place {
    /// Open for writing: a terminal, a pipe, /dev/null, standard output. It is written through, never replaced.
    Through(File),
    /// A file that standard output goes to, under its own name.
    StandardOutput,
    /// A file that appears, or is replaced, once all is written.
    File {
        /// The path without symbolic links at its end: the file behind a link is replaced, not the link.
        path: PathBuf,
        /// The file's identity.
        identity: Identity,
        /// The file that is there already.
        old: Option<Box<Metadata>>,
    },
}

impl Place {
    /// Where an output to `target` goes. Nothing is changed.
    pub fn of(target: &Path) -> io::Result<Self> {
        match fs::metadata(target) {
            Ok(old) => Self::there(target, old),
            Err(_) => Self::new(target),
        }
    }

    fn there(target: &Path, old: Metadata) -> io::Result<Self> {
        let stream = stream(&old);
        let of_process = STREAMS.iter().any(|name| target.as_os_str().as_encoded_bytes().starts_with(name.as_bytes()));
        match stream {
            Some(stream) if of_process || !old.is_file() => return Ok(Self::Through(stream)),
            Some(_) => return Ok(Self::StandardOutput),
            None if of_process => return Ok(Self::Through(File::options().append(true).open(target)?)),
            None if !old.is_file() => return Ok(Self::Through(File::options().write(true).open(target)?)),
            None => {}
        }
        Ok(Self::File { path: fs::canonicalize(target)?, identity: Identity::of(&old), old: Some(Box::new(old)) })
    }

    fn new(target: &Path) -> io::Result<Self> {
        let path = behind_links(target)?;
        // The system's message about a folder that does not exist is plainer than an error's kind.
        let folder = fs::metadata(folder(&path))?;
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let identity = Identity::New { device: folder.dev(), folder: folder.ino(), name };
        Ok(Self::File { path, identity, old: None })
    }
}

/// The folder that a file is in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Standard output or standard error, if `metadata` is of the same file. What is opened by its name a second time would be
/// written from its beginning.
fn stream(metadata: &Metadata) -> Option<File> {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    [stdout.as_fd(), stderr.as_fd()].into_iter().filter_map(|stream| same(stream, metadata)).next()
}

fn same(stream: BorrowedFd<'_>, metadata: &Metadata) -> Option<File> {
    let file = File::from(stream.try_clone_to_owned().ok()?);
    let same = file.metadata().is_ok_and(|stream| Identity::of(&stream) == Identity::of(metadata));
    same.then_some(file)
}

/// The path behind symbolic links that lead to no file yet: the file is made where they lead.
fn behind_links(target: &Path) -> io::Result<PathBuf> {
    let mut path = target.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = folder(&path).join(link),
            Err(_) => return Ok(path),
        }
    }
    // The system's message: too many levels of symbolic links.
    Err(fs::metadata(target).err().unwrap_or_else(|| io::ErrorKind::InvalidInput.into()))
}
