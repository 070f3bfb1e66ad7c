// SPDX-License-Identifier: MIT OR Apache-2.0
//! What CPUs share: cores, caches, packages, nodes.

use std::collections::BTreeMap;

use super::{CAPACITY_SCALE, Cpu, Machine};
use crate::reading::{self, Reading};

/// The CPUs, without their clocks.
pub(super) fn of(reading: &Reading) -> Machine {
    let shown = |cpu: usize| reading.cpus.get(cpu);
    let keys = |key: &dyn Fn(&reading::Cpu) -> u64| {
        numbered((0..reading.possible).map(|cpu| shown(cpu).map_or(0, key)).collect())
    };
    let packages = keys(&|cpu| cpu.package.unwrap_or(0).cast_unsigned());
    let llcs = keys(&last_level_cache);
    let cpu = |number: usize| {
        let siblings = shown(number).and_then(|cpu| cpu.core_cpus.as_deref()).unwrap_or_default();
        let node = reading.nodes.iter().find(|node| node.cpus.contains(&(number as u32)));
        Cpu {
            online: shown(number).is_some_and(|cpu| cpu.online),
            node: node.map_or(0, |node| u64::from(node.number)),
            package: packages[number],
            llc: llcs[number],
            core: siblings.first().map_or(number as u64, |first| u64::from(*first)),
            sibling: siblings.iter().find(|sibling| **sibling as usize != number).map(|sibling| u64::from(*sibling)),
            performance_domain: number as u64,
            opp_table: 0,
            // `capacity` knows better.
            capacity: CAPACITY_SCALE,
            performance: CAPACITY_SCALE,
        }
    };
    let nr_nodes = reading.nodes.len().max(1) as u64;
    Machine { cpus: (0..reading.possible).map(cpu).collect(), nr_nodes, ..Machine::default() }
}

/// The lowest CPU of those that share the deepest cache of data with this one; without cache files, all of its package do.
fn last_level_cache(cpu: &reading::Cpu) -> u64 {
    let first = |cpus: &Vec<u32>| cpus.first().copied();
    let deepest = cpu.caches.iter().filter(|cache| !cache.cpus.is_empty()).max_by_key(|cache| cache.level);
    let shared = deepest.map(|cache| &cache.cpus).or(cpu.package_cpus.as_ref());
    shared.and_then(first).map_or(0, u64::from)
}

/// Numbers from 0 for what has the same key, in the order of the first that has each.
pub(super) fn numbered(keys: Vec<u64>) -> Vec<u64> {
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    let number = |key: u64| {
        let next = seen.len() as u64;
        *seen.entry(key).or_insert(next)
    };
    keys.into_iter().map(number).collect()
}
