// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs are idle (`scx_pick_idle_cpu`, `__scx_update_idle`; later kernels have it in `ext_idle.c`).
//!
//! [`IdleTracking`] has the masks, and copies of them in the programs' memory, which a program may hold and read while
//! they change. It does not know the rest of sched_ext; [`ctx`] joins the two.
//!
//! What the masks say is not always so: a CPU that was claimed and never kicked stays out of them until it next goes
//! through idle, as in the kernel.

pub mod bits;
mod ctx;
#[cfg(test)]
pub(in crate::scx) mod tests;

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::kernel::topology::{Level, Topology};
use crate::units::CpuId;
use bits::{Allowed, any_distribute, bit};
pub use ctx::IdleChange;
pub(in crate::scx) use ctx::pick_any_by;

/// `NUMA_NO_NODE`: a program names no node.
pub const NUMA_NO_NODE: i32 = -1;
/// `SCX_PICK_IDLE_CORE`: only CPUs of wholly idle cores.
pub const PICK_IDLE_CORE: u64 = 1;
/// `SCX_PICK_IDLE_IN_NODE` (7.x): only CPUs of the given NUMA node.
pub const PICK_IDLE_IN_NODE: u64 = 2;

/// Bytes of a mask in the programs' memory: as many as programs that are built for 8192 CPUs read.
const MASK_BYTES: u64 = 1024;

/// The built-in idle masks.
#[derive(Debug, Default)]
pub struct IdleTracking {
    /// `scx_builtin_idle_enabled`.
    enabled: bool,
    /// `scx_builtin_idle_per_node`.
    per_node: bool,
    /// Idle CPUs (`idle_masks.cpu`).
    cpu: LiveMask,
    /// CPUs of wholly idle cores (`idle_masks.smt`).
    smt: LiveMask,
    /// Per CPU, its SMT siblings with itself; empty where no core has any (`sched_smt_active`).
    siblings: Vec<Vec<CpuId>>,
    /// CPUs of each NUMA node.
    nodes: Vec<Vec<u64>>,
    /// Node of each CPU.
    node_of: Vec<u32>,
    /// Whether a machine's last-level cache has only part of its CPUs (`scx_selcpu_topo_llc`).
    several_llcs: bool,
    /// Whether a NUMA node has only part of them, and is not one cache (`scx_selcpu_topo_numa`).
    several_nodes: bool,
    /// A mask without CPUs for programs (`cpu_none_mask`); 0 until one is made.
    none: u64,
}

/// A mask, and where programs read it.
#[derive(Debug, Default)]
struct LiveMask {
    words: Vec<u64>,
    /// Where programs read the whole mask.
    address: u64,
    /// Where programs read the part of each NUMA node, if nodes are told apart.
    of_node: Vec<u64>,
}

/// Where and how idle CPUs are to be tracked.
#[derive(Debug, Clone, Copy)]
pub struct IdleSetup {
    /// Where programs read which CPUs are idle.
    pub cpu_address: u64,
    /// Where programs read which CPUs belong to wholly idle cores.
    pub smt_address: u64,
    /// `SCX_OPS_BUILTIN_IDLE_PER_NODE`.
    pub per_node: bool,
}

impl IdleTracking {
    /// Begins to track: all online CPUs count as idle (`reset_idle_masks`). The topology is that of now; when CPUs come or
    /// go, [`IdleTracking::set_topology`] must follow.
    ///
    /// # Errors
    /// The programs' memory is exhausted.
    pub fn enable(&mut self, memory: &mut Memory, topology: &Topology, setup: IdleSetup) -> Result<(), FaultKind> {
        (self.enabled, self.per_node) = (true, setup.per_node);
        (self.cpu.address, self.smt.address) = (setup.cpu_address, setup.smt_address);
        self.set_topology(topology);
        let nodes = if setup.per_node { self.nodes.len() } else { 0 };
        let online = topology.online.words();
        for mask in [&mut self.cpu, &mut self.smt] {
            while mask.of_node.len() < nodes {
                mask.of_node.push(memory.alloc(mask_bytes(online.len()), Protection::ReadOnly)?);
            }
            mask.of_node.truncate(nodes);
            mask.words.clear();
            mask.words.resize(online.len(), 0);
            for (index, word) in online.iter().enumerate() {
                mask.set_word(memory, &self.nodes, index, *word);
            }
        }
        Ok(())
    }

    /// Other CPUs are online now. The masks stay: a CPU that went is in them until a claim takes it out.
    pub fn set_topology(&mut self, topology: &Topology) {
        self.siblings = if topology.smt_active { topology.smt.clone() } else { Vec::new() };
        self.set_nodes(topology);
        self.update_selcpu_topology(topology);
    }

    /// Ceases to track: the scheduler does so itself.
    pub fn disable(&mut self) {
        (self.enabled, self.per_node) = (false, false);
    }

    fn set_nodes(&mut self, topology: &Topology) {
        let count = nr_nodes(topology);
        self.nodes = vec![vec![0; topology.online.words().len()]; count];
        self.node_of = (0..topology.nr_cpus).map(|cpu| topology.node_of(CpuId::at(cpu)) as u32).collect();
        for cpu in topology.online.iter() {
            self.nodes[self.node_of[cpu.index()] as usize][cpu.index() / 64] |= bit(cpu);
        }
    }

    /// `scx_idle_update_selcpu_topology`: which neighbourhoods of a CPU are worth a search of their own.
    fn update_selcpu_topology(&mut self, topology: &Topology) {
        let online = topology.online.weight();
        let llc =
            topology.online.first().map_or(0, |cpu| topology.llcs[topology.llc_of[cpu.index()] as usize].cpus.len());
        let is_node = |span: &[u64]| self.nodes.iter().any(|node| node.as_slice() == span);
        let same = topology.llcs.iter().all(|llc| is_node(llc.span.words()));
        self.several_llcs = llc < online;
        self.several_nodes = self.nodes.len() > 1 && !same;
    }

    /// `scx_selcpu_topo_llc`: a last-level cache has only part of the CPUs.
    #[inline]
    pub fn several_llcs(&self) -> bool {
        self.several_llcs
    }

    /// `scx_selcpu_topo_numa`: a NUMA node has only part of the CPUs, and is not one cache.
    #[inline]
    pub fn several_nodes(&self) -> bool {
        self.several_nodes
    }

    /// Whether CPUs are tracked (`scx_builtin_idle_enabled`).
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether each NUMA node has masks of its own (`scx_builtin_idle_per_node`).
    #[inline]
    pub fn is_per_node(&self) -> bool {
        self.per_node
    }

    /// `sched_smt_active`.
    #[inline]
    pub fn smt_active(&self) -> bool {
        !self.siblings.is_empty()
    }

    /// NUMA node of `cpu`.
    #[inline]
    pub fn node_of(&self, cpu: CpuId) -> usize {
        self.node_of.get(cpu.index()).map_or(0, |node| *node as usize)
    }

    /// CPUs of NUMA node `node`.
    pub fn node_span(&self, node: usize) -> Option<&[u64]> {
        self.nodes.get(node).map(Vec::as_slice)
    }

    /// Whether no CPU is idle: in `node`, or in all.
    #[inline]
    pub fn is_empty(&self, node: Option<usize>) -> bool {
        let span = Allowed::default().and(node.and_then(|node| self.node_span(node)));
        self.cpu.words.iter().enumerate().all(|(index, word)| word & span.word(index) == 0)
    }

    /// Whether the core of `cpu` counts as wholly idle; meaningless without SMT.
    #[inline]
    pub fn test_core(&self, cpu: CpuId) -> bool {
        self.smt.test(cpu)
    }

    /// `test_and_clear_cpu_idle`: claims `cpu`; whether it was idle. Its core is not wholly idle afterwards, whether the
    /// claim succeeds or not.
    #[inline]
    pub fn test_and_clear(&mut self, memory: &mut Memory, cpu: CpuId) -> bool {
        self.clear_core(memory, cpu);
        self.cpu.test_and_clear(memory, &self.nodes, cpu)
    }

    /// `update_builtin_idle`: `cpu` went into or out of idle.
    pub fn update(&mut self, memory: &mut Memory, cpu: CpuId, idle: bool) {
        if !idle {
            self.cpu.test_and_clear(memory, &self.nodes, cpu);
            self.clear_core(memory, cpu);
            return;
        }
        self.cpu.set(memory, &self.nodes, cpu);
        let Some(siblings) = self.siblings.get(cpu.index()) else { return };
        if siblings.iter().all(|sibling| self.cpu.test(*sibling)) {
            for sibling in siblings {
                self.smt.set(memory, &self.nodes, *sibling);
            }
        }
    }

    fn clear_core(&mut self, memory: &mut Memory, cpu: CpuId) {
        let Some(siblings) = self.siblings.get(cpu.index()) else { return };
        // An offline CPU is not among its siblings, but may be in the mask.
        self.smt.test_and_clear(memory, &self.nodes, cpu);
        for sibling in siblings {
            self.smt.test_and_clear(memory, &self.nodes, *sibling);
        }
    }

    /// `scx_pick_idle_cpu`: claims an idle CPU of `allowed`, of a wholly idle core before others; the search begins after
    /// `cursor`. With a NUMA node, its CPUs come first, then those of other nodes unless `flags` forbid it.
    ///
    /// Nodes are equally far from each other here, so the others are asked in their order; the kernel asks near ones
    /// first, which machines with a ring or mesh of nodes could tell.
    pub fn pick(
        &mut self,
        memory: &mut Memory,
        cursor: &mut u32,
        allowed: Allowed<'_>,
        node: Option<usize>,
        flags: u64,
    ) -> Option<CpuId> {
        let found = self.pick_in_node(memory, cursor, allowed, node, flags);
        let Some(near) = node.filter(|_| found.is_none() && flags & PICK_IDLE_IN_NODE == 0) else { return found };
        (0..self.nodes.len())
            .filter(|other| *other != near)
            .find_map(|other| self.pick_in_node(memory, cursor, allowed, Some(other), flags))
    }

    /// `pick_idle_cpu_in_node`, and the whole of `scx_pick_idle_cpu` in 6.12, where there is no node.
    pub fn pick_in_node(
        &mut self,
        memory: &mut Memory,
        cursor: &mut u32,
        allowed: Allowed<'_>,
        node: Option<usize>,
        flags: u64,
    ) -> Option<CpuId> {
        loop {
            let cpu = self.find(cursor, allowed, node, flags)?;
            if self.test_and_clear(memory, cpu) {
                return Some(cpu);
            }
        }
    }

    #[inline]
    fn find(&self, cursor: &mut u32, allowed: Allowed<'_>, node: Option<usize>, flags: u64) -> Option<CpuId> {
        let span = Allowed::default().and(node.and_then(|node| self.node_span(node)));
        let choice = |mask: &LiveMask, index: usize| mask.words[index] & allowed.word(index) & span.word(index);
        let words = self.cpu.words.len();
        if self.smt_active() {
            let core = any_distribute(words, cursor, |index| choice(&self.smt, index));
            if core.is_some() || flags & PICK_IDLE_CORE != 0 {
                return core;
            }
        }
        any_distribute(words, cursor, |index| choice(&self.cpu, index))
    }

    /// Where programs read which CPUs are idle, of all or of one node.
    pub fn cpu_address(&self, node: Option<usize>) -> Option<u64> {
        self.cpu.address_of(node)
    }

    /// Where programs read which CPUs belong to wholly idle cores; without SMT, which CPUs are idle.
    pub fn smt_address(&self, node: Option<usize>) -> Option<u64> {
        if self.smt_active() { self.smt.address_of(node) } else { self.cpu.address_of(node) }
    }

    /// `address`, else where programs read a mask without CPUs (`cpu_none_mask`).
    ///
    /// # Errors
    /// The programs' memory is exhausted.
    pub fn address_or_none(&mut self, memory: &mut Memory, address: Option<u64>) -> Result<u64, FaultKind> {
        address.map_or_else(|| self.none_address(memory), Ok)
    }

    /// Where programs read a mask without CPUs (`cpu_none_mask`).
    ///
    /// # Errors
    /// The programs' memory is exhausted.
    pub fn none_address(&mut self, memory: &mut Memory) -> Result<u64, FaultKind> {
        if self.none == 0 {
            self.none = memory.alloc(MASK_BYTES, Protection::ReadOnly)?;
        }
        Ok(self.none)
    }
}

impl LiveMask {
    #[inline]
    fn test(&self, cpu: CpuId) -> bool {
        self.words.get(cpu.index() / 64).is_some_and(|word| word & bit(cpu) != 0)
    }

    #[inline]
    fn set(&mut self, memory: &mut Memory, nodes: &[Vec<u64>], cpu: CpuId) {
        if let Some(word) = self.words.get(cpu.index() / 64) {
            self.set_word(memory, nodes, cpu.index() / 64, word | bit(cpu));
        }
    }

    #[inline]
    fn test_and_clear(&mut self, memory: &mut Memory, nodes: &[Vec<u64>], cpu: CpuId) -> bool {
        let was_set = self.test(cpu);
        if was_set {
            let index = cpu.index() / 64;
            self.set_word(memory, nodes, index, self.words[index] & !bit(cpu));
        }
        was_set
    }

    /// The only place where a mask changes, so that programs see the same.
    #[inline]
    fn set_word(&mut self, memory: &mut Memory, nodes: &[Vec<u64>], index: usize, word: u64) {
        self.words[index] = word;
        let place = 8 * index as u64;
        let mut seen = memory.host_store::<8>(self.address + place, word).is_ok();
        for (address, span) in self.of_node.iter().zip(nodes) {
            seen &= memory.host_store::<8>(address + place, word & span[index]).is_ok();
        }
        debug_assert!(seen, "the masks that programs read are as long as there are CPUs");
    }

    fn address_of(&self, node: Option<usize>) -> Option<u64> {
        node.map_or(Some(self.address), |node| self.of_node.get(node).copied())
    }
}

/// NUMA nodes of a machine (`nr_node_ids`).
pub fn nr_nodes(topology: &Topology) -> usize {
    let numa = topology.domains.iter().find(|domain| domain.level == Level::Numa);
    numa.map_or(1, |domain| domain.groups.len())
}

/// Bytes of a mask of so many words.
fn mask_bytes(words: usize) -> u64 {
    MASK_BYTES.max(8 * words as u64)
}
