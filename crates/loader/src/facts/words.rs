// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words that loaders' files have for facts. `docs/schedulers.md` explains them.

use std::fmt;

/// Whose a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The machine's.
    Machine,
    /// A CPU's.
    Cpu,
    /// A compute domain's: the CPUs of one kind that share a last-level cache.
    Domain,
    /// A table of operating points: what one kind of CPU has for clocks.
    OppTable,
    /// A last-level cache's.
    Llc,
    /// A NUMA node's.
    Node,
    /// An order in which to use CPUs up to some load.
    CpuOrder,
}

impl Subject {
    /// All subjects.
    pub const ALL: [Self; 7] =
        [Self::Machine, Self::Cpu, Self::Domain, Self::OppTable, Self::Llc, Self::Node, Self::CpuOrder];
    /// The subjects of which a machine has several.
    pub const SEVERAL: [Self; 6] = [Self::Cpu, Self::Domain, Self::OppTable, Self::Llc, Self::Node, Self::CpuOrder];

    /// What stands before the `.` of its facts: `cpu`; empty for the machine.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Machine => "",
            Self::Cpu => "cpu",
            Self::Domain => "domain",
            Self::OppTable => "opp_table",
            Self::Llc => "llc",
            Self::Node => "node",
            Self::CpuOrder => "cpu_order",
        }
    }

    /// What stands for its number in the name of a variable: `{cpu}`.
    pub fn placeholder(self) -> String {
        format!("{{{}}}", self.prefix())
    }

    /// The names of its facts.
    fn facts(self) -> &'static [(&'static str, Shape)] {
        match self {
            Self::Machine => MACHINE,
            Self::Cpu => CPU,
            Self::Domain => DOMAIN,
            Self::OppTable => OPP_TABLE,
            Self::Llc => LLC,
            Self::Node => NODE,
            Self::CpuOrder => CPU_ORDER,
        }
    }
}

/// How a fact looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Number,
    /// True or not: 1 or 0.
    Truth,
    /// A list of numbers.
    List,
}

use Shape::{List, Number, Truth};

const MACHINE: &[(&str, Shape)] = &[
    ("nr_cpus", Number),
    ("nr_nodes", Number),
    ("nr_packages", Number),
    ("nr_llcs", Number),
    ("nr_performance_domains", Number),
    ("nr_opp_tables", Number),
    ("nr_cpu_orders", Number),
    ("smallest_cpu", Number),
    ("total_capacity", Number),
    ("efficient_capacity", Number),
    ("memory_bandwidth", Number),
    ("idle_power", Number),
    ("package_power", Number),
    ("smt", Truth),
    ("numa", Truth),
    ("uniform", Truth),
    ("same_capacity", Truth),
    ("hybrid", Truth),
    ("cpuperf", Truth),
    ("energy_model", Truth),
    ("online_mask", List),
    ("cpus_by_capacity", List),
    ("cpus_by_performance", List),
    ("cpus_by_efficiency", List),
];

const CPU: &[(&str, Shape)] = &[
    ("number", Number),
    ("online", Truth),
    ("node", Number),
    ("package", Number),
    ("llc", Number),
    ("core", Number),
    ("sibling", Number),
    ("performance_domain", Number),
    ("opp_table", Number),
    ("capacity", Number),
    ("performance", Number),
    ("big", Truth),
    ("turbo", Truth),
];

const DOMAIN: &[(&str, Shape)] = &[
    ("number", Number),
    ("node", Number),
    ("llc", Number),
    ("big", Truth),
    ("alternative", Number),
    ("mask", List),
    ("neighbour_counts", List),
    ("neighbours_0", List),
    ("neighbours_1", List),
    ("neighbours_2", List),
];

const OPP_TABLE: &[(&str, Shape)] = &[
    ("nr_opps", Number),
    ("frequency", List),
    ("performance", List),
    ("power", List),
    ("busy_power", List),
    ("static_power", List),
    ("nr_idle_states", Number),
    ("idle_power", List),
    ("idle_residency", List),
];

const LLC: &[(&str, Shape)] = &[("number", Number), ("node", Number), ("mask", List)];

const NODE: &[(&str, Shape)] = &[("number", Number), ("mask", List)];

const CPU_ORDER: &[(&str, Shape)] = &[("capacity", Number), ("nr_primary", Number), ("cpus", List)];

/// A word for a fact: `nr_cpus` of the machine, `cpu.capacity` of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    subject: Subject,
    name: &'static str,
    shape: Shape,
}

impl Word {
    /// The fact that `text` stands for.
    pub fn of(text: &str) -> Option<Self> {
        Self::all().find(|word| word.is(text))
    }

    /// All words there are.
    pub fn all() -> impl Iterator<Item = Self> {
        let of =
            |subject: Subject| subject.facts().iter().map(move |(name, shape)| Self { subject, name, shape: *shape });
        Subject::ALL.into_iter().flat_map(of)
    }

    /// Whose fact it is.
    pub fn subject(self) -> Subject {
        self.subject
    }

    /// Its name among the facts of its subject: `capacity` of `cpu.capacity`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// How the fact looks.
    pub fn shape(self) -> Shape {
        self.shape
    }

    fn is(self, text: &str) -> bool {
        match self.subject {
            Subject::Machine => self.name == text,
            subject => text.split_once('.') == Some((subject.prefix(), self.name)),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Subject::Machine => f.write_str(self.name),
            subject => write!(f, "{}.{}", subject.prefix(), self.name),
        }
    }
}
