// SPDX-License-Identifier: GPL-2.0-only
//! Files that appear whole or not at all, also when a signal ends the program.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tandem_live::session::events::ignored_signals;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// The temporary files that exist at present. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Files(Arc<Mutex<Vec<PathBuf>>>);

impl Files {
    fn pending(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes SIGINT, SIGTERM and SIGHUP remove the temporary files and end the program with 128 + the signal's number.
    /// Signals that are ignored already (as under `nohup`) stay ignored, and an interrupt that a command awaits is only noted.
    pub fn remove_on_signals(&self, interrupt: &Interrupt) -> io::Result<()> {
        let ignored = ignored_signals();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP].iter().filter(|signal| ignored >> (**signal - 1) & 1 == 0))?;
        let (files, interrupt) = (self.clone(), interrupt.clone());
        std::thread::spawn(move || {
            let fatal = |signal: &i32| *signal != SIGINT || !interrupt.arrive();
            if let Some(signal) = signals.forever().find(fatal) {
                // The list stays locked to the end: no new file may begin, and none be renamed into place.
                let pending = files.pending();
                for path in pending.iter() {
                    let _ = fs::remove_file(path);
                }
                std::process::exit(128 + signal);
            }
        });
        Ok(())
    }

    /// A file that becomes `target` once it is finished.
    pub fn create(&self, target: &Path) -> Result<Staged, Failure> {
        self.open(target).map_err(|error| Failure::writing(target, error))
    }

    fn open(&self, target: &Path) -> io::Result<Staged> {
        // A terminal, a pipe or /dev/null is written to, never replaced.
        if fs::metadata(target).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(target)?;
            return Ok(Staged { target: target.to_owned(), content: Content::Direct(BufWriter::new(file)) });
        }
        // The file behind a symbolic link is replaced, not the link.
        let place = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The system's message about a folder that does not exist is plainer than an error's kind.
        fs::metadata(folder)?;
        let mut pending = self.pending();
        let file = tempfile::Builder::new()
            .prefix(".tandem-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            // The temporary file's name is left out: it means nothing to a user, who named the target.
            .map_err(|error| io::Error::from(error.kind()))?;
        pending.push(file.path().to_owned());
        drop(pending);
        let content = Content::Temporary { file: BufWriter::new(file), place, files: self.clone() };
        Ok(Staged { target: target.to_owned(), content })
    }

    /// Writes `content` as the whole of `target`.
    pub fn write(&self, target: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
        let mut staged = self.create(target)?;
        staged.write_all(content.as_ref()).map_err(|error| Failure::writing(target, error))?;
        staged.finish()
    }
}

/// A file being written. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Direct(BufWriter<File>),
    Temporary { file: BufWriter<NamedTempFile>, place: PathBuf, files: Files },
}

impl Staged {
    /// Adds `text`.
    pub fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        self.write_all(text.as_bytes()).map_err(|error| Failure::writing(&self.target, error))
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { target, content } = self;
        content.finish().map_err(|error| Failure::writing(&target, error))
    }
}

impl Content {
    fn finish(self) -> io::Result<()> {
        match self {
            Self::Direct(mut file) => file.flush(),
            Self::Temporary { file, place, files } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                let mut pending = files.pending();
                pending.retain(|path| path != file.path());
                file.persist(place).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Direct(file) => file.write(bytes),
            Content::Temporary { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.content {
            Content::Direct(file) => file.flush(),
            Content::Temporary { file, .. } => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn an_unfinished_file_leaves_the_old_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.json");
        fs::write(&target, "old").unwrap();
        let mut staged = Files::default().create(&target).unwrap();
        staged.write_all(b"half").unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop(staged);
        assert_eq!(names(folder.path()), ["report.json"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    }

    #[test]
    fn a_finished_file_takes_the_place_and_nothing_else_remains() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.json");
        let files = Files::default();
        files.write(&target, "first").unwrap();
        files.write(&target, "second").unwrap();
        assert_eq!(names(folder.path()), ["report.json"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "second");
        assert!(files.pending().is_empty());
    }

    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        Files::default().write(Path::new("/dev/null"), "gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn the_file_behind_a_link_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        Files::default().write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let error = Files::default().write(Path::new("/nowhere/at/all.json"), "").unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/at/all.json: cannot be written"), "{error}");
    }
}
