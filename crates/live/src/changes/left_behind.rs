// SPDX-License-Identifier: MIT OR Apache-2.0
//! Journals of processes that died before they gave back what they had changed.
//!
//! What has a journal's name and is none (a folder, a pipe, a file that does not say whose it is) keeps no other journal from being
//! given back: it is named, and stays.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use super::journal::{ENDING, folder};
use super::record::{Left, Owner, Records};
use super::restore::{self, Restored};
use super::{ChangeError, System};
use crate::tasks::Tasks;

/// Bytes of a journal that are read: about a million lines, and journals are written anew long before.
const MOST_BYTES: u64 = 128 << 20;

/// What a dead process has left changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// The process.
    pub owner: Owner,
    /// Changes of the process, the last first.
    pub changes: Vec<Left>,
    /// The file of its journal.
    pub path: PathBuf,
}

/// What was found where journals are.
#[derive(Debug)]
pub struct Found<T> {
    /// Of dead processes, by the names of their journals.
    pub dead: Vec<T>,
    /// Processes that live, and give back by themselves.
    pub alive: Vec<Owner>,
    /// What cannot be read as a journal, or not be removed when all in it was given back.
    pub unread: Vec<ChangeError>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self { dead: Vec::new(), alive: Vec::new(), unread: Vec::new() }
    }
}

/// What dead processes have left changed. `root` and `folder` are those that their journals were begun with.
///
/// # Errors
/// The folder is there but cannot be read: [`ChangeError::Journal`].
pub fn left_behind(root: &Path, folder: &Path) -> Result<Found<LeftBehind>, ChangeError> {
    let mut found = Found::default();
    for path in journals(folder)? {
        let read = open(&path).and_then(|file| file.map_or(Ok(None), |mut file| read(root, &mut file)));
        let Some((owner, records, _)) = found.take(&path, read).filter(|(owner, ..)| owner.boot == boot(root)) else {
            continue;
        };
        let changes = records.last_first().into_iter().cloned().collect();
        found.dead.push(LeftBehind { owner, changes, path });
    }
    Ok(found)
}

/// Gives back what dead processes have left changed. A journal that another process is just giving back is left to it.
///
/// # Errors
/// As [`left_behind`].
pub fn restore_left_behind(system: impl Into<System>, folder: &Path) -> Result<Found<(Owner, Restored)>, ChangeError> {
    let system = system.into();
    let mut found = Found::default();
    for path in journals(folder)? {
        let given_back = restore_one(&system, &path, &mut found);
        found.dead.extend(given_back);
    }
    Ok(found)
}

/// Gives back what one journal says, if its owner is dead.
fn restore_one(system: &System, path: &Path, found: &mut Found<(Owner, Restored)>) -> Option<(Owner, Restored)> {
    let root = system.root();
    let file = found.take_opened(path, open(path))?;
    let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(file) => file,
        Err((mut file, Errno::EWOULDBLOCK)) => {
            // Its owner has it, or who gives it back.
            let _ = found.take(path, read(root, &mut file));
            return None;
        }
        Err((_, why)) => return found.take_opened(path, Err(why.into())),
    };
    // Only now nobody else changes it, or takes it away.
    if !path.exists() {
        return None;
    }
    let read = read(root, &mut file);
    let (owner, mut records, unread_lines) = found.take(path, read)?;
    // What another boot changed is gone with it.
    if owner.boot != boot(root) {
        let _ = fs::remove_file(path);
        return None;
    }
    let restored = Restored { unread_lines, ..restore::give_back(system, &mut records, owner.start_time) };
    if restored.stuck.is_empty()
        && let Err(why) = fs::remove_file(path)
    {
        found.unread.push(ChangeError::Journal { path: path.to_owned(), doing: "removed", why });
    }
    Some((owner, restored))
}

/// A journal as it was read: whose it is, what was changed, and how many lines mean nothing.
enum Journal {
    /// Of a process that lives.
    Alive(Owner),
    Dead(Owner, Records, usize),
}

impl<T> Found<T> {
    /// The journal at `path`, if its owner is dead; else notes what it is.
    fn take(&mut self, path: &Path, read: io::Result<Option<Journal>>) -> Option<(Owner, Records, usize)> {
        match self.take_opened(path, read)? {
            Journal::Dead(owner, records, unread_lines) => Some((owner, records, unread_lines)),
            Journal::Alive(owner) => {
                self.alive.push(owner);
                None
            }
        }
    }

    fn take_opened<O>(&mut self, path: &Path, opened: io::Result<Option<O>>) -> Option<O> {
        opened.unwrap_or_else(|why| {
            self.unread.push(ChangeError::Journal { path: path.to_owned(), doing: "read", why });
            None
        })
    }
}

/// All journals, by name; none if there is no folder.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, ChangeError> {
    let folder = self::folder(folder);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(ChangeError::Journal { path: folder, doing: "read", why }),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    Ok(paths)
}

/// Opens a journal; `None` if it is not there any more. What is no file is an error: a pipe would be waited for, a device read
/// without end, and a link leads to what Tandem has not written.
fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) if why.raw_os_error() == Some(Errno::ELOOP as i32) => return Err(io::Error::other("it is a link")),
        Err(why) => return Err(why),
    };
    let kind = file.metadata()?.file_type();
    match kind.is_file() {
        true => Ok(Some(file)),
        false if kind.is_dir() => Err(io::Error::other("it is a folder")),
        false => Err(io::Error::other("it is no file")),
    }
}

/// Reads a journal. Bytes that are no text are a line that means nothing.
fn read(root: &Path, file: &mut File) -> io::Result<Option<Journal>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let Some((owner, records, unread_lines)) = Records::read(&String::from_utf8_lossy(&bytes)) else {
        return Err(io::Error::other("its first line does not say whose it is"));
    };
    Ok(Some(match owner.lives(root) {
        true => Journal::Alive(owner),
        false => Journal::Dead(owner, records, unread_lines),
    }))
}

fn boot(root: &Path) -> String {
    Tasks::below(root).boot()
}
