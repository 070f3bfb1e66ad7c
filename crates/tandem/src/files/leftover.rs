// SPDX-License-Identifier: GPL-2.0-only
//! Temporary files that a killed process left: their names say whose they are, and a lock whether it still writes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg, OFlag};
use tandem_live::process::Process;
use tandem_live::session::ROOT;

/// What the names of all temporary files begin and end with.
const BEGIN: &str = ".tandem-";
const END: &str = ".tmp";

/// The beginning of the names of this process' temporary files: `.tandem-PID-START-`. What follows is chosen at random.
pub fn prefix() -> String {
    let start = process(std::process::id()).map_or(0, |process| process.start_time);
    format!("{BEGIN}{}-{start}-", std::process::id())
}

/// The end of the names of temporary files.
pub fn suffix() -> &'static str {
    END
}

/// Keeps other processes from taking the temporary file for left over, while it lives. The kernel gives the lock back when
/// the process ends, however that happens. A file system without locks gives none; nothing is removed there.
pub fn claim(file: &File) -> Option<Flock<File>> {
    let file = file.try_clone().ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Removes the temporary files in `folder` that processes of the user `uid` left when they were killed. A file goes only if
/// its name says that it is one, if the process of the name is gone, and if nobody has it locked: a process of another
/// container has a number that means another process here.
pub fn remove(folder: &Path, uid: u32) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if owner(&entry.file_name()).is_some_and(|owner| owner.is_gone()) {
            let _ = remove_unlocked(&entry.path(), uid);
        }
    }
}

fn remove_unlocked(path: &Path, uid: u32) -> std::io::Result<()> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.uid() == uid && Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok() {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// The process that a temporary file's name names.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    /// When it began, in clock ticks after boot.
    start: u64,
}

fn owner(name: &OsStr) -> Option<Owner> {
    let mut parts = name.to_str()?.strip_prefix(BEGIN)?.strip_suffix(END)?.splitn(3, '-');
    let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().map(|_| Owner { pid, start })
}

impl Owner {
    /// Whether the process has ended. Without `/proc` nobody knows.
    fn is_gone(&self) -> bool {
        match process(self.pid) {
            Some(process) => process.start_time != self.start,
            None => process(std::process::id()).is_some(),
        }
    }
}

/// The process of this number; `None` if there is none, or it has ended.
fn process(id: u32) -> Option<Process> {
    Process::read(Path::new(ROOT), id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_files_name_says_whose_it_is() {
        let name = format!("{}aB3{}", prefix(), suffix());
        let owner = owner(OsStr::new(&name)).unwrap();
        assert_eq!(owner.pid, std::process::id());
        assert!(!owner.is_gone());
        assert!(Owner { start: owner.start + 1, ..owner }.is_gone());
        for other in
            [".tandem-aB3xYz.tmp", ".tandem-1-2.tmp", ".tandem-1-2-x", "tandem-1-2-x.tmp", ".tandem--1-2-x.tmp"]
        {
            assert_eq!(super::owner(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn only_what_nobody_writes_any_more_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        // No process has the number 0.
        let names = [".tandem-0-1-left.tmp", ".tandem-0-1-locked.tmp", ".tandem-0-1-other", "report.json"];
        names.iter().for_each(|name| fs::write(folder.path().join(name), "half").unwrap());
        let uid = fs::metadata(folder.path()).unwrap().uid();
        let locked = File::open(folder.path().join(names[1])).unwrap();
        let lock = claim(&locked);
        remove(folder.path(), uid + 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        remove(folder.path(), uid);
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
        drop(lock);
        remove(folder.path(), uid);
        assert!(!folder.path().join(names[1]).exists());
    }
}
