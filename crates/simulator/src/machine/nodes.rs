// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA nodes: how far memory is from CPUs, and what an access crosses on its way there.

use super::{Machine, MemoryDomain};
use crate::units::{CpuId, MemoryDomainId};

/// What the description says of the machine's nodes. Matrices are indexed by the CPU's node, then the memory's.
#[derive(Debug, Clone, PartialEq)]
pub struct Nodes {
    /// Distances as firmware tells them (ACPI SLIT): 10 within a node.
    pub distances: Vec<Vec<u32>>,
    /// Latency of memory in that of the CPU's own node, at least 1.
    pub latency: Vec<Vec<f64>>,
    /// Bytes per second of the link between two nodes, both directions together; symmetric, unlimited where `None`.
    pub links: Vec<Vec<Option<f64>>>,
    /// The path that all memory of a node is behind.
    pub memory: Vec<MemoryDomainId>,
}

impl Nodes {
    /// Number of nodes.
    pub fn count(&self) -> usize {
        self.memory.len()
    }

    /// Mean latency from CPUs of node `from` to memory that lies on the nodes in these shares, in that of the own node; 1 without
    /// shares.
    pub fn mean_latency(&self, from: u32, shares: &[f64]) -> f64 {
        if shares.is_empty() {
            return 1.0;
        }
        shares.iter().zip(&self.latency[from as usize]).map(|(share, factor)| share * factor).sum()
    }

    /// The node among `nodes` that is nearest to `from`; the lowest of equals, and `from` if there is none.
    pub fn nearest(&self, from: u32, nodes: &[u32]) -> u32 {
        nodes.iter().copied().min_by_key(|to| (self.distances[from as usize][*to as usize], *to)).unwrap_or(from)
    }
}

/// Something that traffic crosses and that has a bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// A path to memory.
    Memory(MemoryDomainId),
    /// The link between two nodes, the lower one first.
    Link(u32, u32),
}

impl Machine {
    /// NUMA nodes below the highest one that have no CPU.
    pub fn nodes_without_cpus(&self) -> Vec<u32> {
        let with: std::collections::BTreeSet<u32> = self.cpus.iter().map(|cpu| cpu.node).collect();
        (0..with.last().copied().unwrap_or(0)).filter(|node| !with.contains(node)).collect()
    }

    /// What is odd about those, in words; `None` if each node has a CPU.
    pub fn odd_nodes(&self) -> Option<String> {
        let nodes: Vec<String> = self.nodes_without_cpus().iter().map(u32::to_string).collect();
        let (which, have) = match &nodes[..] {
            [] => return None,
            [_] => ("node", "has"),
            _ => ("nodes", "have"),
        };
        Some(format!(
            "{}: {which} {} {have} no CPUs: Linux places threads and memory by the nodes that have some, and what else is on the others \
             is not simulated; if that is a slip, number `node` of clusters from 0 on without gaps",
            self.name,
            nodes.join(", ")
        ))
    }

    /// `domain` and all paths that its traffic crosses behind it.
    pub fn paths_from(&self, domain: MemoryDomainId) -> impl Iterator<Item = MemoryDomainId> + '_ {
        std::iter::successors(Some(domain), |id| self.memory_domains[id.index()].parent)
    }

    /// What an access from `cpu` to the memory of node `home` crosses: on the own node the CPU's path; else that path up to where
    /// the node's memory begins, the link, and the path of the other node's memory.
    pub fn way_to_memory(&self, cpu: CpuId, home: u32) -> Vec<Hop> {
        let cpu = &self.cpus[cpu.index()];
        let Some(nodes) = self.nodes.as_ref().filter(|_| cpu.node != home) else {
            return self.paths_from(cpu.memory_domain).map(Hop::Memory).collect();
        };
        let own = nodes.memory[cpu.node as usize];
        let (low, high) = (cpu.node.min(home), cpu.node.max(home));
        let link = nodes.links[low as usize][high as usize].map(|_| Hop::Link(low, high));
        let within = self.paths_from(cpu.memory_domain).take_while(|domain| *domain != own).map(Hop::Memory);
        let there = self.paths_from(nodes.memory[home as usize]).map(Hop::Memory);
        within.chain(link).chain(there).collect()
    }

    /// Bytes per nanosecond of what traffic crosses; a link without a limit has as many as there can be.
    pub fn hop_bandwidth(&self, hop: Hop) -> f64 {
        let bytes_per_s = match hop {
            Hop::Memory(domain) => self.memory_domains[domain.index()].bytes_per_s,
            Hop::Link(low, high) => {
                let nodes = self.nodes.as_ref();
                nodes.and_then(|nodes| nodes.links[low as usize][high as usize]).unwrap_or(f64::INFINITY)
            }
        };
        bytes_per_s * 1e-9
    }
}

/// The first path that the traffic of all of `domains` crosses; `None` if there is none.
pub(super) fn common_path(
    memories: &[MemoryDomain],
    domains: impl Iterator<Item = MemoryDomainId>,
) -> Option<MemoryDomainId> {
    let up = |domain| std::iter::successors(Some(domain), |id: &MemoryDomainId| memories[id.index()].parent);
    let mut shared: Option<Vec<MemoryDomainId>> = None;
    for domain in domains {
        let path: Vec<MemoryDomainId> = up(domain).collect();
        shared = Some(match shared {
            None => path,
            Some(known) => known.into_iter().filter(|id| path.contains(id)).collect(),
        });
    }
    shared?.first().copied()
}
