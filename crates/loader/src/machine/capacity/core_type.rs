// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of core on Intel's hybrid processors. The event sources name them, because their events differ.

use std::fmt;

use crate::tree::{Tree, list};

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
pub(super) fn core_types(tree: &Tree, cpus: &[usize]) -> Vec<CoreType> {
    let named = |name: &str| tree.sys(&format!("devices/{name}/cpus")).and_then(|text| list(&text)).unwrap_or_default();
    let (performance, efficient, low_power) = (named("cpu_core"), named("cpu_atom"), named("cpu_lowpower"));
    let caches_are_known = performance.iter().any(|cpu| has_level_3(tree, *cpu));
    let of = |cpu: &usize| {
        if performance.contains(cpu) {
            CoreType::Performance
        } else if low_power.contains(cpu) {
            CoreType::LowPower
        } else if efficient.contains(cpu) {
            if caches_are_known && !has_level_3(tree, *cpu) { CoreType::LowPower } else { CoreType::Efficient }
        } else {
            CoreType::Only
        }
    };
    cpus.iter().map(of).collect()
}

fn has_level_3(tree: &Tree, cpu: usize) -> bool {
    let caches = tree.names(&format!("devices/system/cpu/cpu{cpu}/cache"));
    caches.iter().any(|cache| tree.cpu_number(cpu, &format!("cache/{cache}/level")) == Some(3))
}
