// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader finds out about the system that it loads a scheduler into.
//!
//! [`Facts`] is what a system has to say of itself: the running kernel's [`Machine`] says it, and so does a simulated one.
//! All other facts follow from these: sums and orders of CPUs, compute domains (`domains`), orders by an energy model
//! (`energy_order`). [`Word`] (`words`) names every fact that a loader's file can ask for, and [`System`] answers.

mod domains;
mod energy_order;
#[cfg(test)]
mod tests;
mod words;

use std::sync::OnceLock;

use crate::machine::{Cpu, Machine, OppTable};
use domains::{Domain, Extremes};
use energy_order::CpuOrder;
pub use words::{Shape, Subject, Word};

/// No CPU, where a loader has the number of one: -1 in 32 bits.
const NO_CPU: u64 = u32::MAX as u64;

/// A performance domain of the kernel's energy model, as `/sys/kernel/debug/energy_model` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnergyDomain {
    /// CPUs of the domain by number, ascending.
    pub cpus: Vec<usize>,
    /// Its states, ascending: capacity of a CPU, 1..=1024, and power of a busy one, in any unit that all domains share.
    pub states: Vec<(u64, u64)>,
}

/// A system that schedulers are loaded into.
pub trait Facts {
    /// The CPUs by number, offline ones included.
    fn cpus(&self) -> Vec<Cpu>;
    /// The different tables of operating points, which [`Cpu::opp_table`] counts.
    fn opp_tables(&self) -> Vec<OppTable>;
    /// The kernel's energy model, by performance domain; empty: there is none.
    fn energy_model(&self) -> Vec<EnergyDomain>;
    /// Number of NUMA nodes, at least 1.
    fn nr_nodes(&self) -> u64;
    /// Whether a clock follows what schedulers ask for (`scx_bpf_cpuperf_set`).
    fn cpuperf(&self) -> bool;
    /// MB/s of the path to memory that the most CPUs share, of several the narrowest; `None`: unknown.
    fn memory_bandwidth(&self) -> Option<u64>;
    /// Milliwatts that the machine draws with all CPUs in their deepest idle states, without what awake clusters add;
    /// `None`: unknown.
    fn idle_power(&self) -> Option<u64>;
    /// Milliwatts that a package draws more while one of its CPUs is busy than while all sleep, without what CPUs and their
    /// clusters draw; of several the most. `None`: unknown.
    fn package_power(&self) -> Option<u64>;
}

impl Facts for Machine {
    fn cpus(&self) -> Vec<Cpu> {
        self.cpus.clone()
    }

    fn opp_tables(&self) -> Vec<OppTable> {
        self.opp_tables.clone()
    }

    /// What the tables of operating points have of it, in milliwatts.
    fn energy_model(&self) -> Vec<EnergyDomain> {
        let mut model: Vec<(u64, EnergyDomain)> = Vec::new();
        for (number, cpu) in self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.online) {
            if let Some((_, domain)) = model.iter_mut().find(|(id, _)| *id == cpu.performance_domain) {
                domain.cpus.push(number);
                continue;
            }
            let Some(table) = self.opp_tables.get(cpu.opp_table as usize) else { return Vec::new() };
            let states: Vec<(u64, u64)> = table.performance.iter().copied().zip(table.power.iter().copied()).collect();
            if states.is_empty() || states.iter().any(|(_, power)| *power == 0) {
                return Vec::new();
            }
            model.push((cpu.performance_domain, EnergyDomain { cpus: vec![number], states }));
        }
        model.into_iter().map(|(_, domain)| domain).collect()
    }

    fn nr_nodes(&self) -> u64 {
        self.nr_nodes
    }

    fn cpuperf(&self) -> bool {
        self.cpuperf
    }

    /// No file of the kernel has it.
    fn memory_bandwidth(&self) -> Option<u64> {
        None
    }

    /// No file of the kernel has it.
    fn idle_power(&self) -> Option<u64> {
        None
    }

    /// No file of the kernel has it.
    fn package_power(&self) -> Option<u64> {
        None
    }
}

/// A fact: a number (truths are 0 or 1), or a list of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// One number.
    One(u64),
    /// Several, for as many elements of an array.
    List(Vec<u64>),
}

impl Fact {
    /// The numbers of a fact: one of a number.
    pub fn numbers(&self) -> &[u64] {
        match self {
            Self::One(number) => std::slice::from_ref(number),
            Self::List(numbers) => numbers,
        }
    }

    fn flag(truth: bool) -> Self {
        Self::One(u64::from(truth))
    }
}

/// A system's facts, with all that follows from them.
#[derive(Debug, Clone)]
pub struct System {
    cpus: Vec<Cpu>,
    opp_tables: Vec<OppTable>,
    energy_model: Vec<EnergyDomain>,
    /// Found when they are asked for: most loaders never do.
    cpu_orders: OnceLock<Vec<CpuOrder>>,
    nr_nodes: u64,
    cpuperf: bool,
    memory_bandwidth: u64,
    idle_power: u64,
    package_power: u64,
    /// Found once: what is asked of each CPU must not look at all others again.
    capacities: Extremes,
    /// By CPU: its number among those of its core that are online.
    threads: Vec<usize>,
    /// In the order of the first CPU of each in [`System::cpus_by_performance`].
    domains: Vec<Domain>,
}

impl System {
    /// What is to be known of a system.
    pub fn of(facts: &dyn Facts) -> Self {
        let cpus = facts.cpus();
        let mut system = Self {
            capacities: Extremes::of(&cpus),
            threads: domains::threads(&cpus),
            cpus,
            opp_tables: facts.opp_tables(),
            energy_model: facts.energy_model(),
            cpu_orders: OnceLock::new(),
            nr_nodes: facts.nr_nodes(),
            cpuperf: facts.cpuperf(),
            memory_bandwidth: facts.memory_bandwidth().unwrap_or(0),
            idle_power: facts.idle_power().unwrap_or(0),
            package_power: facts.package_power().unwrap_or(0),
            domains: Vec::new(),
        };
        system.domains = system.find_domains();
        system
    }

    /// How many things there are of a kind: CPUs, domains, tables; of the machine one.
    pub fn count(&self, subject: Subject) -> usize {
        match subject {
            Subject::Machine => 1,
            Subject::Cpu => self.cpus.len(),
            Subject::Domain => self.domains.len(),
            Subject::OppTable => self.opp_tables.len(),
            Subject::Llc => self.nr_llcs(),
            Subject::Node => self.nr_nodes as usize,
            Subject::CpuOrder => energy_order::ROOM,
        }
    }

    /// A fact of the machine, or of the CPU, domain or table `number`; `None`: there is none of this number.
    pub fn fact(&self, word: Word, number: usize) -> Option<Fact> {
        match word.subject() {
            Subject::Machine => self.of_machine(word.name()),
            Subject::Cpu => Self::of_cpu(self, number, word.name()).map(Fact::One),
            Subject::Domain => self.of_domain(number, word.name()),
            Subject::OppTable => self.of_opp_table(number, word.name()),
            Subject::Llc => self.of_llc(number, word.name()),
            Subject::Node => self.of_node(number, word.name()),
            Subject::CpuOrder => self.of_cpu_order(number, word.name()),
        }
    }

    /// A fact of all CPUs, domains or tables, in their order, or of the machine. Lists follow each other.
    pub fn all(&self, word: Word) -> Vec<u64> {
        let facts = (0..self.count(word.subject())).filter_map(|number| self.fact(word, number));
        facts.flat_map(|fact| fact.numbers().to_vec()).collect()
    }

    /// Whether a truth about the machine holds.
    pub fn holds(&self, word: Word) -> bool {
        self.fact(word, 0) == Some(Fact::One(1))
    }

    /// Whether a core has more than one CPU that is online.
    fn smt(&self) -> bool {
        self.cpus.iter().any(|cpu| cpu.online && cpu.sibling.is_some())
    }

    fn of_machine(&self, name: &str) -> Option<Fact> {
        self.truth(name).map(Fact::flag).or_else(|| self.number_or_list(name))
    }

    fn truth(&self, name: &str) -> Option<bool> {
        Some(match name {
            "smt" => self.smt(),
            "numa" => self.nr_nodes > 1,
            "uniform" => self.nr_nodes == 1,
            "same_capacity" => self.cpus.windows(2).all(|pair| pair[0].capacity == pair[1].capacity),
            "hybrid" => self.has_little(),
            "cpuperf" => self.cpuperf,
            "energy_model" => !self.energy_model.is_empty(),
            _ => return None,
        })
    }

    fn number_or_list(&self, name: &str) -> Option<Fact> {
        let different = |key: fn(&Cpu) -> u64| {
            let mut keys: Vec<u64> = self.cpus.iter().map(key).collect();
            keys.sort_unstable();
            keys.dedup();
            Fact::One(keys.len() as u64)
        };
        let list = |cpus: Vec<usize>| Fact::List(cpus.into_iter().map(|cpu| cpu as u64).collect());
        Some(match name {
            "nr_cpus" => Fact::One(self.cpus.len() as u64),
            "nr_nodes" => Fact::One(self.nr_nodes),
            "nr_packages" => different(|cpu| cpu.package),
            "nr_llcs" => different(|cpu| cpu.llc),
            "nr_performance_domains" => different(|cpu| cpu.performance_domain),
            "nr_opp_tables" => Fact::One(self.opp_tables.len() as u64),
            "nr_cpu_orders" => Fact::One(self.cpu_orders().len() as u64),
            "smallest_cpu" => Fact::One(self.cpus_by_capacity().last().map_or(0, |cpu| *cpu as u64)),
            "total_capacity" => Fact::One(self.cpus.iter().map(|cpu| cpu.capacity).sum()),
            "efficient_capacity" => {
                Fact::One(self.cpus_by_efficiency().first().map_or(0, |cpu| self.cpus[*cpu].capacity))
            }
            "memory_bandwidth" => Fact::One(self.memory_bandwidth),
            "idle_power" => Fact::One(self.idle_power),
            "package_power" => Fact::One(self.package_power),
            "online_mask" => self.mask(|cpu| cpu.online),
            "cpus_by_capacity" => list(self.cpus_by_capacity()),
            "cpus_by_performance" => list(self.cpus_by_performance()),
            "cpus_by_efficiency" => list(self.cpus_by_efficiency()),
            _ => return None,
        })
    }

    fn of_cpu(&self, number: usize, name: &str) -> Option<u64> {
        let cpu = self.cpus.get(number)?;
        Some(match name {
            "number" => number as u64,
            "online" => u64::from(cpu.online),
            "node" => cpu.node,
            "package" => cpu.package,
            "llc" => cpu.llc,
            "core" => cpu.core,
            "sibling" => cpu.sibling.unwrap_or(NO_CPU),
            "performance_domain" => cpu.performance_domain,
            "opp_table" => cpu.opp_table,
            "capacity" => cpu.capacity,
            "performance" => cpu.performance,
            "big" => u64::from(self.is_big(number)),
            "turbo" => u64::from(self.is_turbo(number)),
            _ => return None,
        })
    }

    fn nr_llcs(&self) -> usize {
        self.cpus.iter().map(|cpu| cpu.llc as usize + 1).max().unwrap_or(0)
    }

    /// A list: the CPUs for which something holds, as 64-bit words.
    fn mask(&self, holds: impl Fn(&Cpu) -> bool) -> Fact {
        let mut words = vec![0_u64; self.cpus.len().div_ceil(64)];
        let cpus = self.cpus.iter().enumerate().filter(|(_, cpu)| holds(cpu));
        cpus.for_each(|(number, _)| words[number / 64] |= 1 << (number % 64));
        Fact::List(words)
    }

    fn of_llc(&self, number: usize, name: &str) -> Option<Fact> {
        let of = |cpu: &Cpu| cpu.llc == number as u64;
        let first = self.cpus.iter().find(|cpu| of(cpu))?;
        Some(match name {
            "number" => Fact::One(number as u64),
            "node" => Fact::One(first.node),
            "mask" => self.mask(of),
            _ => return None,
        })
    }

    fn of_node(&self, number: usize, name: &str) -> Option<Fact> {
        Some(match name {
            _ if number as u64 >= self.nr_nodes => return None,
            "number" => Fact::One(number as u64),
            "mask" => self.mask(|cpu| cpu.node == number as u64),
            _ => return None,
        })
    }

    fn of_opp_table(&self, number: usize, name: &str) -> Option<Fact> {
        let table = self.opp_tables.get(number)?;
        Some(match name {
            "nr_opps" => Fact::One(table.frequency.len() as u64),
            "frequency" => Fact::List(table.frequency.clone()),
            "performance" => Fact::List(table.performance.clone()),
            "power" => Fact::List(table.power.clone()),
            "busy_power" => Fact::List(table.busy_power.clone()),
            "static_power" => Fact::List(table.static_power.clone()),
            "nr_idle_states" => Fact::One(table.idle_power.len() as u64),
            "idle_power" => Fact::List(table.idle_power.clone()),
            "idle_residency" => Fact::List(table.idle_residency.clone()),
            _ => return None,
        })
    }
}
