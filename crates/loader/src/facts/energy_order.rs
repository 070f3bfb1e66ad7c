// SPDX-License-Identifier: MIT OR Apache-2.0
//! Orders in which to use CPUs, each up to some load, as scx_lavd 1.1.4 finds them (`src/cpu_order.rs`): from the kernel's
//! energy model where it has one (`EnergyModelOptimizer`), else one for saving power and one for speed
//! (`get_fake_perf_cpu_order_table`).
//!
//! Where scx_lavd keeps choices in a `HashSet`, whose order is random, they are in the order of their CPUs here: of several that
//! are as good, the loader may take another one.

use std::collections::{BTreeMap, BTreeSet};

use super::{EnergyDomain, Fact, System};

/// How many orders scx_lavd has room for (`LAVD_PCO_STATE_MAX`). Behind the last one it is repeated.
pub(super) const ROOM: usize = 11;
/// How many performances from the wanted one on are looked at.
const LOOKAHEAD_CNT: usize = 10;
/// Of more combinations only runs are tried.
const MAX_EQPD_COMBINATIONS: u128 = 100_000;
const PD_UNIT: usize = 100_000_000;
const CPU_UNIT: usize = 100_000;
/// Loads for which an order is wanted, of all that the machine can do.
const LOADS: [f32; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// An order of CPUs (`PerfCpuOrder`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CpuOrder {
    /// The capacity that is needed up to which it is used.
    capacity: u64,
    /// How many of its first CPUs give that.
    nr_primary: usize,
    /// Those, and behind them the ones to use beyond.
    cpus: Vec<usize>,
}

/// A set of CPUs at some clocks (`PDSetInfo`). Its CPUs are not chosen yet: there is only how many of each domain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    performance: u64,
    power: u64,
    /// Performance domain, and a number from 0 among its CPUs.
    cpus: BTreeSet<(usize, usize)>,
}

impl Choice {
    fn domains(&self) -> BTreeSet<usize> {
        self.cpus.iter().map(|(domain, _)| *domain).collect()
    }

    /// How far it is from `base`: domains that are new count most, then how few CPUs it has (`PDSetInfo::dist`).
    fn dist(&self, base: Option<&Self>, nr_cpu_ids: usize) -> usize {
        let domains = self.domains();
        let overlap = base.map_or(0, |base| domains.intersection(&base.domains()).count());
        let first = domains.first().copied().unwrap_or(0);
        (domains.len() - overlap) * PD_UNIT
            + nr_cpu_ids.saturating_sub(self.cpus.len()) * CPU_UNIT
            + nr_cpu_ids.saturating_sub(first)
    }
}

/// `EnergyModelOptimizer`.
struct Optimizer<'s> {
    model: &'s [EnergyDomain],
    nr_cpu_ids: usize,
    /// Domains with the same states, the preferred first (`eq_pds`).
    equals: Vec<Vec<usize>>,
    /// Combinations of how many CPUs to take of each of those.
    combinations: Vec<Vec<usize>>,
    /// The cheapest choices by performance (`pdss_infos`).
    cheapest: BTreeMap<u64, BTreeSet<Choice>>,
}

impl<'s> Optimizer<'s> {
    /// `by_performance`: all CPUs, the preferred first.
    fn new(model: &'s [EnergyDomain], by_performance: &[usize]) -> Self {
        let rank = |domain: &usize| {
            let cpus = &model[*domain].cpus;
            by_performance.iter().position(|cpu| cpus.contains(cpu)).unwrap_or(usize::MAX)
        };
        let mut equals: Vec<Vec<usize>> = Vec::new();
        for (domain, described) in model.iter().enumerate() {
            match equals.iter_mut().find(|group| model[group[0]].states == described.states) {
                Some(group) => group.push(domain),
                None => equals.push(vec![domain]),
            }
        }
        equals.iter_mut().for_each(|group| group.sort_by_key(rank));
        equals.sort_by_key(|group| group.iter().map(rank).min());
        let most: Vec<usize> =
            equals.iter().map(|group| group.iter().map(|domain| model[*domain].cpus.len()).sum()).collect();
        let combinations = nr_cpus_combinations(&most);
        Self { model, nr_cpu_ids: by_performance.len(), equals, combinations, cheapest: BTreeMap::new() }
    }

    /// The choice of a combination with each CPU as fast as `util` percent of its highest speed wants (`gen_pdsi`).
    fn choice(&self, combination: &[usize], util: f32) -> Choice {
        let mut choice = Choice { performance: 0, power: 0, cpus: BTreeSet::new() };
        for (group, count) in self.equals.iter().zip(combination) {
            let (performance, power) = state(&self.model[group[0]], util);
            let numbered =
                group.iter().flat_map(|domain| (0..self.model[*domain].cpus.len()).map(|cpu| (*domain, cpu)));
            choice.cpus.extend(numbered.take(*count));
            choice.performance += performance * *count as u64;
            choice.power += power * *count as u64;
        }
        choice
    }

    /// Tries all combinations, and says whether one was new or cheaper (`insert_pds_combinations`).
    fn insert_at(&mut self, util: f32) -> bool {
        let mut found_new = false;
        let choices: Vec<Choice> = self.combinations.iter().map(|nr_cpus| self.choice(nr_cpus, util)).collect();
        for choice in choices {
            let known = self.cheapest.entry(choice.performance).or_default();
            match known.first().map(|first| first.power) {
                Some(power) if power < choice.power => continue,
                Some(power) if power > choice.power => known.clear(),
                _ => {}
            }
            found_new |= known.insert(choice);
        }
        found_new
    }

    /// Between two utilisations, in percent, as long as there is something new (`gen_perf_cpuset_table_range`).
    fn insert_between(&mut self, low: i32, high: i32) {
        if low > high {
            return;
        }
        let middle = low + (high - low) / 2;
        if self.insert_at(middle as f32) {
            self.insert_between(middle + 1, high);
            self.insert_between(low, middle - 1);
        }
    }

    /// The nearest choice to `base` of the next few that are fast enough (`find_perf_pds_for`).
    fn nearest(&self, load: f32, base: Option<&Choice>) -> Option<Choice> {
        let total: u64 = self.model.iter().map(|domain| state(domain, 100.0).0 * domain.cpus.len() as u64).sum();
        let target = (load * total as f32) as u64;
        let mut nearest: Option<(usize, &Choice)> = None;
        for choice in self.cheapest.range(target..).take(LOOKAHEAD_CNT).flat_map(|(_, choices)| choices) {
            let dist = choice.dist(base, self.nr_cpu_ids);
            if nearest.is_none_or(|(least, _)| dist < least) {
                nearest = Some((dist, choice));
            }
        }
        nearest.map(|(_, choice)| choice.clone())
    }

    /// Choices by the performance up to which they hold (`gen_perf_pds_table`).
    fn table(&mut self) -> BTreeMap<u64, Choice> {
        self.insert_at(0.0);
        self.insert_at(100.0);
        self.insert_between(0, 100);
        let mut table: BTreeMap<u64, Choice> = BTreeMap::new();
        for load in LOADS {
            let base = table.last_key_value().map(|(_, base)| base.clone());
            let Some(mut best) = self.nearest(load, base.as_ref()) else { continue };
            // What needs no other CPUs than the one before only makes that one hold for longer.
            let replaced = base.filter(|base| best.cpus.is_subset(&base.cpus));
            if let Some(base) = &replaced {
                best.cpus.clone_from(&base.cpus);
            }
            let performance = best.performance;
            table.insert(performance, best);
            if let Some(base) = replaced {
                table.remove(&base.performance);
            }
        }
        table
    }

    /// The CPUs of a choice, the preferred first.
    fn cpus_of(&self, choice: &Choice, by_performance: &[usize]) -> Vec<usize> {
        let in_order = |domain: usize| by_performance.iter().filter(move |cpu| self.model[domain].cpus.contains(cpu));
        let taken: BTreeSet<usize> =
            choice.cpus.iter().filter_map(|(domain, number)| in_order(*domain).nth(*number)).copied().collect();
        by_performance.iter().copied().filter(|cpu| taken.contains(cpu)).collect()
    }
}

/// Performance and power of a CPU in the slowest state that does for `util` percent of its highest (`select_perf_state`).
fn state(domain: &EnergyDomain, util: f32) -> (u64, u64) {
    let most = domain.states.last().map_or(0, |(performance, _)| *performance);
    let wanted = (most as f32 * (util / 100.0)) as u64;
    // Of states with the same performance the last one, as in a map by performance.
    let enough = domain.states.iter().find(|(performance, _)| *performance >= wanted);
    let found = enough.and_then(|(first, _)| domain.states.iter().rfind(|(performance, _)| performance == first));
    found.copied().unwrap_or((0, 0))
}

/// How many CPUs to take of each kind, none of all left out: in all ways, or of too many those that take kinds one after the
/// other (`gen_nr_cpus_combinations`).
fn nr_cpus_combinations(most: &[usize]) -> Vec<Vec<usize>> {
    let ways = most.iter().fold(1_u128, |ways, most| ways.saturating_mul(*most as u128 + 1)) - 1;
    if ways > MAX_EQPD_COMBINATIONS {
        return runs_of_kinds(most);
    }
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for most in most {
        let longer = |start: &Vec<usize>| {
            let start = start.clone();
            (0..=*most).map(move |count| start.iter().copied().chain([count]).collect::<Vec<_>>())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.retain(|counts| counts.iter().any(|count| *count > 0));
    all
}

/// All CPUs of consecutive kinds from either end and some of the next, or some of one kind alone (`gen_run_nr_cpus`).
fn runs_of_kinds(most: &[usize]) -> Vec<Vec<usize>> {
    let mut runs = BTreeSet::new();
    for (kind, count) in most.iter().enumerate() {
        let mut forward = vec![0; most.len()];
        forward[..kind].copy_from_slice(&most[..kind]);
        let mut backward = vec![0; most.len()];
        backward[kind + 1..].copy_from_slice(&most[kind + 1..]);
        let mut single = vec![0; most.len()];
        for taken in 1..=*count {
            for run in [&mut forward, &mut backward, &mut single] {
                run[kind] = taken;
                runs.insert(run.clone());
            }
        }
    }
    runs.into_iter().collect()
}

impl System {
    /// The orders, by capacity.
    pub(super) fn cpu_orders(&self) -> &[CpuOrder] {
        self.cpu_orders.get_or_init(|| match self.energy_model.is_empty() {
            true => self.fake_orders(),
            false => self.orders_by_energy(),
        })
    }

    /// Without an energy model: the most efficient CPU alone, and the fastest, the others behind.
    fn fake_orders(&self) -> Vec<CpuOrder> {
        let efficient = self.cpus_by_efficiency();
        let least = efficient.first().map_or(0, |cpu| self.cpus[*cpu].capacity);
        let total = self.cpus.iter().map(|cpu| cpu.capacity).sum();
        let fast = CpuOrder { capacity: total, nr_primary: 1, cpus: self.cpus_by_performance() };
        match least == total {
            true => vec![fast],
            false => vec![CpuOrder { capacity: least, nr_primary: 1, cpus: efficient }, fast],
        }
    }

    /// `assign_cpu_vids`.
    fn orders_by_energy(&self) -> Vec<CpuOrder> {
        let by_performance = self.cpus_by_performance();
        let mut optimizer = Optimizer::new(&self.energy_model, &by_performance);
        let table = optimizer.table();
        let mut orders: Vec<CpuOrder> = Vec::new();
        // From the last on: what is behind an order's own CPUs are those of the orders above it.
        for (capacity, choice) in table.iter().rev() {
            let primary = optimizer.cpus_of(choice, &by_performance);
            let above: Vec<usize> =
                orders.iter().rev().flat_map(|order| order.cpus[..order.nr_primary].to_vec()).collect();
            let mut cpus = primary.clone();
            for cpu in above {
                if !cpus.contains(&cpu) {
                    cpus.push(cpu);
                }
            }
            orders.push(CpuOrder { capacity: *capacity, nr_primary: primary.len(), cpus });
        }
        orders.reverse();
        orders
    }

    pub(super) fn of_cpu_order(&self, number: usize, name: &str) -> Option<Fact> {
        let orders = self.cpu_orders();
        let order = orders.get(number).or(orders.last()).filter(|_| number < ROOM)?;
        Some(match name {
            "capacity" => Fact::One(order.capacity),
            "nr_primary" => Fact::One(order.nr_primary as u64),
            "cpus" => Fact::List(order.cpus.iter().map(|cpu| *cpu as u64).collect()),
            _ => return None,
        })
    }
}
