// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loader programs find out about the machine and hand to their objects.

use super::opps::OppTables;
use crate::kernel::Kernel;
use crate::kernel::cpufreq::Governor;
use crate::machine::{Machine, MemoryDomain};
use crate::scx::idle::nr_nodes;
use crate::units::{CpuId, MemoryDomainId};

/// Where a loader runs: what it reads of the system in sysfs and `/proc`.
#[derive(Debug, Clone, Copy)]
pub struct System<'s> {
    /// The kernel.
    pub kernel: &'s Kernel,
    /// The machine under it.
    pub machine: &'s Machine,
    /// What chooses clocks (`scaling_governor`).
    pub governor: Governor,
}

/// A number or a truth about the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// Number of CPUs, offline ones included.
    NrCpus,
    /// Number of NUMA nodes.
    NrNodes,
    /// Whether a core has more than one CPU.
    Smt,
    /// Whether there is more than one NUMA node.
    Numa,
    /// Whether there is but one.
    Uniform,
    /// Whether all CPUs have the same capacity.
    SameCapacity,
    /// The last of [`Table::CpusByCapacity`].
    SmallestCpu,
    /// Number of last-level caches.
    NrLlcs,
    /// Number of packages.
    NrPackages,
    /// Number of sets of CPUs that share a clock.
    NrPerformanceDomains,
    /// Number of different tables of operating points.
    NrOppTables,
    /// MB/s of the path to memory that the most CPUs share; of several the narrowest.
    MemoryBandwidth,
    /// Milliwatts that the machine draws with all CPUs in their deepest idle states, without what awake clusters add.
    IdlePower,
    /// Whether the governor follows what a scheduler wants of a CPU (`scx_bpf_cpuperf_set`).
    Cpuperf,
}

/// Something for each CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// By CPU: its capacity, 1024 being the biggest CPU's.
    Capacities,
    /// CPUs from the biggest to the smallest; equals in their order.
    CpusByCapacity,
    /// By CPU: its NUMA node.
    Nodes,
}

/// An argument of a `syscall` program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// This number.
    Number(i32),
    /// A fact.
    Fact(Fact),
    /// The CPU that this call is for: there is one call for each.
    Cpu,
    /// Another CPU of that CPU's core, -1 if it has none; on a machine without SMT there is no call at all.
    Sibling,
}

impl Fact {
    /// The words for the facts.
    pub const WORDS: &[(&str, Self)] = &[
        ("nr_cpus", Self::NrCpus),
        ("possible_cpus", Self::NrCpus),
        ("nr_nodes", Self::NrNodes),
        ("smt", Self::Smt),
        ("numa", Self::Numa),
        ("uniform", Self::Uniform),
        ("same_capacity", Self::SameCapacity),
        ("smallest_cpu", Self::SmallestCpu),
        ("nr_llcs", Self::NrLlcs),
        ("nr_packages", Self::NrPackages),
        ("nr_performance_domains", Self::NrPerformanceDomains),
        ("nr_opp_tables", Self::NrOppTables),
        ("memory_bandwidth", Self::MemoryBandwidth),
        ("idle_power", Self::IdlePower),
        ("cpuperf", Self::Cpuperf),
    ];

    /// The fact that `word` stands for.
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, fact)| *fact)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }

    /// Whether it is a truth.
    pub fn is_truth(self) -> bool {
        matches!(self, Self::Smt | Self::Numa | Self::Uniform | Self::SameCapacity | Self::Cpuperf)
    }

    /// What it is on this system; truths are 0 or 1.
    pub fn number(self, system: &System<'_>) -> u32 {
        let topology = &system.kernel.topology;
        match self {
            Self::NrCpus => topology.nr_cpus as u32,
            Self::NrNodes => nr_nodes(topology) as u32,
            Self::NrLlcs => topology.llcs.len() as u32,
            Self::NrPackages => system.machine.packages.len() as u32,
            Self::NrPerformanceDomains => system.machine.performance_domains.len() as u32,
            Self::NrOppTables => OppTables::of(system).count() as u32,
            Self::MemoryBandwidth => memory_bandwidth(system.machine),
            Self::IdlePower => (idle_watts(system.machine) * 1e3).round() as u32,
            Self::Smt => u32::from(topology.smt_active),
            Self::Numa => u32::from(nr_nodes(topology) > 1),
            Self::Uniform => u32::from(nr_nodes(topology) == 1),
            Self::SameCapacity => {
                let capacities = Table::Capacities.numbers(system);
                u32::from(capacities.windows(2).all(|pair| pair[0] == pair[1]))
            }
            Self::SmallestCpu => Table::CpusByCapacity.numbers(system).last().copied().unwrap_or(0),
            Self::Cpuperf => u32::from(follows_cpuperf(system)),
        }
    }

    /// The same as text, as a setting takes it.
    pub fn text(self, system: &System<'_>) -> String {
        let number = self.number(system);
        if self.is_truth() { (number != 0).to_string() } else { number.to_string() }
    }
}

/// Of the governors only schedutil asks a scheduler, and only where there is a clock to change.
fn follows_cpuperf(system: &System<'_>) -> bool {
    let is_online = |cpu: &CpuId| system.kernel.topology.online.test(*cpu);
    let mut domains = system.machine.performance_domains.iter();
    matches!(system.governor, Governor::Schedutil(_))
        && domains.any(|domain| domain.scalable && domain.cpus.iter().any(is_online))
}

/// [`Fact::MemoryBandwidth`]. No file of the kernel has it: a loader measures it, or is told.
fn memory_bandwidth(machine: &Machine) -> u32 {
    let domains = &machine.memory_domains;
    let crosses = |mut at: MemoryDomainId, path: usize| loop {
        match domains[at.index()].parent {
            _ if at.index() == path => return true,
            Some(parent) => at = parent,
            None => return false,
        }
    };
    let cpus = |path: usize| machine.cpus.iter().filter(|cpu| crosses(cpu.memory_domain, path)).count();
    let widest = (0..domains.len()).map(cpus).max().unwrap_or(0);
    let shared = domains.iter().enumerate().filter(|(path, _)| cpus(*path) == widest);
    let narrowest = shared.map(|(_, domain): (_, &MemoryDomain)| domain.bytes_per_s).min_by(f64::total_cmp);
    narrowest.map_or(0, |bytes_per_s| (bytes_per_s / 1e6).round() as u32)
}

/// [`Fact::IdlePower`] in watts, behind the power supply. A loader measures it, or is told.
fn idle_watts(machine: &Machine) -> f64 {
    let cores = machine.clusters.iter().map(|cluster| {
        let deepest = cluster.idle_states.last().map_or(0.0, |state| state.watts);
        deepest * cluster.cores.len() as f64
    });
    let uncore = machine.packages.iter().map(|package| package.uncore_idle_watts);
    let memory = machine.memory_domains.iter().map(|domain| domain.static_watts);
    machine.platform.watts + cores.chain(uncore).chain(memory).sum::<f64>()
}

impl Table {
    /// The words for the tables.
    pub const WORDS: &[(&str, Self)] =
        &[("capacities", Self::Capacities), ("cpus_by_capacity", Self::CpusByCapacity), ("nodes", Self::Nodes)];

    /// The table that `word` stands for.
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, table)| *table)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }

    /// What it has on this system, as many numbers as there are CPUs.
    pub fn numbers(self, system: &System<'_>) -> Vec<u32> {
        let kernel = system.kernel;
        let cpus = (0..kernel.topology.nr_cpus).map(CpuId::at);
        let capacity = |cpu: CpuId| kernel.rq(cpu).capacity_orig;
        match self {
            Self::Capacities => cpus.map(capacity).collect(),
            Self::Nodes => cpus.map(|cpu| kernel.topology.node_of(cpu) as u32).collect(),
            Self::CpusByCapacity => {
                let mut sorted: Vec<CpuId> = cpus.collect();
                sorted.sort_by_key(|cpu| std::cmp::Reverse(capacity(*cpu)));
                sorted.into_iter().map(|cpu| cpu.0).collect()
            }
        }
    }
}

/// The calls that one line of arguments stands for.
pub fn calls(arguments: &[Argument], system: &System<'_>) -> Vec<Vec<i32>> {
    let kernel = system.kernel;
    let sibling = arguments.contains(&Argument::Sibling);
    if sibling && !kernel.topology.smt_active {
        return Vec::new();
    }
    let last = if sibling || arguments.contains(&Argument::Cpu) { kernel.topology.nr_cpus } else { 1 };
    let value = |argument: &Argument, cpu: CpuId| match argument {
        Argument::Number(number) => *number,
        Argument::Fact(fact) => fact.number(system) as i32,
        Argument::Cpu => cpu.0 as i32,
        Argument::Sibling => {
            let siblings = &kernel.topology.smt[cpu.index()];
            siblings.iter().find(|sibling| **sibling != cpu).map_or(-1, |sibling| sibling.0 as i32)
        }
    };
    (0..last).map(|cpu| arguments.iter().map(|argument| value(argument, CpuId::at(cpu))).collect()).collect()
}
