// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loaders find out about kinds of CPUs: which are big and which little, in which order to use them, and compute
//! domains: the CPUs of one last-level cache that are of one kind. After the crates scx_utils (`topology.rs`) and scx_lavd
//! (`cpu_order.rs`).
//!
//! Left out: sizes of caches, by which loaders order CPUs of equal capacity; and orders from an energy model, for which
//! scx_lavd tries all combinations of performance domains and states (`--no-use-em` turns that off).

use std::cmp::Reverse;

use super::facts::{Fact, System, Table};
use super::opps::OppTables;
use crate::kernel::Kernel;
use crate::machine::{self, Machine};
use crate::units::CpuId;

/// What a loader says of a kind of thing, once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Each {
    /// The machine, once.
    Machine,
    /// The machine, if it has big and little CPUs; else never.
    Hybrid,
    /// CPUs.
    Cpu,
    /// Compute domains.
    Domain,
    /// Different tables of operating points.
    OppTable,
}

impl Each {
    /// The words for them.
    pub const WORDS: [&str; 5] = ["machine", "hybrid", "cpu", "domain", "opp_table"];

    /// What `word` stands for.
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Machine, Self::Hybrid, Self::Cpu, Self::Domain, Self::OppTable];
        Self::WORDS.iter().position(|known| *known == word).map(|at| all[at])
    }

    /// What can be said of one of them.
    pub fn facts(self) -> Vec<&'static str> {
        let words = match self {
            Self::Machine | Self::Hybrid => {
                let everywhere =
                    Fact::WORDS.iter().map(|(word, _)| *word).chain(Table::WORDS.iter().map(|(word, _)| *word));
                return everywhere.chain(MACHINE_FACTS.iter().copied()).collect();
            }
            Self::Cpu => CPU_FACTS,
            Self::Domain => DOMAIN_FACTS,
            Self::OppTable => OPP_TABLE_FACTS,
        };
        words.to_vec()
    }
}

/// Facts of a machine beside those that `[set]` has, too: sums, orders of CPUs, and the capacity of the first CPU in order of
/// efficiency.
const MACHINE_FACTS: &[&str] = &["total_capacity", "cpus_by_performance", "cpus_by_efficiency", "efficient_capacity"];
/// Facts of a CPU. `performance` is its capacity at the highest clock that limits allow, `core` the lowest CPU of its core.
const CPU_FACTS: &[&str] = &[
    "number",
    "online",
    "node",
    "package",
    "llc",
    "core",
    "sibling",
    "capacity",
    "performance",
    "performance_domain",
    "opp_table",
    "big",
    "turbo",
];
/// Facts of a table of operating points: their number, and for each its clock in kHz, the capacity of a CPU and its milliwatts.
const OPP_TABLE_FACTS: &[&str] = &["nr_opps", "frequency", "performance", "power", "static_power"];
/// Facts of a domain: neighbours are grouped by distance.
const DOMAIN_FACTS: &[&str] = &[
    "number",
    "node",
    "llc",
    "big",
    "alternative",
    "mask",
    "neighbour_counts",
    "neighbours_0",
    "neighbours_1",
    "neighbours_2",
];

/// A compute domain.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Domain {
    node: usize,
    llc: usize,
    big: bool,
    cpus: Vec<CpuId>,
}

/// The CPUs of a machine as loaders see them.
#[derive(Debug)]
pub struct Cpus<'k> {
    system: System<'k>,
    kernel: &'k Kernel,
    opps: OppTables,
    /// In order of the first CPU in [`Cpus::by_performance`].
    domains: Vec<Domain>,
}

impl<'k> Cpus<'k> {
    /// The CPUs of this system.
    pub fn of(system: &System<'k>) -> Self {
        let mut cpus =
            Self { system: *system, kernel: system.kernel, opps: OppTables::of(system), domains: Vec::new() };
        for cpu in cpus.by_performance() {
            let place = (cpus.node(cpu), cpus.llc(cpu), cpus.is_big(cpu));
            match cpus.domains.iter_mut().find(|domain| (domain.node, domain.llc, domain.big) == place) {
                Some(domain) => domain.cpus.push(cpu),
                None => cpus.domains.push(Domain { node: place.0, llc: place.1, big: place.2, cpus: vec![cpu] }),
            }
        }
        cpus
    }

    fn all(&self) -> Vec<CpuId> {
        (0..self.kernel.topology.nr_cpus).map(CpuId::at).collect()
    }

    fn node(&self, cpu: CpuId) -> usize {
        self.kernel.topology.node_of(cpu)
    }

    fn llc(&self, cpu: CpuId) -> usize {
        self.kernel.topology.llc_of[cpu.index()] as usize
    }

    fn capacity(&self, cpu: CpuId) -> u64 {
        u64::from(self.kernel.rq(cpu).capacity_orig)
    }

    /// Number of a CPU among those of its core.
    fn thread(&self, cpu: CpuId) -> usize {
        self.kernel.topology.smt[cpu.index()].iter().position(|sibling| *sibling == cpu).unwrap_or(0)
    }

    fn package(&self, cpu: &machine::Cpu) -> u64 {
        let Machine { cores, clusters, .. } = self.system.machine;
        u64::from(clusters[cores[cpu.core.index()].cluster.index()].package.0)
    }

    fn core(&self, cpu: CpuId) -> CpuId {
        self.kernel.topology.smt[cpu.index()].first().copied().unwrap_or(cpu)
    }

    fn extremes(&self) -> (u64, u64, u64) {
        let all: Vec<u64> = self.all().into_iter().map(|cpu| self.capacity(cpu)).collect();
        let (least, most) = (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0));
        (least, all.iter().sum::<u64>() / all.len().max(1) as u64, most)
    }

    /// Whether the machine has CPUs that count as little: the biggest has 1.3 times the capacity of the smallest.
    pub fn has_little(&self) -> bool {
        let (least, _, most) = self.extremes();
        10 * most >= 13 * least
    }

    fn is_big(&self, cpu: CpuId) -> bool {
        let (_, average, _) = self.extremes();
        !self.has_little() || self.capacity(cpu) >= average
    }

    /// Whether it has the highest capacity of several.
    fn is_turbo(&self, cpu: CpuId) -> bool {
        let (_, average, most) = self.extremes();
        average < most && self.capacity(cpu) == most
    }

    /// One CPU of each core first, cache by cache, the biggest first (`build_topo_order(false)`).
    pub fn by_performance(&self) -> Vec<CpuId> {
        let mut cpus = self.all();
        cpus.sort_by_key(|cpu| {
            let cpu = *cpu;
            (self.thread(cpu), self.node(cpu), self.llc(cpu), Reverse(self.capacity(cpu)), self.core(cpu), cpu)
        });
        cpus
    }

    /// All CPUs of a core side by side, cache by cache, the little ones first if there are any (`build_topo_order(true)`).
    pub fn by_efficiency(&self) -> Vec<CpuId> {
        let mut cpus = self.all();
        let little = self.has_little();
        cpus.sort_by_key(|cpu| {
            let cpu = *cpu;
            let capacity = if little { self.capacity(cpu) } else { u64::MAX - self.capacity(cpu) };
            (self.node(cpu), self.llc(cpu), capacity, self.core(cpu), self.thread(cpu), cpu)
        });
        cpus
    }

    /// How many there are.
    pub fn count(&self, each: Each) -> usize {
        match each {
            Each::Machine => 1,
            Each::Hybrid => usize::from(self.has_little()),
            Each::Cpu => self.kernel.topology.nr_cpus,
            Each::Domain => self.domains.len(),
            Each::OppTable => self.opps.count(),
        }
    }

    /// A fact of one of them: one number, or several for an array. `None`: no such fact.
    pub fn fact(&self, each: Each, number: usize, word: &str) -> Option<Vec<u64>> {
        match each {
            Each::Machine | Each::Hybrid => self.machine_fact(word),
            Each::Cpu => self.cpu_fact(CpuId::at(number), word).map(|value| vec![value]),
            Each::Domain => self.domain_fact(number, word),
            Each::OppTable => self.opp_table_fact(number, word),
        }
    }

    fn machine_fact(&self, word: &str) -> Option<Vec<u64>> {
        let numbers = |cpus: Vec<CpuId>| cpus.into_iter().map(|cpu| u64::from(cpu.0)).collect();
        if let Some(fact) = Fact::of(word) {
            return Some(vec![u64::from(fact.number(&self.system))]);
        }
        if let Some(table) = Table::of(word) {
            return Some(table.numbers(&self.system).into_iter().map(u64::from).collect());
        }
        Some(match word {
            "total_capacity" => vec![self.all().into_iter().map(|cpu| self.capacity(cpu)).sum()],
            "cpus_by_performance" => numbers(self.by_performance()),
            "cpus_by_efficiency" => numbers(self.by_efficiency()),
            "efficient_capacity" => self.by_efficiency().first().map(|cpu| self.capacity(*cpu)).into_iter().collect(),
            _ => return None,
        })
    }

    fn cpu_fact(&self, cpu: CpuId, word: &str) -> Option<u64> {
        let described = &self.system.machine.cpus[cpu.index()];
        Some(match word {
            "number" => u64::from(cpu.0),
            "online" => u64::from(self.kernel.topology.online.test(cpu)),
            "node" => self.node(cpu) as u64,
            "package" => self.package(described),
            "llc" => self.llc(cpu) as u64,
            "core" => u64::from(self.core(cpu).0),
            "capacity" => self.capacity(cpu),
            "performance" => u64::from(self.kernel.rq(cpu).capacity_limit),
            "performance_domain" => u64::from(described.performance_domain.0),
            "opp_table" => self.opps.number_of(described.performance_domain) as u64,
            "big" => u64::from(self.is_big(cpu)),
            "turbo" => u64::from(self.is_turbo(cpu)),
            // As a loader has it that takes a 32-bit -1 for none.
            "sibling" => {
                let siblings = &self.kernel.topology.smt[cpu.index()];
                siblings.iter().find(|other| **other != cpu).map_or(u64::from(u32::MAX), |other| u64::from(other.0))
            }
            _ => return None,
        })
    }

    fn opp_table_fact(&self, number: usize, word: &str) -> Option<Vec<u64>> {
        let table = self.opps.get(number)?;
        Some(match word {
            "nr_opps" => vec![table.frequency.len() as u64],
            "frequency" => table.frequency.iter().copied().map(u64::from).collect(),
            "performance" => table.performance.clone(),
            "power" => table.power.clone(),
            "static_power" => table.static_power.clone(),
            _ => return None,
        })
    }

    fn domain_fact(&self, number: usize, word: &str) -> Option<Vec<u64>> {
        let domain = self.domains.get(number)?;
        let neighbours = self.neighbours(number);
        Some(match word {
            "number" => vec![number as u64],
            "node" => vec![domain.node as u64],
            "llc" => vec![domain.llc as u64],
            "big" => vec![u64::from(domain.big)],
            "alternative" => vec![self.alternative(number) as u64],
            "mask" => {
                let mut words = vec![0_u64; self.kernel.topology.nr_cpus.div_ceil(64)];
                domain.cpus.iter().for_each(|cpu| words[cpu.index() / 64] |= 1 << (cpu.index() % 64));
                words
            }
            "neighbour_counts" => neighbours.iter().map(|at| at.len() as u64).collect(),
            "neighbours_0" | "neighbours_1" | "neighbours_2" => {
                let distance = usize::from(word.as_bytes().last()? - b'0');
                neighbours.get(distance).into_iter().flatten().map(|other| *other as u64).collect()
            }
            _ => return None,
        })
    }

    /// Other domains, the nearest first; those of one distance together, each next to its neighbours in a ring.
    fn neighbours(&self, number: usize) -> Vec<Vec<usize>> {
        let mut others: Vec<usize> = (0..self.domains.len()).filter(|other| *other != number).collect();
        others.sort_by_key(|other| self.distance(number, *other));
        let groups = others.chunk_by(|one, other| self.distance(number, *one) == self.distance(number, *other));
        groups.map(|group| in_ring(number, group)).collect()
    }

    /// By kind, then node, then cache.
    fn distance(&self, one: usize, other: usize) -> u32 {
        let (one, other) = (&self.domains[one], &self.domains[other]);
        let place = match (one.node == other.node, one.llc == other.llc) {
            (false, _) => 10,
            (true, false) => 2,
            (true, true) => 0,
        };
        place + if one.big == other.big { 0 } else { 100 }
    }

    /// The domain of the other kind of the same cache, else the nearest of the other kind; itself if there is none.
    fn alternative(&self, number: usize) -> usize {
        let domain = &self.domains[number];
        let mut others = self.neighbours(number).into_iter().flatten();
        others.find(|other| self.domains[*other].big != domain.big).unwrap_or(number)
    }
}

/// Numbers by their distance from `start` in the ring of all of them.
fn in_ring(start: usize, others: &[usize]) -> Vec<usize> {
    let mut ring: Vec<usize> = others.iter().copied().chain([start]).collect();
    ring.sort_unstable();
    let (count, at) = (ring.len(), ring.partition_point(|number| *number < start));
    let mut places: Vec<usize> = (0..count).filter(|place| *place != at).collect();
    places.sort_by_key(|place| {
        let ahead = (place + count - at) % count;
        (ahead.min(count - ahead), *place)
    });
    places.into_iter().map(|place| ring[place]).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::kernel::cpufreq::Governor;
    use crate::kernel::params::KernelParameters;

    /// A bundled machine and a kernel on it.
    fn system(machine: &str) -> (Machine, Kernel) {
        let machine = Machine::load(machine).unwrap();
        let kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
        (machine, kernel)
    }

    fn cpus((machine, kernel): &(Machine, Kernel)) -> Cpus<'_> {
        Cpus::of(&System { kernel, machine, governor: Governor::Performance })
    }

    fn numbers(cpus: Vec<CpuId>) -> Vec<u32> {
        cpus.into_iter().map(|cpu| cpu.0).collect()
    }

    #[test]
    fn a_big_little_machine_has_a_domain_of_each_kind() {
        let system = system("hikey960");
        let cpus = cpus(&system);
        assert!(cpus.has_little());
        let word = |number, word: &str| cpus.fact(Each::Domain, number, word).unwrap();
        assert_eq!((cpus.count(Each::Domain), word(0, "mask"), word(1, "mask")), (2, vec![0x0f], vec![0xf0]));
        assert_eq!((word(0, "big"), word(1, "big")), (vec![0], vec![1]));
        assert_eq!((word(0, "alternative"), word(1, "alternative")), (vec![1], vec![0]));
        assert_eq!((word(0, "neighbour_counts"), word(0, "neighbours_0")), (vec![1], vec![1]));
        assert!(word(0, "neighbours_1").is_empty());
        let cpu = |number, word: &str| cpus.fact(Each::Cpu, number, word).unwrap()[0];
        assert_eq!((cpu(0, "big"), cpu(7, "big"), cpu(7, "turbo"), cpu(7, "capacity")), (0, 1, 1, 1024));
        assert_eq!(cpu(3, "sibling"), 0xffff_ffff);
        assert_eq!(cpus.fact(Each::Cpu, 0, "colour"), None);
    }

    #[test]
    fn threads_of_a_core_come_late_for_performance_and_together_for_efficiency() {
        // CPUs 2n and 2n+1 are one core up to 15, and 16 to 23 are little ones, all of one cache.
        let system = system("i9-12900k");
        let cpus = cpus(&system);
        let siblings = cpus.fact(Each::Cpu, 0, "sibling").unwrap()[0] as u32;
        let fast = numbers(cpus.by_performance());
        assert_eq!(fast.iter().position(|cpu| *cpu == siblings), Some(16), "{fast:?}");
        let efficient = numbers(cpus.by_efficiency());
        assert_eq!(efficient[..8], [16, 17, 18, 19, 20, 21, 22, 23]);
        assert_eq!(efficient[8..10], [0, siblings]);
    }

    /// The A73's points in `machines/hikey960.toml`: 550 uW/MHz/V2, 903 MHz at 0.7 V and 2362 MHz at 1.1 V.
    #[test]
    fn a_kind_of_cpu_has_a_table_of_what_its_clocks_give_and_cost() {
        let system = system("hikey960");
        let cpus = cpus(&system);
        let cpu = |number, word: &str| cpus.fact(Each::Cpu, number, word).unwrap()[0];
        assert_eq!((cpu(3, "opp_table"), cpu(4, "opp_table"), cpus.count(Each::OppTable)), (0, 1, 2));
        assert_eq!((cpu(3, "performance_domain"), cpu(4, "performance_domain"), cpu(7, "core")), (0, 1, 7));
        let big = |word: &str| cpus.fact(Each::OppTable, 1, word).unwrap();
        assert_eq!(big("nr_opps"), [5]);
        assert_eq!(big("frequency"), [903_000, 1_421_000, 1_805_000, 2_112_000, 2_362_000]);
        assert_eq!((big("performance")[0], big("performance")[4]), (1024 * 903 / 2362, 1024));
        assert_eq!((big("power")[0], big("power")[4]), (243, 1572));
        // 15 and 118 mW of the cluster, which has one clock.
        assert_eq!((big("static_power")[0], big("static_power")[4]), (15, 118));
        assert_eq!(cpus.fact(Each::OppTable, 2, "power"), None);
    }

    #[test]
    fn clocks_that_limits_forbid_are_in_no_table() {
        // Eight CPUs at 2 GHz, eight that may not go above 1 GHz.
        let system = system("opteron-8350:half-half");
        let cpus = cpus(&system);
        let cpu = |number, word: &str| cpus.fact(Each::Cpu, number, word).unwrap()[0];
        assert_eq!([cpu(0, "capacity"), cpu(8, "capacity")], [1024, 1024]);
        assert_eq!([cpu(0, "performance"), cpu(8, "performance")], [1024, 512]);
        assert_eq!([cpu(7, "package"), cpu(8, "package"), cpu(7, "online")], [1, 2, 1]);
        let fastest =
            |cpu_number| cpus.fact(Each::OppTable, cpu(cpu_number, "opp_table") as usize, "frequency").unwrap();
        assert_eq!([fastest(0).pop(), fastest(8).pop()], [Some(2_000_000), Some(1_000_000)]);
    }

    #[test]
    fn the_threads_of_a_core_name_the_same_core() {
        let system = system("i9-12900k");
        let cpus = cpus(&system);
        let core = |number| cpus.fact(Each::Cpu, number, "core").unwrap()[0];
        assert_eq!([core(0), core(1), core(2), core(15), core(16), core(17)], [0, 0, 2, 14, 16, 17]);
    }

    #[test]
    fn every_fact_that_can_be_named_is_there() {
        let system = system("hikey960");
        let cpus = cpus(&system);
        for word in Each::WORDS {
            let each = Each::of(word).unwrap();
            assert!(each.facts().iter().all(|fact| cpus.fact(each, 0, fact).is_some()), "{word}");
        }
    }

    #[test]
    fn equal_domains_are_visited_as_a_ring() {
        assert_eq!(in_ring(0, &[1, 2, 3, 4, 5, 6, 7]), [1, 7, 2, 6, 3, 5, 4]);
        assert_eq!(in_ring(7, &[0, 1, 2, 3, 4, 5, 6]), [0, 6, 1, 5, 2, 4, 3]);
        let system = system("opteron-8350");
        let cpus = cpus(&system);
        assert_eq!(
            (cpus.has_little(), cpus.count(Each::Domain), cpus.fact(Each::Machine, 0, "total_capacity")),
            (false, 4, Some(vec![16 * 1024]))
        );
        assert_eq!(cpus.count(Each::Hybrid), 0);
        assert_eq!(cpus.fact(Each::Domain, 1, "neighbours_0"), Some(vec![0, 2, 3]));
        assert_eq!(cpus.fact(Each::Domain, 1, "alternative"), Some(vec![1]));
    }
}
