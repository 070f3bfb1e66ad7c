// SPDX-License-Identifier: MIT OR Apache-2.0
//! Journals of processes that died before they gave back what they had changed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::journal::{ENDING, folder};
use super::record::{Left, Owner, Records};
use super::restore::{self, Restored};
use super::{ChangeError, System};
use crate::tasks::Tasks;

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

/// What dead processes have left changed. `root` and `folder` are those that their journals were begun with.
///
/// # Errors
/// The folder is there but cannot be read: [`ChangeError::Journal`].
pub fn left_behind(root: &Path, folder: &Path) -> Result<Vec<LeftBehind>, ChangeError> {
    let mut all = Vec::new();
    for path in journals(folder)? {
        if let Some((owner, records, _)) = dead(root, &path)?.filter(|(owner, ..)| owner.boot == boot(root)) {
            let changes = records.last_first().into_iter().cloned().collect();
            all.push(LeftBehind { owner, changes, path });
        }
    }
    Ok(all)
}

/// Gives back what dead processes have left changed. A journal that another process is just giving back is left to it.
///
/// # Errors
/// As [`left_behind`].
pub fn restore_left_behind(system: impl Into<System>, folder: &Path) -> Result<Vec<(Owner, Restored)>, ChangeError> {
    let system = system.into();
    let root = system.root();
    let mut all = Vec::new();
    for path in journals(folder)? {
        let Ok(file) = File::open(&path) else { continue };
        let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
        // Only now nobody else changes it, or takes it away.
        let Some((owner, mut records, unread_lines)) = dead(root, &path)? else { continue };
        // What another boot changed is gone with it.
        if owner.boot != boot(root) {
            let _ = fs::remove_file(&path);
            continue;
        }
        let restored = Restored { unread_lines, ..restore::give_back(&system, &mut records, owner.start_time) };
        if restored.stuck.is_empty() {
            fs::remove_file(&path).map_err(|why| ChangeError::Journal { path, doing: "removed", why })?;
        }
        all.push((owner, restored));
    }
    Ok(all)
}

/// All journals, by name; none if there is no folder.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, ChangeError> {
    let folder = self::folder(folder);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(ChangeError::Journal { path: folder, doing: "read", why }),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    Ok(paths)
}

/// A journal whose owner is dead. Bytes that are no text are a line that means nothing.
fn dead(root: &Path, path: &Path) -> Result<Option<(Owner, Records, usize)>, ChangeError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(ChangeError::Journal { path: path.to_owned(), doing: "read", why }),
    };
    let journal = Records::read(&String::from_utf8_lossy(&bytes));
    Ok(journal.filter(|(owner, ..)| !owner.lives(root)))
}

fn boot(root: &Path) -> String {
    Tasks::below(root).boot()
}
