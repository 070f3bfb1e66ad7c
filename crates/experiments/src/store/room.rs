// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps a store within its limit: the reports go first whose last use is longest ago.
//!
//! The folder is looked through at a process's first report, and again whenever it has written a sixteenth of the limit: a store
//! may be larger than its limit by that much for each process that writes into it.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::TEMPORARY;

/// A file that is being written is done after much less; what is older a killed process left.
const LEFT_OVER: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub struct Room {
    /// Bytes that the store may have.
    limit: u64,
    /// Bytes that were written since the folder was looked through; `None` before the first time.
    written: Mutex<Option<u64>>,
}

/// A report in the store.
struct Kept {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl Room {
    pub fn new(limit: u64) -> Self {
        Self { limit, written: Mutex::new(None) }
    }

    /// Notes a report of so many bytes, and makes room in `folder` if it may be time.
    pub fn wrote(&self, folder: &Path, bytes: u64) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *written {
            Some(written) if *written + bytes <= self.limit / 16 => *written += bytes,
            written => {
                *written = Some(0);
                self.make(folder);
            }
        }
    }

    /// Removes what is too much. Other processes may do the same meanwhile: what is gone is gone.
    fn make(&self, folder: &Path) {
        let files = entries(folder).into_iter().flat_map(|entry| entries(&entry.path()));
        let mut kept: Vec<Kept> = files.filter_map(|file| kept(&file)).collect();
        let mut total: u64 = kept.iter().map(|kept| kept.bytes).sum();
        kept.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for Kept { path, bytes, .. } in kept {
            if total <= self.limit {
                break;
            }
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }
}

fn entries(folder: &Path) -> Vec<DirEntry> {
    fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_default()
}

/// A file as a report. What a killed process left is removed, and what is being written is let alone.
fn kept(file: &DirEntry) -> Option<Kept> {
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
    let (used, path) = (metadata.modified().ok()?, file.path());
    if file.file_name().to_string_lossy().starts_with(TEMPORARY) {
        if used.elapsed().is_ok_and(|age| age > LEFT_OVER) {
            let _ = fs::remove_file(path);
        }
        return None;
    }
    Some(Kept { used, path, bytes: metadata.len() })
}
