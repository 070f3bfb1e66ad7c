// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loaders find out about kinds of CPUs: which are big and which little, in which order to use them, and compute
//! domains: the CPUs of one last-level cache that are of one kind. After the crates scx_utils (`topology.rs`) and scx_lavd
//! (`cpu_order.rs`).
//!
//! Left out: sizes of caches, by which loaders order CPUs of equal capacity.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Fact, System};
use crate::machine::Cpu;

/// A compute domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Domain {
    node: u64,
    llc: u64,
    big: bool,
    cpus: Vec<usize>,
}

/// The least, the mean and the largest capacity of all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extremes {
    least: u64,
    mean: u64,
    most: u64,
}

impl Extremes {
    pub(super) fn of(cpus: &[Cpu]) -> Self {
        let all = || cpus.iter().map(|cpu| cpu.capacity);
        let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        Self { least, mean: all().sum::<u64>() / cpus.len().max(1) as u64, most }
    }
}

/// The number of each CPU among those of its core that are online; 0 of one that is not.
pub(super) fn threads(cpus: &[Cpu]) -> Vec<usize> {
    let mut counted: BTreeMap<u64, usize> = BTreeMap::new();
    let number = |cpu: &Cpu| {
        if !cpu.online {
            return 0;
        }
        let so_far = counted.entry(cpu.core).or_default();
        *so_far += 1;
        *so_far - 1
    };
    cpus.iter().map(number).collect()
}

impl System {
    /// The compute domains, in the order of their first CPUs.
    pub(super) fn find_domains(&self) -> Vec<Domain> {
        let mut domains: Vec<Domain> = Vec::new();
        for cpu in self.cpus_by_performance() {
            let (node, llc, big) = (self.cpus[cpu].node, self.cpus[cpu].llc, self.is_big(cpu));
            match domains.iter_mut().find(|domain| (domain.node, domain.llc, domain.big) == (node, llc, big)) {
                Some(domain) => domain.cpus.push(cpu),
                None => domains.push(Domain { node, llc, big, cpus: vec![cpu] }),
            }
        }
        domains
    }

    /// Whether there are CPUs that count as little: the biggest has 1.3 times the capacity of the smallest.
    pub(super) fn has_little(&self) -> bool {
        let Extremes { least, most, .. } = self.capacities;
        10 * most >= 13 * least
    }

    pub(super) fn is_big(&self, cpu: usize) -> bool {
        !self.has_little() || self.cpus[cpu].capacity >= self.capacities.mean
    }

    /// Whether a CPU has the highest capacity of several.
    pub(super) fn is_turbo(&self, cpu: usize) -> bool {
        let Extremes { mean, most, .. } = self.capacities;
        mean < most && self.cpus[cpu].capacity == most
    }

    /// CPUs from the biggest to the smallest; equals in their order.
    pub(super) fn cpus_by_capacity(&self) -> Vec<usize> {
        self.sorted(|cpu| Reverse(self.cpus[cpu].capacity))
    }

    /// One CPU of each core first, cache by cache, the biggest first (`build_topo_order(false)`).
    pub(super) fn cpus_by_performance(&self) -> Vec<usize> {
        self.sorted(|number| {
            let cpu = &self.cpus[number];
            (self.threads[number], cpu.node, cpu.llc, Reverse(cpu.capacity), cpu.core, number)
        })
    }

    /// All CPUs of a core side by side, cache by cache, the little ones first if there are any (`build_topo_order(true)`).
    pub(super) fn cpus_by_efficiency(&self) -> Vec<usize> {
        let little = self.has_little();
        self.sorted(|number| {
            let cpu = &self.cpus[number];
            let capacity = if little { cpu.capacity } else { u64::MAX - cpu.capacity };
            (cpu.node, cpu.llc, capacity, cpu.core, self.threads[number], number)
        })
    }

    fn sorted<K: Ord>(&self, key: impl Fn(usize) -> K) -> Vec<usize> {
        let mut cpus: Vec<usize> = (0..self.cpus.len()).collect();
        cpus.sort_by_cached_key(|cpu| key(*cpu));
        cpus
    }

    /// A fact of a domain. Its neighbours are grouped by distance.
    pub(super) fn of_domain(&self, number: usize, name: &str) -> Option<Fact> {
        let domain = self.domains.get(number)?;
        let list = |domains: &[usize]| Fact::List(domains.iter().map(|other| *other as u64).collect());
        let at_distance = |distance: usize| list(self.neighbours(number).get(distance).map_or(&[], Vec::as_slice));
        Some(match name {
            "number" => Fact::One(number as u64),
            "node" => Fact::One(domain.node),
            "llc" => Fact::One(domain.llc),
            "big" => Fact::flag(domain.big),
            "alternative" => Fact::One(self.alternative(number) as u64),
            "mask" => {
                let mut words = vec![0_u64; self.cpus.len().div_ceil(64)];
                domain.cpus.iter().for_each(|cpu| words[cpu / 64] |= 1 << (cpu % 64));
                Fact::List(words)
            }
            "neighbour_counts" => Fact::List(self.neighbours(number).iter().map(|at| at.len() as u64).collect()),
            "neighbours_0" => at_distance(0),
            "neighbours_1" => at_distance(1),
            "neighbours_2" => at_distance(2),
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
    use super::*;

    #[test]
    fn the_nearest_in_a_ring_come_first() {
        assert_eq!(in_ring(0, &[1, 2, 3, 4, 5, 6, 7]), [1, 7, 2, 6, 3, 5, 4]);
        assert_eq!(in_ring(7, &[0, 1, 2, 3, 4, 5, 6]), [0, 6, 1, 5, 2, 4, 3]);
    }
}
