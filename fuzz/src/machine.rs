// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine's description from any text: read in each configuration, and shown.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::machine::description::configurations;
use tandem_simulator::machine::show::{provenance, show};

use super::mistake;

/// Configurations that are looked at.
const CONFIGURATIONS: usize = 4;
/// A larger machine is not drawn: it takes a page for each CPU.
const MOST_DRAWN: usize = 64;

/// Reads bytes as a description.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("fuzz.toml");
    let names = match configurations(path, text) {
        Ok(names) => names,
        Err(error) => return mistake::check(&error, path, text),
    };
    let named = names.iter().take(CONFIGURATIONS).map(|(name, _)| Some(name.as_str()));
    for configuration in [None].into_iter().chain(named) {
        match Machine::parse("fuzz", path, text, configuration) {
            Ok(machine) => check(&machine),
            Err(error) => mistake::check(&error, path, text),
        }
    }
}

/// Asserts what the simulator takes for granted.
pub fn check(machine: &Machine) {
    assert!(machine.online().count() > 0, "nothing is online");
    let mut fastest = 0;
    for cpu in &machine.cpus {
        let core = &machine.cores[cpu.core.0 as usize];
        assert!(core.cpus.iter().any(|known| machine.cpus[known.0 as usize] == *cpu), "the core has the CPU");
        let _ = &machine.core_types[machine.clusters[core.cluster.0 as usize].core_type.0 as usize];
        fastest = fastest.max(cpu.capacity);
    }
    assert!(fastest <= 1024, "capacity {fastest}");
    assert!(machine.reference.khz_ipc.is_finite() && machine.reference.khz_ipc > 0.0);
    if machine.cpus.len() <= MOST_DRAWN {
        let drawn = [40, 100].map(|width| show(machine, width));
        assert!(drawn.iter().all(|text| text.ends_with('\n')));
        assert!(!provenance(machine).is_empty());
    }
}
