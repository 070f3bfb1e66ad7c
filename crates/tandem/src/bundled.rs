// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers that the command carries: the objects that the build script compiles, and their loader files.

use tandem_simulator::simulation::{OpenError, SchedExt};

/// An object and its loader file.
#[derive(Debug)]
pub struct Bundled {
    /// Name of the scheduler on the command line.
    pub name: &'static str,
    /// The object.
    pub object: &'static [u8],
    /// The loader file beside the object.
    pub sidecar: &'static str,
}

/// Tandem's own scheduler, `bpf/tandem.bpf.c`.
pub const TANDEM: Bundled = Bundled {
    name: "tandem",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/tandem.bpf.o")),
    sidecar: include_str!("../../../bpf/tandem.toml"),
};

/// Linux as papers from before 2.6.23 have it, `schedulers/o1.bpf.c`.
const O1: Bundled = Bundled {
    name: "o1",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/o1.bpf.o")),
    sidecar: include_str!("../../../schedulers/o1.toml"),
};

static ALL: [Bundled; 2] = [TANDEM, O1];
/// Names of all schedulers that the command carries.
pub const NAMES: [&str; 2] = [TANDEM.name, O1.name];

/// The scheduler of this name, if the command carries one.
pub fn named(name: &str) -> Option<&'static Bundled> {
    ALL.iter().find(|bundled| bundled.name == name)
}

/// The scheduler, if `text` names one: `tandem`, with variables to set behind it if wanted, `tandem,sorted=true`.
pub fn open(text: &str) -> Option<Result<SchedExt, OpenError>> {
    let Bundled { name, object, sidecar } = named(text.split(',').next()?)?;
    Some(SchedExt::embedded(name, object, sidecar, &text[name.len()..]))
}
