// SPDX-License-Identifier: GPL-2.0-only
//! Files that appear whole or not at all, also when a signal ends the program, and never in the place of an input.
//!
//! [`place`]: where an output goes. [`kind`]: which files it may replace. [`leftover`]: what a killed process left.

mod kind;
mod leftover;
mod place;

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write, stderr};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::fcntl::Flock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tandem_live::session::events::ignored_signals;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::interrupt::Interrupt;

pub use self::kind::{Kind, MARKDOWN_MARK};
use self::place::{Identity, Place};

/// The word for standard output where a file is expected.
pub const DASH: &str = "-";

/// The files that the command has to do with. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The temporary files that exist at present.
    pending: Arc<Mutex<Vec<PathBuf>>>,
    /// The files that are read or written, and what each is to the command.
    taken: Arc<Mutex<Vec<(Identity, String)>>>,
}

/// A file to write.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The path, as the user named it.
    pub path: &'a Path,
    /// What the file is: a file of another kind is not replaced.
    pub kind: Kind,
    /// Whether the user wants a file of another kind replaced, or one that is protected against writing.
    pub force: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// Makes SIGINT, SIGTERM and SIGHUP remove the temporary files and end the program with 128 + the signal's number.
    /// Before, it says how far the run has come that it ends, if one goes on. Signals that are ignored already (as under `nohup`) stay ignored, and one that a command awaits is only noted.
    pub fn remove_on_signals(&self, interrupt: &Interrupt) -> io::Result<()> {
        let ignored = ignored_signals();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP].iter().filter(|signal| ignored >> (**signal - 1) & 1 == 0))?;
        let (files, interrupt) = (self.clone(), interrupt.clone());
        std::thread::spawn(move || {
            let fatal = |signal: &i32| !interrupt.arrive(*signal);
            if let Some(signal) = signals.forever().find(fatal) {
                // The list stays locked to the end: no new file may begin, and none be renamed into place.
                let pending = locked(&files.pending);
                for path in pending.iter() {
                    let _ = fs::remove_file(path);
                }
                if let Some(words) = interrupt.how_far() {
                    // A terminal's line has the spinner.
                    let begin = if stderr().is_terminal() { "\n" } else { "" };
                    let _ = writeln!(stderr(), "{begin}interrupted: {words}");
                }
                std::process::exit(128 + signal);
            }
        });
        Ok(())
    }

    /// Says that the file at `path` is read, as `what` (`the workload`): no output may take its place. What is no file is
    /// left out, and so is a file that does not exist: reading it fails.
    pub fn reads(&self, path: &Path, what: &str) {
        if let Ok(metadata) = fs::metadata(path)
            && metadata.is_file()
        {
            locked(&self.taken).push((Identity::of(&metadata), format!("is read as {what}")));
        }
    }

    /// A file that becomes `output` once it is finished.
    ///
    /// # Errors
    /// The file cannot be written; or it is an input, another output, or a file of another kind.
    pub fn create(&self, output: Output<'_>) -> Result<Staged, Failure> {
        let failed = |error| Failure::writing(output.path, error);
        let refused = |why: String| Err(Failure::Options(format!("{}: {why}", output.path.display())));
        let (path, identity, old) = match Place::of(output.path).map_err(failed)? {
            Place::Through(file) => {
                let content = Content::Through(BufWriter::new(file));
                return Ok(Staged { target: output.path.to_owned(), content });
            }
            Place::StandardOutput => return refused("is where standard output goes, too".to_owned()),
            Place::File { path, identity, old } => (path, identity, old),
        };
        if let Some((_, what)) = locked(&self.taken).iter().find(|(taken, _)| *taken == identity) {
            return refused(format!("{what}; an output never takes its place"));
        }
        if old.is_some() && !output.force {
            File::options().write(true).open(&path).map_err(failed)?;
            if !output.kind.recognises(&path).unwrap_or(false) {
                let kind = output.kind;
                return refused(format!("there is a file that is no {kind}\n  help: --force replaces it"));
            }
        }
        locked(&self.taken).push((identity, format!("is written as the {}", output.kind)));
        let content = self.begin(path, old.as_deref()).map_err(failed)?;
        Ok(Staged { target: output.path.to_owned(), content })
    }

    /// A temporary file beside `place`, with the mode, and where possible the owner, of the `old` file there.
    fn begin(&self, place: PathBuf, old: Option<&Metadata>) -> io::Result<Content> {
        let folder = place::folder(&place);
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let mut pending = locked(&self.pending);
        let file = tempfile::Builder::new()
            .prefix(&leftover::prefix())
            .suffix(leftover::suffix())
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)
            // The temporary file's name is left out: it means nothing to a user, who named the target.
            .map_err(|error| io::Error::from(error.kind()))?;
        pending.push(file.path().to_owned());
        drop(pending);
        let lock = leftover::claim(file.as_file());
        leftover::remove(folder, file.as_file().metadata()?.uid());
        if let Some(old) = old {
            keep(file.as_file(), old)?;
        }
        Ok(Content::Temporary { file: BufWriter::new(file), _lock: lock, place, files: self.clone() })
    }

    /// Writes `content` as the whole of `output`.
    pub fn write(&self, output: Output<'_>, content: impl AsRef<[u8]>) -> Result<(), Failure> {
        let mut staged = self.create(output)?;
        staged.write_bytes(content.as_ref())?;
        staged.finish()
    }
}

/// Gives `file` the owner of the `old` file where the system allows it, and its mode. A group that is another one may do
/// no more than everybody may.
fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(file, None, Some(old.gid()));
    }
    let mode = old.mode() & 0o777;
    let same_group = file.metadata()?.gid() == old.gid();
    let mode = if same_group { mode } else { (mode & !0o070) | (mode & 0o070 & ((mode & 0o007) << 3)) };
    file.set_permissions(Permissions::from_mode(mode))
}

/// A file being written. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Through(BufWriter<File>),
    /// The lock says to other processes that the file is not left over.
    Temporary {
        file: BufWriter<NamedTempFile>,
        _lock: Option<Flock<File>>,
        place: PathBuf,
        files: Files,
    },
}

impl Staged {
    /// Adds `text`.
    pub fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        self.write_bytes(text.as_bytes())
    }

    /// Adds `bytes`.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|error| Failure::writing(&self.target, error))
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
            Self::Through(mut file) => file.flush(),
            Self::Temporary { file, place, files, .. } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                let mut pending = locked(&files.pending);
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
            Content::Through(file) => file.write(bytes),
            Content::Temporary { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.content {
            Content::Through(file) => file.flush(),
            Content::Temporary { file, .. } => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests;
