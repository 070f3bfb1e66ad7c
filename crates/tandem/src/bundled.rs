// SPDX-License-Identifier: GPL-2.0-only
//! Tandem's own scheduler, `bpf/tandem.bpf.c`: the object that the build script has compiled, and the file about it.

use tandem_simulator::simulation::{OpenError, SchedExt};

/// What it is called where a scheduler is named.
pub const NAME: &str = "tandem";
/// The object.
pub const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tandem.bpf.o"));
/// What its loader does.
pub const SIDECAR: &str = include_str!("../../../bpf/tandem.toml");

/// The scheduler, if `text` names it: `tandem`, with variables to set behind it if wanted, `tandem,sorted=true`.
pub fn open(text: &str) -> Option<Result<SchedExt, OpenError>> {
    let behind = text.strip_prefix(NAME)?;
    (behind.is_empty() || behind.starts_with(',')).then(|| SchedExt::embedded(NAME, OBJECT, SIDECAR, behind))
}
