// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling domains: which CPUs balance with each other, built from a machine as `build_sched_domains` does.
//!
//! Levels: SMT (one core), CLS (cores that share an L2 below the last-level cache), MC (one last-level cache), PKG (one package),
//! NUMA (all nodes). A level that adds no CPU to the one below is dropped, as the kernel degenerates it. Left out: more than one
//! NUMA distance, overlapping NUMA groups (machines with a ring or mesh of nodes could tell the difference).
//!
//! - `asymmetry`: domains whose CPUs differ in capacity, or which the kernel ranks.

mod asymmetry;
#[cfg(test)]
mod tests;

use crate::kernel::cpumask::CpuMask;
use crate::kernel::versions::Members;
use crate::machine::Machine;
use crate::units::{CpuId, MSEC, Nanos};

/// Index into [`Topology::domains`].
pub type DomainId = usize;

/// The scheduling topology of a machine's online CPUs.
#[derive(Debug)]
pub struct Topology {
    /// Number of CPU identifiers, offline ones included.
    pub nr_cpus: usize,
    /// Online CPUs.
    pub online: CpuMask,
    /// All domains; each CPU's chain is in `chains`.
    pub domains: Vec<SchedDomain>,
    /// Per CPU: its domains from small to large.
    pub chains: Vec<Vec<DomainId>>,
    /// Per CPU, as in `chains`: the index of the group that it belongs to (`sd->groups`).
    local_groups: Vec<Vec<usize>>,
    /// Per CPU: its last-level cache's index into `llcs`.
    pub llc_of: Vec<u32>,
    /// Last-level caches (`sd_llc`).
    pub llcs: Vec<Llc>,
    /// Cores that share an L2 and have a domain of their own (`SD_CLUSTER`); none: `sched_cluster_active` is off.
    pub clusters: Vec<Llc>,
    /// Per CPU: the index into `clusters` of its own, if it is in one.
    pub cluster_of: Vec<Option<u32>>,
    /// Per CPU: its SMT siblings, itself included (`cpu_smt_mask`).
    pub smt: Vec<Vec<CpuId>>,
    /// Whether any core has more than one online CPU (`sched_smt_active`).
    pub smt_active: bool,
    /// Per CPU: smallest domain that spans all capacities (`sd_asym_cpucapacity`); `None` on symmetric machines.
    pub asym: Vec<Option<DomainId>>,
    /// Per CPU: its largest domain that packs (`sd_asym_packing`); `None` where CPUs are not ranked.
    pub asym_packing: Vec<Option<DomainId>>,
    /// Per CPU: its rank (`arch_asym_cpu_priority`), higher is better; empty where CPUs are not ranked.
    asym_priority: Vec<u32>,
}

/// CPUs that share a cache: the last-level one, or the L2 of a cluster.
#[derive(Debug)]
pub struct Llc {
    /// The cache's CPUs, as a set.
    pub span: CpuMask,
    /// The cache's CPUs, ascending.
    pub cpus: Vec<CpuId>,
}

/// A scheduling domain: a span of CPUs and the groups between which load is balanced.
#[derive(Debug)]
pub struct SchedDomain {
    /// Level, for people and reports.
    pub level: Level,
    /// The domain's CPUs.
    pub span: CpuMask,
    /// Number of the domain's CPUs.
    pub weight: usize,
    /// The spans of the domain's children, in order of their lowest CPU.
    pub groups: Vec<SchedGroup>,
    /// `imbalance_pct`: 110 within a core, 117 elsewhere.
    pub imbalance_pct: u64,
    /// `SD_SHARE_LLC`.
    pub share_llc: bool,
    /// `SD_ASYM_CPUCAPACITY`: its CPUs differ in capacity.
    pub asym_capacity: bool,
    /// `SD_ASYM_PACKING`: work is packed on the CPUs that rank highest.
    pub asym_packing: bool,
    /// `imb_numa_nr`: tasks that a NUMA node may have more than another before it counts as imbalance.
    pub imb_numa_nr: i64,
    /// `min_interval` of balancing.
    pub min_interval: Nanos,
    /// `cache_nice_tries`: failed balances before cache-hot tasks move.
    pub cache_nice_tries: u32,
}

/// Levels of domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// SMT siblings.
    Smt,
    /// CPUs that share an L2, where that is not the last-level cache.
    Cls,
    /// CPUs of one last-level cache.
    Mc,
    /// CPUs of one package.
    Pkg,
    /// All nodes.
    Numa,
}

/// A group of a domain.
#[derive(Debug)]
pub struct SchedGroup {
    /// The group's CPUs, as a set.
    pub span: CpuMask,
    /// The group's CPUs, ascending.
    pub cpus: Vec<CpuId>,
    /// The same CPUs, block by block.
    pub blocks: Vec<Members>,
    /// Number of the group's cores.
    pub cores: u32,
    /// Whether the group's CPUs are SMT siblings (`SD_SHARE_CPUCAPACITY`).
    pub smt: bool,
    /// Tasks in excess are better off in another group (`SD_PREFER_SIBLING`): a child domain that is neither a NUMA
    /// level nor part of an asymmetric domain. A single CPU has no child domain, so CPUs of one cache are not evened
    /// out by count.
    pub prefer_sibling: bool,
    /// The CPU that ranks highest, the first of several (`asym_prefer_cpu`); the first of all where none is ranked.
    pub asym_prefer_cpu: CpuId,
}

impl Topology {
    /// Number of the NUMA node of `cpu`, 0 where there is but one.
    pub fn node_of(&self, cpu: CpuId) -> usize {
        let numa = self.chains[cpu.index()].iter().find(|id| self.domains[**id].level == Level::Numa);
        numa.map_or(0, |id| self.local_group(*id, cpu))
    }

    /// The other CPUs' L2 that `cpu` shares, where that is a domain of its own.
    #[inline]
    pub fn cluster(&self, cpu: CpuId) -> Option<&Llc> {
        self.cluster_of[cpu.index()].map(|cluster| &self.clusters[cluster as usize])
    }

    /// `cpus_share_resources`, of CPUs that share a cache: they are of one cluster where clusters are, else it goes without saying.
    #[inline]
    pub fn cpus_share_resources(&self, cpu: CpuId, other: CpuId) -> bool {
        self.clusters.is_empty() || self.cluster_of[cpu.index()] == self.cluster_of[other.index()]
    }

    /// Index of the group of `domain` that `cpu` belongs to; 0 if it is not in the domain.
    #[inline]
    pub fn local_group(&self, domain: DomainId, cpu: CpuId) -> usize {
        let level = self.chains[cpu.index()].iter().position(|id| *id == domain);
        level.map_or(0, |level| self.local_groups[cpu.index()][level])
    }

    /// The groups of `domain` as the ring that the kernel walks: from the one of `cpu` onwards, and around.
    pub fn ring(&self, domain: DomainId, cpu: CpuId) -> impl Iterator<Item = (usize, &SchedGroup)> + '_ {
        let (local, groups) = (self.local_group(domain, cpu), &self.domains[domain].groups);
        (local..groups.len()).chain(0..local).map(|index| (index, &groups[index]))
    }

    /// Builds the domains of `machine`'s online CPUs.
    pub fn of(machine: &Machine) -> Self {
        Self::with_online(machine, CpuMask::of(machine.cpus.len(), machine.online()))
    }

    /// Builds the domains of `machine` as if these of its CPUs were online.
    pub fn with_online(machine: &Machine, online: CpuMask) -> Self {
        let nr_cpus = machine.cpus.len();
        let mut topology = Self {
            nr_cpus,
            domains: Vec::new(),
            chains: vec![Vec::new(); nr_cpus],
            local_groups: vec![Vec::new(); nr_cpus],
            llc_of: vec![0; nr_cpus],
            llcs: Vec::new(),
            clusters: Vec::new(),
            cluster_of: vec![None; nr_cpus],
            smt: (0..nr_cpus).map(|cpu| siblings(machine, &online, CpuId::at(cpu))).collect(),
            smt_active: false,
            asym: vec![None; nr_cpus],
            asym_packing: vec![None; nr_cpus],
            asym_priority: Vec::new(),
            online,
        };
        topology.smt_active = topology.online.iter().any(|cpu| topology.smt[cpu.index()].len() > 1);
        topology.build_llcs(machine);
        for level in [Level::Smt, Level::Cls, Level::Mc, Level::Pkg, Level::Numa] {
            topology.build_level(machine, level);
        }
        topology.note_clusters();
        topology.mark_asymmetry(machine);
        topology.mark_asym_packing(machine);
        topology
    }

    fn build_llcs(&mut self, machine: &Machine) {
        for members in partition(&self.online, |cpu| llc_key(machine, cpu)) {
            for cpu in &members {
                self.llc_of[cpu.index()] = self.llcs.len() as u32;
            }
            self.llcs.push(Llc { span: CpuMask::of(self.nr_cpus, members.iter().copied()), cpus: members });
        }
    }

    fn build_level(&mut self, machine: &Machine, level: Level) {
        for members in partition(&self.online, |cpu| level_key(machine, level, cpu)) {
            let children = self.child_spans(&members);
            if children.len() < 2 || (level == Level::Cls && !self.is_cluster(&members)) {
                continue;
            }
            let id = self.domains.len();
            let share_llc = members.iter().all(|cpu| self.llc_of[cpu.index()] == self.llc_of[members[0].index()]);
            self.domains.push(SchedDomain {
                level,
                span: CpuMask::of(self.nr_cpus, members.iter().copied()),
                weight: members.len(),
                imb_numa_nr: imb_numa_nr(&children, self),
                groups: children.into_iter().map(|cpus| self.group(machine, cpus)).collect(),
                imbalance_pct: if level == Level::Smt { 110 } else { 117 },
                share_llc,
                asym_capacity: false,
                asym_packing: false,
                min_interval: members.len() as Nanos * MSEC,
                cache_nice_tries: match level {
                    Level::Smt => 0,
                    Level::Cls | Level::Mc | Level::Pkg => 1,
                    Level::Numa => 2,
                },
            });
            for (index, group) in self.domains[id].groups.iter().enumerate() {
                for cpu in &group.cpus {
                    self.chains[cpu.index()].push(id);
                    self.local_groups[cpu.index()].push(index);
                }
            }
        }
    }

    /// Whether CPUs that share an L2 are a part of those of a last-level cache (`cpu_clustergroup_mask` has no more, and where it
    /// has as many, the level of the last-level cache says it all).
    fn is_cluster(&self, members: &[CpuId]) -> bool {
        let llc = &self.llcs[self.llc_of[members[0].index()] as usize];
        members.len() < llc.cpus.len() && members.iter().all(|cpu| llc.span.test(*cpu))
    }

    /// `sched_cluster_active`, and `sd_share_id` where it is a cluster's.
    fn note_clusters(&mut self) {
        for domain in self.domains.iter().filter(|domain| domain.level == Level::Cls) {
            for cpu in domain.span.iter() {
                self.cluster_of[cpu.index()] = Some(self.clusters.len() as u32);
            }
            self.clusters.push(Llc { span: domain.span.clone(), cpus: domain.span.iter().collect() });
        }
    }

    fn group(&self, machine: &Machine, cpus: Vec<CpuId>) -> SchedGroup {
        let mut cores: Vec<_> = cpus.iter().map(|cpu| machine.cpus[cpu.index()].core).collect();
        cores.sort_unstable();
        cores.dedup();
        SchedGroup {
            span: CpuMask::of(self.nr_cpus, cpus.iter().copied()),
            cores: cores.len() as u32,
            smt: cores.len() == 1 && cpus.len() > 1,
            prefer_sibling: self.chains[cpus[0].index()]
                .last()
                .is_some_and(|id| self.domains[*id].level != Level::Numa),
            asym_prefer_cpu: cpus[0],
            blocks: Members::of(&cpus),
            cpus,
        }
    }

    /// The spans of the largest domains so far of `members`; single CPUs where there is none.
    fn child_spans(&self, members: &[CpuId]) -> Vec<Vec<CpuId>> {
        let mut spans: Vec<Vec<CpuId>> = Vec::new();
        let mut covered = CpuMask::empty(self.nr_cpus);
        for cpu in members {
            if covered.test(*cpu) {
                continue;
            }
            let span = match self.chains[cpu.index()].last() {
                Some(child) => self.domains[*child].span.iter().collect(),
                None => vec![*cpu],
            };
            for member in &span {
                covered.set(*member);
            }
            spans.push(span);
        }
        spans
    }
}

/// `imb_numa_nr` as the kernel computes it: a quarter of a node where a node is one cache, one task per cache otherwise.
fn imb_numa_nr(nodes: &[Vec<CpuId>], topology: &Topology) -> i64 {
    let Some(node) = nodes.first() else { return 0 };
    let mut llcs: Vec<u32> = node.iter().map(|cpu| topology.llc_of[cpu.index()]).collect();
    llcs.sort_unstable();
    llcs.dedup();
    let imbalance = if llcs.len() == 1 { node.len() >> 3 } else { llcs.len() };
    imbalance.max(1) as i64
}

fn siblings(machine: &Machine, online: &CpuMask, cpu: CpuId) -> Vec<CpuId> {
    let core = &machine.cores[machine.cpus[cpu.index()].core.index()];
    core.cpus.iter().copied().filter(|sibling| online.test(*sibling)).collect()
}

/// CPUs without a described cache count as sharing one with their cluster.
fn llc_key(machine: &Machine, cpu: CpuId) -> (u32, u32) {
    let entry = &machine.cpus[cpu.index()];
    match entry.llc {
        Some(cache) => (0, cache.0),
        None => (1, machine.cores[entry.core.index()].cluster.0),
    }
}

fn level_key(machine: &Machine, level: Level, cpu: CpuId) -> (u32, u32) {
    let entry = &machine.cpus[cpu.index()];
    match level {
        Level::Smt => (0, entry.core.0),
        Level::Cls => (0, entry.l2.0),
        Level::Mc => llc_key(machine, cpu),
        Level::Pkg => (0, machine.cluster(cpu).package.0),
        Level::Numa => (0, 0),
    }
}

/// The CPUs of `mask` by equal key, in order of each part's lowest CPU.
fn partition(mask: &CpuMask, key: impl Fn(CpuId) -> (u32, u32)) -> Vec<Vec<CpuId>> {
    let mut index = std::collections::BTreeMap::new();
    let mut parts: Vec<Vec<CpuId>> = Vec::new();
    for cpu in mask.iter() {
        let part = *index.entry(key(cpu)).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[part].push(cpu);
    }
    parts
}
