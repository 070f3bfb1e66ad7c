// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words for what a loader finds out about the machine. A fact of several numbers is for as many elements of an array.

use crate::machine::{Cpu, Machine, OppTable};

/// A number, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fact {
    One(i128),
    List(Vec<i128>),
}

impl Fact {
    /// The number that it is, if it is one and not negative.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::One(number) => u64::try_from(*number).ok(),
            Self::List(_) => None,
        }
    }
}

fn list(numbers: impl IntoIterator<Item = u64>) -> Fact {
    Fact::List(numbers.into_iter().map(i128::from).collect())
}

fn count_of(numbers: impl Iterator<Item = u64>) -> i128 {
    i128::from(numbers.max().map_or(0, |last| last + 1))
}

/// A fact of the machine.
pub(super) fn of_machine(machine: &Machine, word: &str) -> Option<Fact> {
    let cpus = &machine.cpus;
    let number = match word {
        "nr_cpus" | "possible_cpus" => cpus.len() as i128,
        "nr_nodes" => i128::from(machine.nr_nodes),
        "nr_llcs" => count_of(cpus.iter().map(|cpu| cpu.llc)),
        "nr_packages" => count_of(cpus.iter().map(|cpu| cpu.package)),
        "nr_performance_domains" => count_of(cpus.iter().map(|cpu| cpu.performance_domain)),
        "nr_opp_tables" => machine.opp_tables.len() as i128,
        "smt" => i128::from(cpus.iter().any(|cpu| cpu.sibling.is_some())),
        "numa" => i128::from(machine.nr_nodes > 1),
        "uniform" => i128::from(machine.nr_nodes == 1),
        "same_capacity" => i128::from(cpus.windows(2).all(|pair| pair[0].capacity == pair[1].capacity)),
        "smallest_cpu" => machine.cpus_by_capacity().last().copied().map_or(0, i128::from),
        // No file of the kernel has them: 0 is for unknown.
        "memory_bandwidth" | "idle_power" => 0,
        "cpuperf" => i128::from(machine.cpuperf),
        "total_capacity" => cpus.iter().map(|cpu| i128::from(cpu.capacity)).sum(),
        "capacities" => return Some(list(cpus.iter().map(|cpu| cpu.capacity))),
        "cpus_by_capacity" => return Some(list(machine.cpus_by_capacity())),
        "nodes" => return Some(list(cpus.iter().map(|cpu| cpu.node))),
        _ => return None,
    };
    Some(Fact::One(number))
}

/// A fact of the CPU `number`.
pub(super) fn of_cpu(cpu: &Cpu, number: usize, word: &str) -> Option<Fact> {
    let fact = match word {
        "number" => number as u64,
        "online" => u64::from(cpu.online),
        "node" => cpu.node,
        "package" => cpu.package,
        "llc" => cpu.llc,
        "core" => cpu.core,
        // As a loader has it that takes a 32-bit -1 for none.
        "sibling" => cpu.sibling.unwrap_or(u64::from(u32::MAX)),
        "capacity" => cpu.capacity,
        "performance" => cpu.performance,
        "performance_domain" => cpu.performance_domain,
        "opp_table" => cpu.opp_table,
        _ => return None,
    };
    Some(Fact::One(i128::from(fact)))
}

/// A fact of a table of operating points.
pub(super) fn of_opp_table(table: &OppTable, word: &str) -> Option<Fact> {
    Some(match word {
        "nr_opps" => Fact::One(table.frequency.len() as i128),
        "frequency" => list(table.frequency.iter().copied()),
        "performance" => list(table.performance.iter().copied()),
        "power" => list(table.power.iter().copied()),
        // The kernel's energy model has no such thing: 0 is for unknown.
        "static_power" => list(table.frequency.iter().map(|_| 0)),
        _ => return None,
    })
}
