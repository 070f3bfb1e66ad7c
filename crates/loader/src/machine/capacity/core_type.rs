// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of core on Intel's hybrid processors. The event sources name them, because their events differ.

use std::fmt;

use crate::reading::{Cpu, Reading};

/// A type of core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoreType {
    /// The only one, as far as anyone says.
    Only,
    /// A P-core.
    Performance,
    /// An E-core.
    Efficient,
    /// An E-core outside the last-level cache of the others.
    LowPower,
}

impl fmt::Display for CoreType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Only => "cores",
            Self::Performance => "P-cores",
            Self::Efficient => "E-cores",
            Self::LowPower => "low-power E-cores",
        })
    }
}

/// The types of CPUs. `cpu_atom` and `cpu_lowpower` share events on some processors and then share a name, too: what has
/// no level 3 cache where P-cores have one is of low power.
pub(super) fn core_types(reading: &Reading, cpus: &[&Cpu]) -> Vec<CoreType> {
    let named = |name: &str| {
        let kind = reading.hybrid.iter().find(|(kind, _)| *kind == name);
        kind.map(|(_, cpus)| cpus.as_slice()).unwrap_or_default()
    };
    let (performance, efficient, low_power) = (named("cpu_core"), named("cpu_atom"), named("cpu_lowpower"));
    let caches_are_known = cpus.iter().any(|cpu| performance.contains(&cpu.number) && has_level_3(cpu));
    let of = |cpu: &&Cpu| {
        let number = &cpu.number;
        if performance.contains(number) {
            CoreType::Performance
        } else if low_power.contains(number) {
            CoreType::LowPower
        } else if efficient.contains(number) {
            if caches_are_known && !has_level_3(cpu) { CoreType::LowPower } else { CoreType::Efficient }
        } else {
            CoreType::Only
        }
    };
    cpus.iter().map(of).collect()
}

fn has_level_3(cpu: &Cpu) -> bool {
    cpu.caches.iter().any(|cache| cache.level == 3)
}
