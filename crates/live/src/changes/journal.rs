// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process's journal: changes things, and gives them back.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::heirs;
use super::record::{Left, Line, Owner, Records};
use super::restore::{self, Restored};
use super::{Change, ChangeError, Setting, System};
use crate::tasks::Tasks;

/// Journals end so; what does not is being made.
pub(super) const ENDING: &str = "journal";

/// A journal with so few lines is not worth writing anew.
const FEW_LINES: usize = 1000;

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The change was made.
    Changed,
    /// It was so already; nothing was done, nor will it be undone.
    Already,
}

/// A process's changes. What is still as it left it is given back when this is dropped.
#[derive(Debug)]
pub struct Journal {
    system: System,
    owner: Owner,
    path: PathBuf,
    /// Locked as long as the process lives: nobody else gives back what is in use.
    file: Flock<File>,
    /// Bytes of whole lines.
    length: u64,
    records: Records,
}

/// Where journals are, below the folder for a running Tandem (`/run/tandem`).
pub(super) fn folder(folder: &Path) -> PathBuf {
    folder.join("changes")
}

impl Journal {
    /// Begins the journal of this process in the folder `changes` of `folder`, which is made if it is not there. A path stands
    /// for the files below it and the running kernel's threads.
    ///
    /// # Errors
    /// [`ChangeError::Journal`], for instance because this process is not root's.
    pub fn begin(system: impl Into<System>, folder: &Path) -> Result<Self, ChangeError> {
        let system = system.into();
        let folder = self::folder(folder);
        let failed = |why| ChangeError::Journal { path: folder.clone(), doing: "created", why };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let no_proc = || io::Error::new(io::ErrorKind::NotFound, "/proc does not say when this process began");
        let owner = Owner::this(system.root()).ok_or_else(no_proc).map_err(failed)?;
        let path = folder.join(format!("{}-{}.{ENDING}", owner.pid, owner.start_time));
        let (file, length) = create(&path, &owner).map_err(failed)?;
        Ok(Self { system, owner, path, file, length, records: Records::default() })
    }

    /// Changes something: writes down what it was, then does it.
    ///
    /// # Errors
    /// Each says that nothing was changed.
    pub fn apply(&mut self, change: &Change) -> Result<Applied, ChangeError> {
        let (setting, to) = (&change.setting, &change.setting.plain(&change.to));
        let now = setting
            .read(self.system.root())
            .map_err(|why| ChangeError::Unreadable { setting: setting.clone(), why })?;
        if setting.is_same(&now, to) {
            return Ok(Applied::Already);
        }
        let is_first = self.records.get(setting).is_none();
        let old = self.had(setting, &now);
        self.note(Line::Change { setting: setting.clone(), old, to: to.clone() })?;
        if let Err(why) = setting.write(&self.system, to) {
            if is_first {
                self.note(Line::Refused { setting: setting.clone() })?;
            }
            return Err(ChangeError::Refused { setting: setting.clone(), to: to.clone(), why });
        }
        let became = setting.read(self.system.root()).unwrap_or_else(|_| to.clone());
        if !setting.is_same(&became, to) {
            self.note(Line::Became { setting: setting.clone(), value: became })?;
        }
        Ok(Applied::Changed)
    }

    /// Something that was changed is somebody else's now: it will not be given back.
    ///
    /// # Errors
    /// [`ChangeError::Journal`]: it is still to be given back.
    pub(crate) fn release(&mut self, setting: &Setting) -> Result<(), ChangeError> {
        if self.records.get(setting).is_none() {
            return Ok(());
        }
        self.note(Line::Released { setting: setting.clone() })
    }

    /// How many things are different now because of this process.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value that something had before its first change; `None` if it was not changed.
    pub fn old(&self, setting: &Setting) -> Option<&str> {
        self.records.get(setting).map(|left| left.old.as_str())
    }

    /// The value that something would have if nothing had been changed: its old one, for a thread that inherited one of
    /// ours that of the relative it has it from, else the one that it has now.
    pub(crate) fn had(&self, setting: &Setting, now: &str) -> String {
        let old = self.old(setting).map(str::to_owned);
        let inherited = || heirs::inherited(self.system.root(), &self.records, self.owner.start_time, setting, now);
        old.or_else(inherited).unwrap_or_else(|| now.to_owned())
    }

    /// Where `/sys` and `/proc` are.
    pub(crate) fn root(&self) -> &Path {
        self.system.root()
    }

    /// Forgets threads of processes that have ended, and writes the journal anew once it is mostly about these: it is in
    /// memory, and a process may keep one for months.
    ///
    /// # Errors
    /// [`ChangeError::Journal`]: it is as it was.
    pub(crate) fn tidy(&mut self) -> Result<(), ChangeError> {
        self.records.forget_ended(&Tasks::below(self.system.root()));
        if self.records.lines() < FEW_LINES + 4 * self.records.len() {
            return Ok(());
        }
        let failed = |why| ChangeError::Journal { path: self.path.clone(), doing: "written", why };
        let lines: Vec<Line> = self.records.in_order().into_iter().flat_map(Left::to_lines).collect();
        let (file, length) = write_new(&self.path, &self.owner, &lines).map_err(failed)?;
        fs::rename(self.path.with_extension("new"), &self.path).map_err(failed)?;
        (self.file, self.length) = (file, length);
        self.records.count_again(lines.len());
        Ok(())
    }

    /// Gives everything back.
    pub fn restore(mut self) -> Restored {
        self.give_back()
    }

    fn give_back(&mut self) -> Restored {
        let restored = restore::give_back(&self.system, &mut self.records, self.owner.start_time);
        // What could not be given back is tried again by the next one who finds this file.
        if restored.stuck.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
        restored
    }

    /// Writes a line. The file is of a file system in memory, so it is there as soon as this returns.
    fn note(&mut self, line: Line) -> Result<(), ChangeError> {
        let written = write_line(&mut self.file, &line);
        match written {
            Ok(bytes) => self.length += bytes,
            Err(why) => {
                // The next line must not begin behind half of this one.
                let _ = self.file.set_len(self.length);
                return Err(ChangeError::Journal { path: self.path.clone(), doing: "written", why });
            }
        }
        self.records.add(line);
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Makes a journal with its first line, which appears whole and locked.
fn create(path: &Path, owner: &Owner) -> io::Result<(Flock<File>, u64)> {
    let made = write_new(path, owner, &[])?;
    let new = path.with_extension("new");
    // A process has one journal: another one would be given back twice.
    let linked = fs::hard_link(&new, path);
    fs::remove_file(&new)?;
    linked.map(|()| made)
}

/// Writes a journal beside the place of another one, locked. If there is no room for it, nothing of it stays there.
fn write_new(path: &Path, owner: &Owner, lines: &[Line]) -> io::Result<(Flock<File>, u64)> {
    let new = path.with_extension("new");
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&new)?;
    let mut file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, why)| io::Error::from(why))?;
    match write_all(&mut file, owner, lines) {
        Ok(length) => Ok((file, length)),
        Err(why) => {
            let _ = fs::remove_file(&new);
            Err(why)
        }
    }
}

/// Writes a journal anew; how long it is then.
fn write_all(file: &mut File, owner: &Owner, lines: &[Line]) -> io::Result<u64> {
    file.set_len(0)?;
    let mut length = write_line(file, &Line::Owner(owner.clone()))?;
    for line in lines {
        length += write_line(file, line)?;
    }
    Ok(length)
}

fn write_line(file: &mut File, line: &Line) -> io::Result<u64> {
    let text = serde_json::to_string(line)? + "\n";
    file.write_all(text.as_bytes())?;
    Ok(text.len() as u64)
}
