// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random changes of which CPUs are online.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Hotplug;
use tandem_simulator::units::CpuId;

/// A few changes of the first CPUs, at any time of the first 30 ms.
pub fn any_hotplug() -> impl Strategy<Value = Vec<Hotplug>> {
    let change = (1..30_000_000_u64, 0..6_u32, any::<bool>());
    prop::collection::vec(change.prop_map(|(at, cpu, online)| Hotplug { at, cpu: CpuId(cpu), online }), 1..8)
}

/// The changes of `wanted` that are possible, in order: of CPUs that the machine has online, no CPU twice, never the
/// last CPU.
pub fn possible(machine: &Machine, mut wanted: Vec<Hotplug>) -> Vec<Hotplug> {
    wanted.sort_by_key(|change| change.at);
    let mut online: BTreeSet<CpuId> = machine.online().collect();
    wanted.retain(|Hotplug { cpu, online: comes, .. }| {
        let known = machine.cpus.get(cpu.index()).is_some_and(|entry| entry.online);
        let changes = known && online.contains(cpu) != *comes && (*comes || online.len() > 1);
        if changes && *comes {
            online.insert(*cpu);
        } else if changes {
            online.remove(cpu);
        }
        changes
    });
    wanted
}
