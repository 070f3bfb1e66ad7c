// SPDX-License-Identifier: MIT OR Apache-2.0
//! One sweep at a time writes into a folder: a lock of the operating system's, which goes with its process however that ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::{ELOOP, O_NOFOLLOW, O_NONBLOCK};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::{BusyError, warn};

/// The file that is locked; it stays, since to remove it could take away somebody else's lock.
const FILE: &str = ".lock";

/// Who holds a folder, as the file says it.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    process: u32,
    host: String,
    /// Seconds since 1970.
    since: u64,
}

/// A folder that no other sweep writes into.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "what counts is that it is held")] Flock<File>);

impl Lock {
    /// Takes a folder; `None`, with a warning, where its file system has no locks.
    ///
    /// # Errors
    /// `BusyError` if another sweep has it; `OSError` if the file cannot be written.
    pub fn of(py: Python<'_>, folder: &Path) -> PyResult<Option<Self>> {
        let path = folder.join(FILE);
        let file = open(&path).map_err(|why| PyOSError::new_err(format!("{}: {why}", path.display())))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut lock) => {
                lock.set_len(0)?;
                let holder = Holder { process: std::process::id(), host: host(), since: now() };
                lock.write_all(&serde_json::to_vec(&holder).map_err(std::io::Error::from)?)?;
                Ok(Some(Self(lock)))
            }
            Err((_, Errno::EWOULDBLOCK)) => Err(busy(folder, &path)),
            Err((_, error @ (Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::ENOLCK))) => {
                let text = format!("{}: no lock: {error}; no other sweep may write into it", folder.display());
                warn(py, &text)?;
                Ok(None)
            }
            Err((_, error)) => Err(std::io::Error::from(error).into()),
        }
    }
}

/// The file at `path`, which is made if there is none. A symbolic link is not followed, and of anything but a file nothing is
/// written: the file's content is replaced, and whoever may write into the folder could have put another one's file there.
fn open(path: &Path) -> io::Result<File> {
    let flags = O_NOFOLLOW | O_NONBLOCK;
    let opened = OpenOptions::new().create(true).truncate(false).write(true).custom_flags(flags).open(path);
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(ELOOP) => {
            return Err(io::Error::other("is a symbolic link, which is not followed; remove it"));
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("is no file, and cannot be locked; remove it"))
    }
}

/// The exception that names who has the folder.
fn busy(folder: &Path, path: &Path) -> PyErr {
    let holder = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Holder>(&bytes).ok());
    let who = holder.as_ref().map_or_else(
        || "a process that has only begun".to_owned(),
        |holder| format!("process {} on {}, for {} s", holder.process, holder.host, now().saturating_sub(holder.since)),
    );
    let text = format!(
        "{}: another sweep writes into this folder: {who}; wait for it, or give another folder",
        folder.display()
    );
    let (process, since) = holder.as_ref().map(|holder| (holder.process, holder.since)).unzip();
    let host = holder.map(|holder| holder.host);
    BusyError::new_err((text, folder.to_string_lossy().into_owned(), process, host, since))
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "an unknown host".to_owned(), |name| name.trim().to_owned())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
