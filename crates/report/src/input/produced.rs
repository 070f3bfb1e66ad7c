// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report was produced by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ReportError;

/// What a report was produced by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProducedBy {
    /// The program's version.
    pub version: String,
    /// The words of the command line.
    pub command: Vec<String>,
    /// Seed of the first run.
    pub seed: u64,
    /// Settings that are not the default.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What was read.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// By machine: which of its values are assumed.
    #[serde(default)]
    pub assumed: Vec<Assumed>,
}

/// Something that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// `machine`, `workload`, `object` and so on.
    pub kind: String,
    /// A path, or the name of something bundled.
    pub name: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

/// How much of a machine's description nobody measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assumed {
    machine: String,
    of: usize,
    values: Vec<String>,
    #[serde(default)]
    energy: Option<f64>,
}

/// A report's `produced_by`; `None` where it has none.
pub fn producer(file: &str, text: &str) -> Result<Option<ProducedBy>, ReportError> {
    #[derive(Deserialize)]
    struct Document {
        #[serde(default)]
        produced_by: Option<ProducedBy>,
    }
    super::read::<Document>(file, text).map(|document| document.produced_by)
}
