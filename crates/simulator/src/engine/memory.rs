// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches and memory in motion: which threads share what at the moment, and the contention that follows.

use super::nodes::Network;
use super::users::{MAX_KINDS, Slowed, User, Users};
use crate::machine::contention::{Flow, Path};
use crate::machine::speed::Pace;
use crate::machine::{Machine, MemoryDomain};
use crate::units::{CacheId, CpuId, MemoryDomainId};

/// A change of a path's latency below this share is not passed on to the threads. One of a hundred that share a path comes
/// or goes at every switch; to follow each would cost more than it tells.
pub(super) const TOLERANCE: f64 = 1e-2;

/// The state of caches and memory domains.
#[derive(Debug)]
pub struct Memory {
    caches: Vec<CacheState>,
    /// Per CPU: the path to memory that it is at.
    domain_of: Vec<MemoryDomainId>,
    pub(super) domains: Vec<DomainState>,
    dirty_caches: Vec<CacheId>,
    dirty_domains: Vec<MemoryDomainId>,
    /// Room for the flows of a solution.
    flows: Vec<Flow>,
    /// How often threads were paced anew: latencies do not change within a round.
    round: u64,
    /// Ways to memory where it has a home.
    pub(super) network: Option<Box<Network>>,
}

#[derive(Debug, Default)]
struct CacheState {
    /// CPUs whose running thread has a footprint, with it.
    users: Vec<(CpuId, u64)>,
    /// Bytes that threads brought in without reusing them, so far.
    passed: f64,
    dirty: bool,
}

/// What is known of a path.
#[derive(Debug)]
pub(super) struct DomainState {
    /// CPUs whose running thread moves data, or waits for some.
    users: Users,
    /// The latency in force, in that of the idle path.
    pub(super) latency: f64,
    /// The latency by the last solution.
    pub(super) solved: f64,
    /// Whether that slows any thread.
    slows: bool,
    /// Bytes moved so far.
    bytes: f64,
    children: Vec<MemoryDomainId>,
    parent: Option<MemoryDomainId>,
    dirty: bool,
}

impl Memory {
    /// Caches and memory domains of a machine on which no thread runs yet.
    pub fn new(machine: &Machine) -> Self {
        let children = |parent: usize| {
            let domains = machine.memory_domains.iter().enumerate();
            domains.filter(move |(_, domain)| domain.parent == Some(MemoryDomainId::at(parent)))
        };
        Self {
            caches: machine.caches.iter().map(|_| CacheState::default()).collect(),
            domain_of: machine.cpus.iter().map(|cpu| cpu.memory_domain).collect(),
            domains: (0..machine.memory_domains.len())
                .map(|index| DomainState {
                    users: Users::new(machine.cpus.len()),
                    latency: 1.0,
                    solved: 1.0,
                    slows: false,
                    bytes: 0.0,
                    parent: machine.memory_domains[index].parent,
                    children: children(index).map(|(child, _)| MemoryDomainId::at(child)).collect(),
                    dirty: false,
                })
                .collect(),
            dirty_caches: Vec::new(),
            dirty_domains: Vec::new(),
            flows: Vec::new(),
            round: 0,
            network: Network::of(machine).map(Box::new),
        }
    }

    /// The thread on `cpu` reuses so many bytes from now on; 0: none, or no thread runs.
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

    /// So many bytes more come through a cache, and nobody reuses them.
    pub fn pass_through(&mut self, cache: CacheId, bytes: f64) {
        self.caches[cache.index()].passed += bytes;
    }

    /// Bytes that came through a cache so far.
    pub fn passed(&self, cache: CacheId) -> f64 {
        self.caches[cache.index()].passed
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

    /// Whether a cache changed.
    #[inline]
    pub fn caches_changed(&self) -> bool {
        !self.dirty_caches.is_empty()
    }

    /// Whether a cache or a memory domain changed.
    #[inline]
    pub fn is_dirty(&self) -> bool {
        !self.dirty_caches.is_empty() || !self.dirty_domains.is_empty()
    }

    /// The thread on `cpu` uses memory at this pace from now on, or no more.
    pub fn set_user(&mut self, machine: &Machine, cpu: CpuId, pace: Option<Pace>) {
        let domain = machine.cpus[cpu.index()].memory_domain;
        if self.domains[domain.index()].users.set(cpu, pace) {
            self.touch(machine, domain);
        }
    }

    /// Marks the tree that `domain` belongs to for a new solution.
    fn touch(&mut self, machine: &Machine, mut domain: MemoryDomainId) {
        if let Some(network) = &mut self.network {
            network.touch(machine, domain);
        }
        while let Some(parent) = machine.memory_domains[domain.index()].parent {
            domain = parent;
        }
        if !std::mem::replace(&mut self.domains[domain.index()].dirty, true) {
            self.dirty_domains.push(domain);
        }
    }

    /// λ for a thread on `cpu` that goes at `pace`: the worst of its own path and those above.
    fn lambda(&self, machine: &Machine, cpu: CpuId, pace: &Pace) -> f64 {
        if let Some(network) = &self.network {
            if !pace.uses_memory() {
                return 1.0;
            }
            return network.lambda(
                machine,
                cpu,
                pace,
                self.lambda_out(machine, network, cpu, pace, |state| state.latency),
            );
        }
        let mut lambda = 1.0f64;
        let mut domain = Some(machine.cpus[cpu.index()].memory_domain).filter(|_| pace.uses_memory());
        while let Some(id) = domain {
            let entry = &machine.memory_domains[id.index()];
            lambda = lambda.max(path(entry).lambda(self.domains[id.index()].latency, pace));
            domain = entry.parent;
        }
        lambda
    }

    /// All latencies are known, and threads are paced anew: in which round.
    pub fn begin_round(&mut self) -> u64 {
        self.round += 1;
        self.round
    }

    /// The present round.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The user of `path` at this place of its list.
    #[inline]
    pub fn user(&self, path: MemoryDomainId, place: usize) -> Option<User> {
        self.domains[path.index()].users.at(place)
    }

    /// The CPUs that use `path`, in order.
    pub fn users(&self, path: MemoryDomainId) -> impl Iterator<Item = CpuId> + '_ {
        self.domains[path.index()].users.cpus()
    }

    /// [`Self::slowed`] of a user of `path`, if that was worked out in this round, of this or another one.
    #[inline]
    pub fn known(&self, path: MemoryDomainId, user: User) -> Option<Slowed> {
        self.domains[path.index()].users.known(user, self.round)
    }

    /// What contention makes of `pace`, that of the thread on `cpu`. Where the latency of a path has changed, all of its threads
    /// follow, most of them one like the other: worked out once per pace and round, except where memory has a home, and each
    /// thread ways of its own.
    #[inline]
    pub fn slowed(&mut self, machine: &Machine, cpu: CpuId, pace: &Pace) -> Slowed {
        let domain = self.domain_of[cpu.index()];
        let users = &self.domains[domain.index()].users;
        if let Some(slowed) = users.slowed(cpu, self.round).filter(|_| self.network.is_none()) {
            return slowed;
        }
        let lambda = self.lambda(machine, cpu, pace);
        let slowed = Slowed { unit_time: pace.time(lambda), computing: pace.computing(lambda) };
        self.domains[domain.index()].users.remember(cpu, self.round, slowed);
        slowed
    }

    /// Books traffic of a thread on `cpu`, on every path it crosses.
    #[inline]
    pub fn move_bytes(&mut self, cpu: CpuId, bytes: f64) {
        if let Some(network) = &self.network {
            network.crossed(cpu, |domain, share| self.domains[domain.index()].bytes += bytes * share);
            return;
        }
        self.cross(self.domain_of[cpu.index()], bytes);
    }

    /// Books traffic that begins on `path`, there and on all paths above.
    #[inline]
    pub fn cross(&mut self, path: MemoryDomainId, bytes: f64) {
        let mut domain = Some(path);
        while let Some(id) = domain {
            let state = &mut self.domains[id.index()];
            state.bytes += bytes;
            domain = state.parent;
        }
    }

    /// Solves all changed domains; `changed` are those all of whose users must be paced anew. Where memory has a home, these CPUs
    /// instead: `pace` is asked there.
    pub fn solve(
        &mut self,
        machine: &Machine,
        pace: impl Fn(CpuId) -> Pace,
        changed: &mut Vec<MemoryDomainId>,
    ) -> Vec<CpuId> {
        if self.network.is_some() {
            return self.solve_network(machine, &pace);
        }
        while let Some(root) = self.dirty_domains.pop() {
            self.domains[root.index()].dirty = false;
            let mut flows = std::mem::take(&mut self.flows);
            flows.clear();
            self.solve_below(machine, root, &mut flows);
            self.flows = flows;
            self.settle(root, false, changed);
        }
        Vec::new()
    }

    /// The CPUs whose thread moves data, or waits for some; no domain is dirty any more.
    pub(super) fn take_users(&mut self) -> Vec<CpuId> {
        for root in self.dirty_domains.drain(..) {
            self.domains[root.index()].dirty = false;
        }
        self.domains.iter().flat_map(|domain| domain.users.cpus()).collect()
    }

    /// Mean latency of the memory of the thread on `cpu`, in that of the CPU's own node.
    pub fn latency_factor(&self, cpu: CpuId) -> f64 {
        self.network.as_ref().map_or(1.0, |network| network.factor(cpu))
    }

    /// Solves the children of `domain`, then `domain` itself for all threads below it, each at least as slow as its own
    /// path makes it; appends these threads with what they are slowed by so far.
    pub(super) fn solve_below(&mut self, machine: &Machine, domain: MemoryDomainId, flows: &mut Vec<Flow>) {
        let first = flows.len();
        for index in 0..self.domains[domain.index()].children.len() {
            self.solve_below(machine, self.domains[domain.index()].children[index], flows);
        }
        if self.domains[domain.index()].children.iter().any(|child| is_link(machine, *child)) {
            merge(flows, first);
        }
        self.domains[domain.index()].users.append_flows(flows);
        let path = path(&machine.memory_domains[domain.index()]);
        let state = &mut self.domains[domain.index()];
        state.solved = path.solve(&flows[first..], state.solved);
        state.slows = false;
        for flow in &mut flows[first..] {
            let lambda = path.lambda(state.solved, &flow.pace);
            state.slows |= lambda > 1.0;
            flow.own = flow.own.max(lambda);
        }
    }

    /// Puts the solution in force where it changed notably, there or `above`; notes whose users that concerns.
    pub(super) fn settle(&mut self, domain: MemoryDomainId, above: bool, changed: &mut Vec<MemoryDomainId>) {
        let state = &mut self.domains[domain.index()];
        let notable = (state.solved - state.latency).abs() > TOLERANCE * state.latency;
        // No contention is no contention: what is left of it must not stay for ever.
        let ended = !state.slows && state.solved != state.latency;
        if notable || ended {
            state.latency = state.solved;
        }
        let concerns = above || notable || ended;
        if concerns {
            changed.push(domain);
        }
        for index in 0..self.domains[domain.index()].children.len() {
            self.settle(self.domains[domain.index()].children[index], concerns, changed);
        }
    }

    /// Bytes that crossed each domain so far.
    pub fn traffic(&self) -> impl Iterator<Item = f64> + '_ {
        self.domains.iter().map(|domain| domain.bytes)
    }
}

/// Whether a path is the link of a cache. There may be many below a memory, and nearly all of them are wide enough.
fn is_link(machine: &Machine, domain: MemoryDomainId) -> bool {
    machine.memory_domains[domain.index()].link_of.is_some()
}

/// Makes one of flows that are alike, from `first` on.
fn merge(flows: &mut Vec<Flow>, first: usize) {
    let mut kept = first;
    for index in first..flows.len() {
        let flow = flows[index];
        let alike = |known: &&mut Flow| known.pace == flow.pace && known.own == flow.own;
        match flows[first..kept].iter_mut().take(MAX_KINDS).find(alike) {
            Some(known) => known.threads += flow.threads,
            None => {
                flows[kept] = flow;
                kept += 1;
            }
        }
    }
    flows.truncate(kept);
}

pub(super) fn path(domain: &MemoryDomain) -> Path {
    Path { bandwidth: bytes_per_ns(domain), contention: domain.contention }
}

/// Bandwidth in bytes per nanosecond.
pub fn bytes_per_ns(domain: &MemoryDomain) -> f64 {
    domain.bytes_per_s * 1e-9
}
