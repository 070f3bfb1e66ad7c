// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that has a home: what threads' accesses cross on the way to their nodes, and the contention that follows.
//!
//! Only a machine whose description has `[nodes]` has a network; on any other, memory is that of the CPU a thread runs on.

use super::memory::{DomainState, Memory, TOLERANCE, path};
use crate::machine::contention::{Flow, Path};
use crate::machine::nodes::Hop;
use crate::machine::speed::Pace;
use crate::machine::{Machine, Nodes};
use crate::units::{CpuId, MemoryDomainId};
use crate::workload::MemoryPolicy;

/// Kinds of flow that are told apart; behind them, threads stand each for itself.
const MAX_KINDS: usize = 16;

/// Memory of the running thread on one node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    node: u32,
    /// Share of the accesses, and so of the bytes.
    bytes: f64,
    /// Share of the time that waits for memory.
    time: f64,
}

/// Ways to memory on a machine with nodes.
#[derive(Debug)]
pub(super) struct Network {
    /// All that traffic crosses, in the order in which it is solved: first what leads out of a node, then links, then what leads
    /// to memory.
    hops: Vec<Hop>,
    /// How many of the hops lead out of a node. They carry all of their CPUs' traffic and no other, wherever that goes, so that
    /// [`Memory`] solves them as on a machine without nodes, and only those whose users changed.
    out: usize,
    /// By path to memory: it leads out of a node, and its parent does not; and it must be solved anew.
    outermost: Vec<Option<bool>>,
    /// The latency in force of each hop, in that of the idle one.
    latency: Vec<f64>,
    /// The latency by the last solution.
    solved: Vec<f64>,
    /// Whether that slows any thread.
    slows: Vec<bool>,
    /// Indices of the hops from each CPU to each node, in this order.
    ways: Vec<Vec<Vec<usize>>>,
    /// Where the memory of the thread on each CPU is.
    parts: Vec<Vec<Part>>,
    /// Mean latency of that memory, in that of the CPU's own node.
    factor: Vec<f64>,
}

impl Network {
    /// The ways of `machine`; `None` if nothing is said of its nodes, or it has but one.
    pub fn of(machine: &Machine) -> Option<Self> {
        let nodes = machine.nodes.as_ref().filter(|nodes| nodes.count() > 1)?;
        let (hops, out) = hops(machine, nodes);
        let place = |hop: Hop| hops.iter().position(|known| *known == hop);
        let way = |cpu: CpuId, home: u32| machine.way_to_memory(cpu, home).into_iter().filter_map(place).collect();
        let cpus = (0..machine.cpus.len()).map(CpuId::at);
        Some(Self {
            ways: cpus.clone().map(|cpu| (0..nodes.count() as u32).map(|home| way(cpu, home)).collect()).collect(),
            parts: cpus.map(|cpu| local(machine, cpu)).collect(),
            factor: vec![1.0; machine.cpus.len()],
            latency: vec![1.0; hops.len()],
            solved: vec![1.0; hops.len()],
            slows: vec![false; hops.len()],
            outermost: (0..machine.memory_domains.len()).map(|id| outermost(machine, &hops[..out], id)).collect(),
            out,
            hops,
        })
    }

    /// Users of the path `domain`, which may lead out of a node, have changed.
    pub fn touch(&mut self, machine: &Machine, mut domain: MemoryDomainId) {
        loop {
            if let Some(dirty) = &mut self.outermost[domain.index()] {
                *dirty = true;
                return;
            }
            let Some(parent) = machine.memory_domains[domain.index()].parent else { return };
            domain = parent;
        }
    }

    /// The paths out of a node that must be solved anew; none do afterwards.
    fn take_touched(&mut self) -> Vec<MemoryDomainId> {
        let touched = self.outermost.iter_mut().enumerate().filter(|(_, dirty)| **dirty == Some(true));
        let taken = touched.map(|(domain, dirty)| {
            *dirty = Some(false);
            MemoryDomainId::at(domain)
        });
        taken.collect()
    }

    /// Whether `domain` leads out of a node.
    fn leads_out(&self, domain: MemoryDomainId) -> bool {
        self.hops[..self.out].contains(&Hop::Memory(domain))
    }

    /// The thread on `cpu` has its memory on the nodes in these shares; none: on the CPU's own.
    pub fn set_pages(&mut self, machine: &Machine, cpu: CpuId, pages: &[f64]) {
        let own = machine.cpus[cpu.index()].node as usize;
        let Some(nodes) = machine.nodes.as_ref().filter(|_| !pages.is_empty()) else {
            self.parts[cpu.index()] = local(machine, cpu);
            self.factor[cpu.index()] = 1.0;
            return;
        };
        let latency = &nodes.latency[own];
        let factor = nodes.mean_latency(own as u32, pages);
        let present = pages.iter().enumerate().filter(|(_, share)| **share > 0.0);
        let part = |(node, share): (usize, &f64)| Part {
            node: node as u32,
            bytes: *share,
            time: share * latency[node] / factor,
        };
        self.parts[cpu.index()] = present.map(part).collect();
        self.factor[cpu.index()] = factor;
    }

    /// Mean latency of the memory of the thread on `cpu`, in that of the CPU's own node.
    pub fn factor(&self, cpu: CpuId) -> f64 {
        self.factor[cpu.index()]
    }

    /// Share of the accesses of the thread on `cpu` that go to another node.
    pub fn remote(&self, machine: &Machine, cpu: CpuId) -> f64 {
        let own = machine.cpus[cpu.index()].node;
        self.parts[cpu.index()].iter().filter(|part| part.node != own).map(|part| part.bytes).sum()
    }

    /// The narrowest bandwidth on the ways of the thread on `cpu`, bytes per nanosecond.
    pub fn bandwidth(&self, machine: &Machine, cpu: CpuId) -> f64 {
        let ways = self.parts[cpu.index()].iter().flat_map(|part| &self.ways[cpu.index()][part.node as usize]);
        ways.map(|hop| machine.hop_bandwidth(self.hops[*hop])).fold(f64::INFINITY, f64::min)
    }

    /// Each path to memory that bytes of the thread on `cpu` cross, and the share of them that does.
    pub fn crossed(&self, cpu: CpuId, mut cross: impl FnMut(MemoryDomainId, f64)) {
        for part in &self.parts[cpu.index()] {
            for hop in &self.ways[cpu.index()][part.node as usize] {
                if let Hop::Memory(domain) = self.hops[*hop] {
                    cross(domain, part.bytes);
                }
            }
        }
    }

    /// λ for the thread on `cpu` that goes at `pace`: the mean over its nodes of the worst on the way to each, at least that of
    /// the way out of the CPU's node.
    pub fn lambda(&self, machine: &Machine, cpu: CpuId, pace: &Pace, out: f64) -> f64 {
        let worst = |part: &Part| {
            let way = &self.ways[cpu.index()][part.node as usize];
            let of_hop = |hop: &usize| {
                let crossing = Pace { bytes: pace.bytes * self.share(cpu, *hop).0, ..*pace };
                self.path(machine, *hop).lambda(self.latency[*hop], &crossing)
            };
            way.iter().filter(|hop| **hop >= self.out).map(of_hop).fold(out, f64::max)
        };
        self.parts[cpu.index()].iter().map(|part| part.time * worst(part)).sum::<f64>().max(1.0)
    }

    /// Shares of bytes and of waiting of the thread on `cpu` that concern a hop.
    fn share(&self, cpu: CpuId, hop: usize) -> (f64, f64) {
        let crossing = self.parts[cpu.index()].iter().filter(|part| self.crosses(cpu, part, hop));
        crossing.fold((0.0, 0.0), |sum, part| (sum.0 + part.bytes, sum.1 + part.time))
    }

    fn crosses(&self, cpu: CpuId, part: &Part, hop: usize) -> bool {
        self.ways[cpu.index()][part.node as usize].contains(&hop)
    }

    /// A link has no contention below saturation of its own: what its use adds is in the latency that was measured.
    fn path(&self, machine: &Machine, hop: usize) -> Path {
        let contention = match self.hops[hop] {
            Hop::Memory(domain) => machine.memory_domains[domain.index()].contention,
            Hop::Link(..) => 0.0,
        };
        Path { bandwidth: machine.hop_bandwidth(self.hops[hop]), contention }
    }

    /// Solves all hops behind those that lead out of nodes, for threads of these kinds; whether threads must be paced anew.
    fn solve(&mut self, machine: &Machine, mut kinds: Vec<Kind>) -> bool {
        for hop in self.out..self.hops.len() {
            self.solve_hop(machine, hop, &mut kinds);
        }
        let mut concerns = false;
        for hop in self.out..self.hops.len() {
            let notable = (self.solved[hop] - self.latency[hop]).abs() > TOLERANCE * self.latency[hop];
            // No contention is no contention: what is left of it must not stay for ever.
            let ended = !self.slows[hop] && self.solved[hop] != self.latency[hop];
            if notable || ended {
                self.latency[hop] = self.solved[hop];
                concerns = true;
            }
        }
        concerns
    }

    /// The threads on `users`, those that are alike together. `out` is λ on the way out of the node.
    fn kinds(
        &self,
        machine: &Machine,
        users: &[CpuId],
        pace: &impl Fn(CpuId) -> Pace,
        out: &impl Fn(CpuId, &Pace) -> f64,
    ) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = Vec::new();
        let node = |cpu: CpuId| machine.cpus[cpu.index()].node;
        for cpu in users.iter().copied() {
            let pace = pace(cpu);
            let out = out(cpu, &pace);
            let alike = |kind: &&mut Kind| {
                kind.pace == pace
                    && kind.out == out
                    && node(kind.cpu) == node(cpu)
                    && self.parts[kind.cpu.index()] == self.parts[cpu.index()]
            };
            match kinds.iter_mut().take(MAX_KINDS).find(alike) {
                Some(kind) => kind.threads += 1,
                None => {
                    let lambdas = vec![out; self.parts[cpu.index()].len()];
                    kinds.push(Kind { cpu, pace, threads: 1, out, lambdas });
                }
            }
        }
        kinds
    }

    /// Solves one hop for all that cross it, each slowed already by the hops before.
    fn solve_hop(&mut self, machine: &Machine, hop: usize, kinds: &mut [Kind]) {
        let path = self.path(machine, hop);
        let flows: Vec<Option<Flow>> = kinds.iter().map(|kind| self.flow(kind, hop)).collect();
        let crossing: Vec<Flow> = flows.iter().flatten().copied().collect();
        self.solved[hop] = path.solve(&crossing, self.solved[hop]);
        self.slows[hop] = false;
        for (kind, flow) in kinds.iter_mut().zip(&flows) {
            let Some(flow) = flow else { continue };
            let lambda = path.lambda(self.solved[hop], &flow.pace);
            self.slows[hop] |= lambda > 1.0;
            for (slowed, part) in kind.lambdas.iter_mut().zip(&self.parts[kind.cpu.index()]) {
                if self.crosses(kind.cpu, part, hop) {
                    *slowed = slowed.max(lambda);
                }
            }
        }
    }

    /// What crosses a hop of threads that are alike; `None` if nothing does.
    fn flow(&self, kind: &Kind, hop: usize) -> Option<Flow> {
        let (bytes, share) = self.share(kind.cpu, hop);
        if share == 0.0 {
            return None;
        }
        let (mut own, mut rest) = (0.0, 0.0);
        for (lambda, part) in kind.lambdas.iter().zip(&self.parts[kind.cpu.index()]) {
            *(if self.crosses(kind.cpu, part, hop) { &mut own } else { &mut rest }) += part.time * lambda;
        }
        let pace = Pace { bytes: kind.pace.bytes * bytes, ..kind.pace };
        Some(Flow { pace, own: own / share, threads: kind.threads, share, rest })
    }
}

/// Threads that are alike: in their pace, and in where they and their memory are.
#[derive(Debug)]
struct Kind {
    /// The CPU of the first of them.
    cpu: CpuId,
    pace: Pace,
    threads: u32,
    /// λ on the way out of the node.
    out: f64,
    /// λ of each part of their memory so far.
    lambdas: Vec<f64>,
}

/// `Some(false)` if the path `domain` leads out of a node, as one of `out`, and its parent does not.
fn outermost(machine: &Machine, out: &[Hop], domain: usize) -> Option<bool> {
    let leads_out = |domain: MemoryDomainId| out.contains(&Hop::Memory(domain));
    let parent = machine.memory_domains[domain].parent;
    (leads_out(MemoryDomainId::at(domain)) && !parent.is_some_and(leads_out)).then_some(false)
}

/// All that traffic crosses, as [`Network::hops`] orders it, and how many of these lead out of a node.
fn hops(machine: &Machine, nodes: &Nodes) -> (Vec<Hop>, usize) {
    let count = nodes.count() as u32;
    // A path that a node's memory is behind, or a path behind that one, is for all; others lead out of a part of a node.
    let for_all =
        |domain: MemoryDomainId| nodes.memory.iter().any(|node| machine.paths_from(*node).any(|id| id == domain));
    // Parents precede their children.
    let domains = (0..machine.memory_domains.len()).rev().map(MemoryDomainId::at);
    let (behind, before): (Vec<_>, Vec<_>) = domains.partition(|domain| for_all(*domain));
    let pairs = (0..count).flat_map(|low| (low + 1..count).map(move |high| (low, high)));
    let limited = pairs.filter(|(low, high)| nodes.links[*low as usize][*high as usize].is_some());
    let links = limited.map(|(low, high)| Hop::Link(low, high));
    let out = before.len();
    (before.into_iter().map(Hop::Memory).chain(links).chain(behind.into_iter().map(Hop::Memory)).collect(), out)
}

fn local(machine: &Machine, cpu: CpuId) -> Vec<Part> {
    vec![Part { node: machine.cpus[cpu.index()].node, bytes: 1.0, time: 1.0 }]
}

/// Where the memory of a thread with this policy is, as shares by node, once the thread has touched it on `cpu`. Nodes that
/// the machine does not have do not count; if no other is named, memory is where it is touched.
pub(super) fn first_touch(nodes: &Nodes, policy: &MemoryPolicy, from: u32) -> Vec<f64> {
    let known = |wanted: &[u32]| wanted.iter().copied().filter(|node| (*node as usize) < nodes.count()).collect();
    let mut pages = vec![0.0; nodes.count()];
    match policy {
        MemoryPolicy::Local => pages[from as usize] = 1.0,
        MemoryPolicy::Bind(wanted) => {
            let known: Vec<u32> = known(wanted);
            pages[nodes.nearest(from, &known) as usize] = 1.0;
        }
        MemoryPolicy::Interleave(wanted) => {
            let mut known: Vec<u32> = known(wanted);
            if known.is_empty() {
                known = (0..nodes.count() as u32).collect();
            }
            known.iter().for_each(|node| pages[*node as usize] = 1.0 / known.len() as f64);
        }
    }
    pages
}

impl Memory {
    /// As [`Memory::solve`], on a machine with nodes: first the ways out of nodes, then what lies behind.
    pub(super) fn solve_network(&mut self, machine: &Machine, pace: &impl Fn(CpuId) -> Pace) -> Vec<CpuId> {
        let users = self.take_users();
        let Some(mut network) = self.network.take() else { return Vec::new() };
        let mut paths = Vec::new();
        for domain in network.take_touched() {
            self.solve_below(machine, domain, &mut Vec::new());
            self.settle(domain, false, &mut paths);
        }
        let mut changed: Vec<CpuId> = paths.iter().flat_map(|path| self.users(*path)).collect();
        let out = |cpu: CpuId, pace: &Pace| self.lambda_out(machine, &network, cpu, pace, |state| state.solved);
        let kinds = network.kinds(machine, &users, pace, &out);
        if network.solve(machine, kinds) {
            changed = users;
        }
        self.network = Some(network);
        changed
    }

    /// λ for a thread on `cpu` that goes at `pace`: of the paths that lead out of its node, which have this latency.
    pub(super) fn lambda_out(
        &self,
        machine: &Machine,
        network: &Network,
        cpu: CpuId,
        pace: &Pace,
        latency: impl Fn(&DomainState) -> f64,
    ) -> f64 {
        let mut lambda = 1.0f64;
        let mut domain = Some(machine.cpus[cpu.index()].memory_domain);
        while let Some(id) = domain.filter(|id| network.leads_out(*id)) {
            let entry = &machine.memory_domains[id.index()];
            lambda = lambda.max(path(entry).lambda(latency(&self.domains[id.index()]), pace));
            domain = entry.parent;
        }
        lambda
    }
}
