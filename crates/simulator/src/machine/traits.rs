// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine has that scheduling mechanisms can act on: kinds of CPU, clocks that can be changed, shared memory.

use serde::Serialize;

use super::{Machine, PerformanceDomain};
use crate::units::{CpuId, MemoryDomainId};

/// What the online CPUs of a machine have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MachineTraits"))]
pub struct Traits {
    /// How many CPUs there are.
    pub cpus: u32,
    /// CPUs by how fast they are, the fastest first.
    pub kinds: Vec<Kind>,
    /// Clocks of their own that CPUs have, alone or together.
    pub clocks: u32,
    /// Those that the kernel can change: there is a driver, and limits leave more than one operating point.
    pub changeable_clocks: u32,
    /// The memory that the most CPUs share; of several the narrowest.
    pub memory: Option<SharedMemory>,
}

/// CPUs that are nearly equally fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kind {
    /// Performance of the fastest of them, at the highest clock that limits allow; 1024: the machine's fastest CPU without
    /// limits.
    pub performance: u32,
    /// How many there are.
    pub cpus: u32,
}

/// A path to memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedMemory {
    /// How many CPUs share it.
    pub cpus: u32,
    /// Bytes per second that the path can carry.
    pub bytes_per_s: f64,
}

impl Traits {
    /// The traits of `machine`.
    pub fn of(machine: &Machine) -> Self {
        let has_online = |domain: &&PerformanceDomain| domain.cpus.iter().any(|cpu| machine.cpus[cpu.index()].online);
        let clocks: Vec<&PerformanceDomain> = machine.performance_domains.iter().filter(has_online).collect();
        let changeable = clocks.iter().filter(|clock| clock.scalable && clock.min_opp < clock.max_opp).count();
        Self {
            cpus: machine.online().count() as u32,
            kinds: kinds(machine),
            clocks: clocks.len() as u32,
            changeable_clocks: changeable as u32,
            memory: memory(machine),
        }
    }
}

/// CPUs whose performance is within 5 % of the fastest of their kind, which is what the kernel takes for equal
/// (`capacity_greater`, kernel/sched/fair.c).
fn kinds(machine: &Machine) -> Vec<Kind> {
    let mut all: Vec<u32> = machine.online().map(|cpu| performance(machine, cpu)).collect();
    all.sort_by_key(|performance| std::cmp::Reverse(*performance));
    let mut kinds: Vec<Kind> = Vec::new();
    for performance in all {
        match kinds.last_mut() {
            Some(kind) if u64::from(kind.performance) * 1024 <= u64::from(performance) * 1078 => kind.cpus += 1,
            _ => kinds.push(Kind { performance, cpus: 1 }),
        }
    }
    kinds
}

/// The speed that is left under limits of the clock.
fn performance(machine: &Machine, cpu: CpuId) -> u32 {
    let described = &machine.cpus[cpu.index()];
    let domain = &machine.performance_domains[described.performance_domain.index()];
    let khz = |opp: usize| domain.opps.get(opp).map_or(1, |opp| u64::from(opp.khz));
    (u64::from(described.speed) * khz(domain.max_opp) / khz(domain.opps.len() - 1)) as u32
}

fn memory(machine: &Machine) -> Option<SharedMemory> {
    let paths = (0..machine.memory_domains.len()).map(MemoryDomainId::at).map(|path| SharedMemory {
        cpus: machine.online().filter(|cpu| uses(machine, *cpu, path)).count() as u32,
        bytes_per_s: machine.memory_domains[path.index()].bytes_per_s,
    });
    paths.reduce(|best, other| {
        let better = (other.cpus, best.bytes_per_s) > (best.cpus, other.bytes_per_s);
        if better { other } else { best }
    })
}

/// Whether what a CPU does to its memory crosses a path.
fn uses(machine: &Machine, cpu: CpuId, path: MemoryDomainId) -> bool {
    let mut at = Some(machine.cpus[cpu.index()].memory_domain);
    while let Some(id) = at {
        if id == path {
            return true;
        }
        at = machine.memory_domains[id.index()].parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(name: &str) -> Traits {
        Traits::of(&Machine::load(name).unwrap())
    }

    #[test]
    fn cpus_of_the_hikey_are_of_two_kinds_with_a_clock_each() {
        let hikey = traits("hikey960");
        let kinds: Vec<(u32, u32)> = hikey.kinds.iter().map(|kind| (kind.performance, kind.cpus)).collect();
        assert_eq!(kinds, [(1024, 4), (462, 4)]);
        assert_eq!((hikey.cpus, hikey.clocks, hikey.changeable_clocks), (8, 2, 2));
        assert_eq!(hikey.memory.map(|memory| memory.cpus), Some(8));
    }

    #[test]
    fn clocks_without_a_driver_cannot_be_changed() {
        let equal = traits("smp-8");
        assert_eq!((equal.kinds.len(), equal.kinds[0].cpus), (1, 8));
        let fixed =
            Machine { performance_domains: fixed(&Machine::load("smp-8").unwrap()), ..Machine::load("smp-8").unwrap() };
        assert_eq!(Traits::of(&fixed).changeable_clocks, 0);
        assert_eq!(Traits::of(&fixed).clocks, equal.clocks);
    }

    fn fixed(machine: &Machine) -> Vec<PerformanceDomain> {
        let fix = |domain: &PerformanceDomain| PerformanceDomain { scalable: false, ..domain.clone() };
        machine.performance_domains.iter().map(fix).collect()
    }
}
