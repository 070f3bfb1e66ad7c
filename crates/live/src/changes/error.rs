// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a change was not made.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

use super::Setting;

/// Why something was not changed. Whatever it is, it is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The journal cannot be written or read; without it nothing is changed.
    #[error("{}: the journal of changes cannot be {doing}: {why}", path.display())]
    Journal {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `created`, `written`, `read`.
        doing: &'static str,
        /// What the system said.
        why: io::Error,
    },
    /// What is to be changed cannot be read, so it could not be given back.
    #[error("{setting} cannot be read, and is left as it is: {why}")]
    Unreadable {
        /// The setting that cannot be read.
        setting: Setting,
        /// What the system said.
        why: io::Error,
    },
    /// The kernel does not let it be changed so.
    #[error("{setting} cannot become {to}: {why}")]
    Refused {
        /// The setting that cannot be changed.
        setting: Setting,
        /// The value that it was to get.
        to: String,
        /// What the system said.
        why: io::Error,
    },
}

impl ChangeError {
    /// Whether it concerned something that is not there any more: a thread that ended, an interrupt that was freed.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Journal { .. } => false,
            Self::Unreadable { why, .. } | Self::Refused { why, .. } => is_gone(why),
        }
    }
}

/// Whether the system says that there is no such thing.
pub(super) fn is_gone(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::NotFound || why.raw_os_error() == Some(Errno::ESRCH as i32)
}
