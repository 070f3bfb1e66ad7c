// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains whose CPUs are not equals: they differ in capacity (`SD_ASYM_CPUCAPACITY`), or the kernel ranks them
//! (`SD_ASYM_PACKING`).
//!
//! x86 ranks CPUs by ITMT priority (`arch/x86/kernel/itmt.c`): the cpufreq driver hands on what the firmware says of each
//! core's best performance, the same for all threads of a core. From then on every level above the threads of a core
//! packs (`x86_cluster_flags`, `x86_core_flags`, and the package level; `x86_smt_flags` has no such flag, so threads of a
//! core are never ranked).

use super::{DomainId, Level, Topology};
use crate::machine::Machine;
use crate::units::CpuId;

impl Topology {
    /// As `asym_cpu_capacity_classify`: a domain is asymmetric if its CPUs differ in capacity; `sd_asym_cpucapacity` is
    /// the smallest that sees every capacity of the machine.
    pub(super) fn mark_asymmetry(&mut self, machine: &Machine) {
        let capacities = |span: &mut dyn Iterator<Item = CpuId>| {
            let mut seen: Vec<u32> = span.map(|cpu| machine.cpus[cpu.index()].capacity).collect();
            seen.sort_unstable();
            seen.dedup();
            seen.len()
        };
        let all = capacities(&mut self.online.iter());
        for domain in &mut self.domains {
            domain.asym_capacity = capacities(&mut domain.span.iter()) > 1;
            // The kernel drops SD_PREFER_SIBLING below an asymmetric domain: big CPUs are not to be evened out.
            for group in &mut domain.groups {
                group.prefer_sibling &= !domain.asym_capacity;
            }
        }
        if all < 2 {
            return;
        }
        for cpu in 0..self.nr_cpus {
            let full = |id: &&DomainId| capacities(&mut self.domains[**id].span.iter()) == all;
            self.asym[cpu] = self.chains[cpu].iter().find(full).copied();
        }
    }

    /// `sched_set_itmt_support`, where the machine's CPUs are ranked and not told apart by capacity.
    pub(super) fn mark_asym_packing(&mut self, machine: &Machine) {
        let Some(priorities) = itmt_priorities(machine) else { return };
        for domain in &mut self.domains {
            domain.asym_packing = matches!(domain.level, Level::Cls | Level::Mc | Level::Pkg);
            for group in &mut domain.groups {
                group.asym_prefer_cpu = preferred(&priorities, &group.cpus).unwrap_or(group.asym_prefer_cpu);
            }
        }
        for cpu in 0..self.nr_cpus {
            let packs = |id: &&DomainId| self.domains[**id].asym_packing;
            self.asym_packing[cpu] = self.chains[cpu].iter().rev().find(packs).copied();
        }
        self.asym_priority = priorities;
    }

    /// `sched_asym_prefer`: whether `cpu` ranks above `other` (`arch_asym_cpu_priority`).
    #[inline]
    pub fn sched_asym_prefer(&self, cpu: CpuId, other: CpuId) -> bool {
        self.asym_priority.get(cpu.index()) > self.asym_priority.get(other.index())
    }
}

/// The priorities that a driver sets (`intel_pstate_set_itmt_prio`, `amd_pstate_init_prefcore`), by CPU; none where they are
/// all equal, or where the driver prefers to say that CPUs differ in capacity (`hybrid_init_cpu_capacity_scaling`).
fn itmt_priorities(machine: &Machine) -> Option<Vec<u32>> {
    let priorities: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.itmt_priority).collect();
    let ranked = priorities.iter().any(|priority| *priority != priorities[0]);
    let by_capacity = machine.cpus.iter().any(|cpu| cpu.capacity != machine.cpus[0].capacity);
    (ranked && !by_capacity).then_some(priorities)
}

/// The first of `cpus` that none ranks above (`asym_prefer_cpu`, `init_sched_groups_capacity`).
fn preferred(priorities: &[u32], cpus: &[CpuId]) -> Option<CpuId> {
    cpus.iter().copied().reduce(|best, cpu| if priorities[cpu.index()] > priorities[best.index()] { cpu } else { best })
}
