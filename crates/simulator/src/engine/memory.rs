// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches and memory in motion: who shares what at the moment, and the contention that follows.

use crate::machine::contention::{Flow, solve};
use crate::machine::speed::Pace;
use crate::machine::{Machine, MemoryDomain};
use crate::units::{CacheId, CpuId, MemoryDomainId};

/// A change of λ below this share is not passed on to the threads. One of a hundred that share a path comes or goes at
/// every switch; to follow each would cost more than it tells.
const TOLERANCE: f64 = 1e-2;

/// The state of caches and memory domains.
#[derive(Debug)]
pub struct Memory {
    caches: Vec<CacheState>,
    domains: Vec<DomainState>,
    dirty_caches: Vec<CacheId>,
    dirty_domains: Vec<MemoryDomainId>,
}

#[derive(Debug, Default)]
struct CacheState {
    /// CPUs whose running thread has a footprint, with it.
    users: Vec<(CpuId, u64)>,
    dirty: bool,
}

#[derive(Debug)]
struct DomainState {
    /// CPUs whose running thread moves data, or waits for some.
    users: Vec<CpuId>,
    /// The λ in force.
    lambda: f64,
    /// The λ of this path alone.
    own: f64,
    /// Bytes moved so far.
    bytes: f64,
    children: Vec<MemoryDomainId>,
    dirty: bool,
}

impl Memory {
    /// Nobody runs yet.
    pub fn new(machine: &Machine) -> Self {
        let children = |parent: usize| {
            let domains = machine.memory_domains.iter().enumerate();
            domains.filter(move |(_, domain)| domain.parent == Some(MemoryDomainId::at(parent)))
        };
        Self {
            caches: machine.caches.iter().map(|_| CacheState::default()).collect(),
            domains: (0..machine.memory_domains.len())
                .map(|index| DomainState {
                    users: Vec::new(),
                    lambda: 1.0,
                    own: 1.0,
                    bytes: 0.0,
                    children: children(index).map(|(child, _)| MemoryDomainId::at(child)).collect(),
                    dirty: false,
                })
                .collect(),
            dirty_caches: Vec::new(),
            dirty_domains: Vec::new(),
        }
    }

    /// The thread on `cpu` reuses so many bytes from now on; 0: none, or nobody runs.
    pub fn set_footprint(&mut self, cache: CacheId, cpu: CpuId, bytes: u64) {
        let state = &mut self.caches[cache.index()];
        let known = state.users.iter().position(|(user, _)| *user == cpu);
        match (known, bytes) {
            (None, 0) => return,
            (Some(index), _) if state.users[index].1 == bytes => return,
            (Some(index), 0) => _ = state.users.swap_remove(index),
            (Some(index), _) => state.users[index].1 = bytes,
            (None, _) => state.users.push((cpu, bytes)),
        }
        if !std::mem::replace(&mut state.dirty, true) {
            self.dirty_caches.push(cache);
        }
    }

    /// Bytes of the cache that a thread with this footprint gets: all it wants if everybody's fits, else in proportion.
    pub fn share(&self, machine: &Machine, cache: CacheId, footprint: u64) -> f64 {
        let size = machine.caches[cache.index()].bytes as f64;
        let wanted: u64 = self.caches[cache.index()].users.iter().map(|(_, bytes)| bytes).sum();
        let wanted = (wanted as f64).max(footprint as f64);
        footprint as f64 * (size / wanted).min(1.0)
    }

    /// The CPUs whose share of a cache changed since the last call.
    pub fn cache_changes(&mut self) -> Vec<CpuId> {
        let mut cpus = Vec::new();
        for cache in self.dirty_caches.drain(..) {
            let state = &mut self.caches[cache.index()];
            state.dirty = false;
            cpus.extend(state.users.iter().map(|(cpu, _)| *cpu));
        }
        cpus
    }

    /// Whether a cache or a memory domain changed.
    pub fn is_dirty(&self) -> bool {
        !self.dirty_caches.is_empty() || !self.dirty_domains.is_empty()
    }

    /// The thread on `cpu` starts or stops to use memory.
    pub fn set_user(&mut self, machine: &Machine, cpu: CpuId, uses: bool) {
        let domain = machine.cpus[cpu.index()].memory_domain;
        let users = &mut self.domains[domain.index()].users;
        let known = users.iter().position(|user| *user == cpu);
        match (known, uses) {
            (None, true) => users.push(cpu),
            (Some(index), false) => _ = users.swap_remove(index),
            _ => {}
        }
        if uses || known.is_some() {
            self.touch(machine, domain);
        }
    }

    /// Marks the tree that `domain` belongs to for a new solution.
    fn touch(&mut self, machine: &Machine, mut domain: MemoryDomainId) {
        while let Some(parent) = machine.memory_domains[domain.index()].parent {
            domain = parent;
        }
        if !std::mem::replace(&mut self.domains[domain.index()].dirty, true) {
            self.dirty_domains.push(domain);
        }
    }

    /// λ for threads on `cpu`.
    #[inline]
    pub fn lambda(&self, machine: &Machine, cpu: CpuId) -> f64 {
        self.domains[machine.cpus[cpu.index()].memory_domain.index()].lambda
    }

    /// Books traffic of a thread on `cpu`, on every path it crosses.
    pub fn move_bytes(&mut self, machine: &Machine, cpu: CpuId, bytes: f64) {
        let mut domain = Some(machine.cpus[cpu.index()].memory_domain);
        while let Some(id) = domain {
            self.domains[id.index()].bytes += bytes;
            domain = machine.memory_domains[id.index()].parent;
        }
    }

    /// Solves all changed domains; the CPUs that must be paced anew.
    pub fn solve(&mut self, machine: &Machine, pace: impl Fn(CpuId) -> Pace) -> Vec<CpuId> {
        let mut changed = Vec::new();
        while let Some(root) = self.dirty_domains.pop() {
            self.domains[root.index()].dirty = false;
            let mut flows = Vec::new();
            self.solve_below(machine, root, &pace, &mut flows);
            self.settle(root, 1.0, &mut changed);
        }
        changed
    }

    /// Solves the children of `domain`, then `domain` itself for all threads below it, each at least as slow as its own
    /// path makes it; appends these threads with what they are slowed by so far.
    fn solve_below(
        &mut self,
        machine: &Machine,
        domain: MemoryDomainId,
        pace: &impl Fn(CpuId) -> Pace,
        flows: &mut Vec<Flow>,
    ) {
        let first = flows.len();
        for index in 0..self.domains[domain.index()].children.len() {
            self.solve_below(machine, self.domains[domain.index()].children[index], pace, flows);
        }
        let here = flows.len();
        for cpu in &self.domains[domain.index()].users {
            join(flows, here, pace(*cpu));
        }
        let entry = &machine.memory_domains[domain.index()];
        let guess = self.domains[domain.index()].own;
        let lambda = solve(&flows[first..], bytes_per_ns(entry), entry.contention, guess);
        self.domains[domain.index()].own = lambda;
        for flow in &mut flows[first..] {
            flow.own = flow.own.max(lambda);
        }
    }

    /// The λ of each path is the worst of its own and those above it; notes whose changed notably.
    fn settle(&mut self, domain: MemoryDomainId, above: f64, changed: &mut Vec<CpuId>) {
        let state = &mut self.domains[domain.index()];
        let lambda = state.own.max(above);
        // No contention is no contention: what is left of it must not stay for ever.
        if (lambda - state.lambda).abs() > TOLERANCE * state.lambda || (lambda == 1.0 && state.lambda != 1.0) {
            state.lambda = lambda;
            changed.extend(&state.users);
        }
        for index in 0..self.domains[domain.index()].children.len() {
            self.settle(self.domains[domain.index()].children[index], lambda, changed);
        }
    }

    /// Bytes that crossed each domain so far.
    pub fn traffic(&self) -> impl Iterator<Item = f64> + '_ {
        self.domains.iter().map(|domain| domain.bytes)
    }
}

/// Kinds of pace that are told apart; behind them, threads stand each for itself. There are few: behaviours times clocks.
const MAX_KINDS: usize = 16;

/// Adds a thread to the flow of its pace among those from `here` on.
fn join(flows: &mut Vec<Flow>, here: usize, pace: Pace) {
    match flows[here..].iter_mut().take(MAX_KINDS).find(|flow| flow.pace == pace) {
        Some(flow) => flow.threads += 1,
        None => flows.push(Flow { pace, own: 1.0, threads: 1 }),
    }
}

/// Bandwidth in bytes per nanosecond.
pub fn bytes_per_ns(domain: &MemoryDomain) -> f64 {
    domain.bytes_per_s * 1e-9
}
