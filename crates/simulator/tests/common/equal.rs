// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bundled machine `smp-8` with another number of CPUs: equal CPUs below one cache, on which only work takes time.

#![allow(dead_code, reason = "another crate's tests, or a bench, use a part")]

use std::path::Path;

use tandem_simulator::machine::Machine;

/// The machine's description.
pub fn description(cpus: usize) -> String {
    include_str!("../../../../machines/smp-8.toml").replace("cores = 8\n", &format!("cores = {cpus}\n"))
}

/// The machine with this number of CPUs.
pub fn machine(cpus: usize) -> Machine {
    let machine = Machine::parse("equal", Path::new("equal.toml"), &description(cpus), None);
    let machine = machine.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(machine.cpus.len(), cpus);
    machine
}
