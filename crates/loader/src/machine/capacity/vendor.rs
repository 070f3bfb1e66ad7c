// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who made the processor, and what an Intel E-core does per clock, from `/proc/cpuinfo`.

use crate::reading::Reading;

/// What intel_pstate takes the P-cores' step for, in kHz per level of performance, unless it knows better
/// (`HYBRID_SCALING_FACTOR`); an E-core's is 100,000. A level is the same performance on both, so this is also what an
/// E-core does per clock, a P-core doing 100,000.
const SCALING: u32 = 78_741;
/// Models of family 6 for which the step is known (`intel_hybrid_scaling_factor` of drivers/cpufreq/intel_pstate.c, and
/// S. Pandruvada's patches for it, 2024).
const KNOWN: [(u32, u32); 11] = [
    // Alder Lake and Raptor Lake.
    (0x97, SCALING),
    (0x9a, SCALING),
    (0xb7, SCALING),
    (0xba, SCALING),
    (0xbf, SCALING),
    // Meteor Lake and Arrow Lake.
    (0xaa, 80_000),
    (0xac, 80_000),
    (0xb5, 80_000),
    (0xc5, 80_000),
    (0xc6, 80_000),
    // Lunar Lake.
    (0xbd, 86_957),
];

/// A processor's vendor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vendor {
    /// CPPC of AMD's and Hygon's processors ranks cores within a kind.
    pub ranks: bool,
    /// Work per clock of an E-core, of a P-core 1.
    pub efficient_ipc: f64,
    /// Whether that is known of this model, or taken from others.
    pub ipc_is_known: bool,
}

impl Vendor {
    pub fn of(reading: &Reading) -> Self {
        // All CPUs have the same, a hybrid's too.
        let shown = reading.cpus.iter().find(|cpu| cpu.vendor.is_some());
        let model = shown.filter(|cpu| cpu.family == Some(6)).and_then(|cpu| cpu.model_number);
        let scaling = KNOWN.iter().find(|(known, _)| model == Some(*known)).map(|(_, scaling)| *scaling);
        let vendor = shown.and_then(|cpu| cpu.vendor.as_deref());
        Self {
            ranks: matches!(vendor, Some("AuthenticAMD" | "HygonGenuine")),
            efficient_ipc: f64::from(scaling.unwrap_or(SCALING)) / 100_000.0,
            ipc_is_known: scaling.is_some(),
        }
    }
}
