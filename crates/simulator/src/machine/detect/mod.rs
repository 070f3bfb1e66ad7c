// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description of the running machine, from what its kernel shows in sysfs, debugfs and /proc.
//!
//! Three steps, each of its own type: [`Reading`] only reads, `plan` only decides (no files, so that any machine is a
//! test), `write` only prints. `assumed` holds every figure that no file gives. How fast CPUs are is decided where loaders
//! decide it ([`tandem_loader::machine::Capacities`]). docs/detect.md lists what is read.

mod assumed;
mod plan;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

pub use tandem_loader::reading::ReadError as DetectError;
use tandem_loader::reading::Reading;

/// What the notes of every description begin with.
pub const NOTE: &str = "Written from the files of the machine's kernel; see `source` of each table.";

/// A description of a machine, and what to know before trusting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The description, schema 1. The same machine state gives the same text.
    pub toml: String,
    /// What could not be read, contradicts itself or was assumed, a sentence each, for people.
    pub warnings: Vec<String>,
}

/// What was measured of a node's memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMemory {
    /// Bytes per second that the memory moves.
    pub bytes_per_s: f64,
    /// Bytes per second that one thread alone can use.
    pub thread_bytes_per_s: f64,
    /// How it was measured: the source of both.
    pub source: String,
}

/// Describes the machine whose `/sys` and `/proc` are below `root` (`/` for the running one) under the name `name`.
///
/// Missing optional files never fail: what they would have told is assumed, marked so in the description, and listed
/// in [`Detected::warnings`].
///
/// # Errors
/// [`DetectError`] if the list of online CPUs cannot be had.
pub fn detect(root: &Path, name: &str) -> Result<Detected, DetectError> {
    detect_measured(root, name, &BTreeMap::new())
}

/// Does the same where the memory of some nodes was measured, by the kernel's numbers of the nodes.
///
/// # Errors
/// As [`detect`].
pub fn detect_measured(
    root: &Path,
    name: &str,
    memory: &BTreeMap<u32, MeasuredMemory>,
) -> Result<Detected, DetectError> {
    let (facts, mut warnings) = Reading::of(root)?;
    let plan = plan::Plan::of(&facts, memory, &mut warnings);
    let toml = write::description(&plan, name);
    Ok(Detected { toml, warnings })
}
