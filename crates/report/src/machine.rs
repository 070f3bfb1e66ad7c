// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is drawn of a machine: packages, clusters, cores and CPUs, the caches they share and the ways to memory.

use serde::Serialize;
use tandem_simulator::Machine;
use tandem_simulator::units::{ClusterId, CpuId};

/// What is drawn of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drawing {
    /// The machine's name, with its configuration.
    pub name: String,
    title: String,
    /// By package: the package's clusters.
    packages: Vec<Vec<Cluster>>,
    cpus: Vec<Cpu>,
    caches: Vec<Cache>,
    memory: Vec<Memory>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cluster {
    name: String,
    kind: String,
    /// Cores with their CPUs.
    cores: Vec<Vec<u32>>,
    idle_states: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cpu {
    online: bool,
    /// 1 to 1024.
    capacity: u32,
    node: u32,
    /// Number of the set of CPUs that share its clock.
    domain: usize,
    khz_min: u32,
    khz_max: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cache {
    level: u32,
    bytes: u64,
    cpus: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Memory {
    name: String,
    bytes_per_s: f64,
}

impl Drawing {
    /// What is drawn of `machine`.
    pub fn of(machine: &Machine) -> Self {
        let clusters = |package: usize| {
            let own = |index: &usize| machine.clusters[*index].package.index() == package;
            (0..machine.clusters.len()).filter(own).map(|index| Cluster::of(machine, ClusterId::at(index))).collect()
        };
        let numbers = |cpus: &[CpuId]| cpus.iter().map(|cpu| cpu.0).collect();
        let cache = |cache: &tandem_simulator::machine::Cache| Cache {
            level: cache.level,
            bytes: cache.bytes,
            cpus: numbers(&cache.cpus),
        };
        let paths = machine.memory_domains.iter().filter(|domain| domain.link_of.is_none());
        Self {
            name: machine.name.clone(),
            title: machine.title.clone(),
            packages: (0..machine.packages.len()).map(clusters).collect(),
            cpus: (0..machine.cpus.len()).map(|index| Cpu::of(machine, CpuId::at(index))).collect(),
            caches: machine.caches.iter().filter(|cache| cache.cpus.len() > 1).map(cache).collect(),
            memory: paths.map(|path| Memory { name: path.name.clone(), bytes_per_s: path.bytes_per_s }).collect(),
        }
    }
}

impl Cluster {
    fn of(machine: &Machine, id: ClusterId) -> Self {
        let cluster = &machine.clusters[id.index()];
        let cpus =
            |core: &tandem_simulator::units::CoreId| machine.cores[core.index()].cpus.iter().map(|cpu| cpu.0).collect();
        Self {
            name: cluster.name.clone(),
            kind: machine.core_types[cluster.core_type.index()].name.clone(),
            cores: cluster.cores.iter().map(cpus).collect(),
            idle_states: cluster.idle_states.iter().map(|state| state.name.clone()).collect(),
        }
    }
}

impl Cpu {
    fn of(machine: &Machine, id: CpuId) -> Self {
        let cpu = &machine.cpus[id.index()];
        let domain = &machine.performance_domains[cpu.performance_domain.index()];
        let khz = |index: usize| domain.opps.get(index).map_or(0, |opp| opp.khz);
        Self {
            online: cpu.online,
            capacity: cpu.capacity,
            node: cpu.node,
            domain: cpu.performance_domain.index(),
            khz_min: khz(domain.min_opp),
            khz_max: khz(domain.max_opp),
        }
    }
}
