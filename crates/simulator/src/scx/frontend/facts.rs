// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loader programs find out about the machine and hand to their objects.

use crate::kernel::Kernel;
use crate::scx::idle::nr_nodes;
use crate::units::CpuId;

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
    ];

    /// The fact that `word` stands for.
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, fact)| *fact)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }

    /// What it is on this machine; truths are 0 or 1.
    pub fn number(self, kernel: &Kernel) -> u32 {
        let topology = &kernel.topology;
        match self {
            Self::NrCpus => topology.nr_cpus as u32,
            Self::NrNodes => nr_nodes(topology) as u32,
            Self::Smt => u32::from(topology.smt_active),
            Self::Numa => u32::from(nr_nodes(topology) > 1),
            Self::Uniform => u32::from(nr_nodes(topology) == 1),
            Self::SameCapacity => {
                let capacities = Table::Capacities.numbers(kernel);
                u32::from(capacities.windows(2).all(|pair| pair[0] == pair[1]))
            }
            Self::SmallestCpu => Table::CpusByCapacity.numbers(kernel).last().copied().unwrap_or(0),
        }
    }

    /// The same as text, as a setting takes it.
    pub fn text(self, kernel: &Kernel) -> String {
        let number = self.number(kernel);
        match self {
            Self::Smt | Self::Numa | Self::Uniform | Self::SameCapacity => (number != 0).to_string(),
            Self::NrCpus | Self::NrNodes | Self::SmallestCpu => number.to_string(),
        }
    }
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

    /// What it has on this machine, as many numbers as there are CPUs.
    pub fn numbers(self, kernel: &Kernel) -> Vec<u32> {
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
pub fn calls(arguments: &[Argument], kernel: &Kernel) -> Vec<Vec<i32>> {
    let sibling = arguments.contains(&Argument::Sibling);
    if sibling && !kernel.topology.smt_active {
        return Vec::new();
    }
    let last = if sibling || arguments.contains(&Argument::Cpu) { kernel.topology.nr_cpus } else { 1 };
    let value = |argument: &Argument, cpu: CpuId| match argument {
        Argument::Number(number) => *number,
        Argument::Fact(fact) => fact.number(kernel) as i32,
        Argument::Cpu => cpu.0 as i32,
        Argument::Sibling => {
            let siblings = &kernel.topology.smt[cpu.index()];
            siblings.iter().find(|sibling| **sibling != cpu).map_or(-1, |sibling| sibling.0 as i32)
        }
    };
    (0..last).map(|cpu| arguments.iter().map(|argument| value(argument, CpuId::at(cpu))).collect()).collect()
}
