// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which unit counts events on a CPU, on processors whose cores are of several kinds.
//!
//! Intel's hybrid processors have a unit for each kind of core (`cpu_core`, `cpu_atom`, `cpu_lowpower`), each with CPUs of its
//! own. Generic events (`PERF_TYPE_HARDWARE`) go to the first of them unless the upper half of their number names another one
//! (Linux 5.13, `PERF_PMU_TYPE_SHIFT`). Elsewhere the kernel finds the unit itself.

use std::collections::BTreeMap;
use std::path::Path;

use crate::tree::{Tree, list};

/// Below `/sys`.
const FOLDER: &str = "bus/event_source/devices";

/// `PERF_PMU_TYPE_SHIFT`.
const TYPE_SHIFT: u32 = 32;

/// The units of a hybrid processor; none of any other.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pmus {
    /// By CPU.
    kinds: BTreeMap<usize, u32>,
}

impl Pmus {
    /// Reads what is below `root`.
    pub fn read(root: &Path) -> Self {
        let tree = Tree::new(root);
        let mut kinds = BTreeMap::new();
        for name in tree.names(FOLDER).iter().filter(|name| name.starts_with("cpu_")) {
            let file = |file: &str| tree.sys(&format!("{FOLDER}/{name}/{file}"));
            let kind = file("type").and_then(|kind| kind.parse::<u32>().ok());
            let cpus = file("cpus").and_then(|cpus| list(&cpus));
            if let (Some(kind), Some(cpus)) = (kind, cpus) {
                kinds.extend(cpus.into_iter().map(|cpu| (cpu, kind)));
            }
        }
        Self { kinds }
    }

    /// The number of a generic event as it must be asked for on a CPU.
    pub fn config(&self, cpu: usize, event: u64) -> u64 {
        event | u64::from(self.kinds.get(&cpu).copied().unwrap_or(0)) << TYPE_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(units: &[(&str, &str, &str)]) -> Pmus {
        let root = tempfile::tempdir().unwrap();
        for (name, kind, cpus) in units {
            let folder = root.path().join("sys").join(FOLDER).join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("type"), format!("{kind}\n")).unwrap();
            if !cpus.is_empty() {
                fs::write(folder.join("cpus"), format!("{cpus}\n")).unwrap();
            }
        }
        Pmus::read(root.path())
    }

    /// Cycles are event 0, instructions 1.
    #[test]
    fn an_event_names_the_unit_of_its_kind_of_core() {
        let units = [("cpu_core", "4", "0-3"), ("cpu_atom", "10", "4,5"), ("software", "1", ""), ("power", "9", "")];
        let pmus = machine(&units);
        let asked: Vec<u64> = [0, 3, 4, 5].map(|cpu| pmus.config(cpu, 1)).to_vec();
        assert_eq!(asked, [0x4_0000_0001, 0x4_0000_0001, 0xa_0000_0001, 0xa_0000_0001]);
        // A CPU that no unit has, as it is offline.
        assert_eq!(pmus.config(6, 1), 1);
    }

    #[test]
    fn other_processors_have_one_unit_that_needs_no_name() {
        // Arm's units have lists of CPUs, too, but the kernel finds them.
        let pmus = machine(&[("cpu", "4", ""), ("armv8_cortex_a53", "8", "0-3"), ("cpu_odd", "x", "0-3")]);
        assert_eq!(pmus, Pmus::default());
        assert_eq!(pmus.config(0, 1), 1);
    }
}
