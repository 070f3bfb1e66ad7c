// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description of the running machine, from what its kernel shows in sysfs, debugfs and /proc.
//!
//! Three steps, each of its own type: `facts` only reads, `plan` only decides (no files, so that any machine is a
//! test), `write` only prints. `assumed` holds every figure that no file gives. docs/detect.md lists what is read.

mod assumed;
pub(crate) mod cpulist;
mod facts;
mod plan;
mod tree;
mod write;

use std::path::{Path, PathBuf};

/// A description of a machine, and what to know before trusting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The description, schema 1. The same machine state gives the same text.
    pub toml: String,
    /// What could not be read, contradicts itself or was assumed, a sentence each, for people.
    pub warnings: Vec<String>,
}

/// Why a machine could not be described.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// A file without which nothing can be said.
    #[error(
        "{}: cannot be read: {reason}; mount sysfs at /sys, or give the root of a tree that holds a copy of it",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        reason: std::io::Error,
    },
    /// Such a file holds something else than it should.
    #[error("{}: expected {expected}, found \"{found}\"; if this is a copy of /sys, copy it again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What belongs there.
        expected: &'static str,
        /// How its content begins.
        found: String,
    },
}

/// Describes the machine whose `/sys` and `/proc` are below `root` (`/` for the running one) under the name `name`.
///
/// Missing optional files never fail: what they would have told is assumed, marked so in the description, and listed
/// in [`Detected::warnings`].
///
/// # Errors
/// [`DetectError`] if the list of online CPUs cannot be had.
pub fn detect(root: &Path, name: &str) -> Result<Detected, DetectError> {
    let (facts, mut warnings) = facts::Facts::read(root)?;
    let plan = plan::Plan::of(&facts, &mut warnings);
    let toml = write::description(&plan, name);
    Ok(Detected { toml, warnings })
}
