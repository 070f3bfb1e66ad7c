// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers that the command carries: the objects that the build script has compiled, and the files about them.

use tandem_simulator::simulation::{OpenError, SchedExt};

/// An object and what its loader does.
#[derive(Debug)]
pub struct Bundled {
    /// What it is called where a scheduler is named.
    pub name: &'static str,
    /// The object.
    pub object: &'static [u8],
    /// The file beside it.
    pub sidecar: &'static str,
}

/// Tandem's own, `bpf/tandem.bpf.c`.
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
/// What they are called.
pub const NAMES: [&str; 2] = [TANDEM.name, O1.name];

/// The one of this name.
pub fn named(name: &str) -> Option<&'static Bundled> {
    ALL.iter().find(|bundled| bundled.name == name)
}

/// The scheduler, if `text` names one: `tandem`, with variables to set behind it if wanted, `tandem,sorted=true`.
pub fn open(text: &str) -> Option<Result<SchedExt, OpenError>> {
    let Bundled { name, object, sidecar } = named(text.split(',').next()?)?;
    Some(SchedExt::embedded(name, object, sidecar, &text[name.len()..]))
}
