// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description of the running machine, from what its kernel shows in sysfs, debugfs and /proc.
//!
//! Three steps, each of its own type: [`Reading`] only reads, `plan` only decides (no files, so that any machine is a
//! test), `write` only prints. `assumed` holds every figure that no file gives. How fast CPUs are is decided where loaders
//! decide it ([`tandem_loader::machine::Capacities`]). docs/detect.md lists what is read.

mod assumed;
mod measured;
mod plan;
mod write;

use std::path::Path;

pub use measured::{
    Measured, MeasuredClock, MeasuredCores, MeasuredDram, MeasuredMemory, MeasuredSwitching, MeasuredUncore,
};
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

/// Describes the machine whose `/sys` and `/proc` are below `root` (`/` for the running one) under the name `name`.
///
/// Missing optional files never fail: what they would have told is assumed, marked so in the description, and listed
/// in [`Detected::warnings`].
///
/// # Errors
/// [`DetectError`] if the list of online CPUs cannot be had.
pub fn detect(root: &Path, name: &str) -> Result<Detected, DetectError> {
    detect_measured(root, name, &Measured::default())
}

/// Does the same where something was measured, which is then neither assumed nor taken from the kernel's energy model.
///
/// # Errors
/// As [`detect`].
pub fn detect_measured(root: &Path, name: &str, measured: &Measured) -> Result<Detected, DetectError> {
    let (facts, mut warnings) = Reading::of(root)?;
    let plan = plan::Plan::of(&facts, measured, &mut warnings);
    let toml = write::description(&plan, name);
    Ok(Detected { toml, warnings })
}
