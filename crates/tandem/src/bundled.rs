// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers that the command carries: the objects that the build script compiles, and their loader files.

use tandem_experiments::{CarriedObject, FairOrCarried};
use tandem_simulator::simulation::{OpenError, SchedExt};

/// Tandem's own scheduler, `bpf/tandem.bpf.c`.
pub const TANDEM: CarriedObject<'_> = CarriedObject {
    name: "tandem",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/tandem.bpf.o")),
    sidecar: include_str!("../../../bpf/tandem.toml"),
};

/// One queue for all CPUs, by weighted virtual time, `schedulers/single.bpf.c`.
const SINGLE: CarriedObject<'_> = CarriedObject {
    name: "single",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/single.bpf.o")),
    sidecar: include_str!("../../../schedulers/single.toml"),
};

/// Linux as papers from before 2.6.23 have it, `schedulers/o1.bpf.c`.
const O1: CarriedObject<'_> = CarriedObject {
    name: "o1",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/o1.bpf.o")),
    sidecar: include_str!("../../../schedulers/o1.toml"),
};

static ALL: [CarriedObject<'_>; 3] = [TANDEM, SINGLE, O1];
/// Names of all schedulers that the command carries.
pub const NAMES: [&str; 3] = [TANDEM.name, SINGLE.name, O1.name];
/// All schedulers that can be named: these, `fair` and paths of objects.
pub const SCHEDULERS: FairOrCarried<'_> = FairOrCarried(&ALL);

/// The scheduler of this name, if the command carries one.
pub fn named(name: &str) -> Option<&'static CarriedObject<'static>> {
    SCHEDULERS.carried(name)
}

/// The scheduler, if `text` names one: `tandem`, with variables to set behind it if wanted, `tandem,sorted=true`.
pub fn open(text: &str) -> Option<Result<SchedExt, OpenError>> {
    SCHEDULERS.open(text)
}
