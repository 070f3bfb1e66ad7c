// SPDX-License-Identifier: MIT OR Apache-2.0
//! What CPUs share: cores, caches, packages, nodes.

use super::{CAPACITY_SCALE, Cpu, Machine, MachineError};
use crate::tree::{Tree, list};

/// Reads the CPUs, their clocks excepted.
pub(super) fn read(tree: &Tree) -> Result<Machine, MachineError> {
    let cpus = |file: &str| tree.sys(&format!("devices/system/cpu/{file}")).and_then(|text| list(&text));
    let unknown = || MachineError::NoCpus { path: tree.path("sys/devices/system/cpu/possible") };
    let possible = cpus("possible").ok_or_else(unknown)?;
    let online = cpus("online").unwrap_or_else(|| possible.clone());
    let count = possible.iter().max().ok_or_else(unknown)? + 1;
    let nodes: Vec<(u64, Vec<usize>)> =
        tree.names("devices/system/node").iter().filter_map(|name| node(tree, name)).collect();
    let keys = |key: &dyn Fn(usize) -> u64| numbered((0..count).map(key).collect());
    let packages = keys(&|cpu| tree.cpu_number(cpu, "topology/physical_package_id").unwrap_or(0));
    let llcs = keys(&|cpu| last_level_cache(tree, cpu));
    let read = |cpu: usize| {
        let siblings = tree.cpu_list(cpu, "topology/thread_siblings_list").unwrap_or_else(|| vec![cpu]);
        Cpu {
            online: online.contains(&cpu),
            node: nodes.iter().find(|(_, cpus)| cpus.contains(&cpu)).map_or(0, |(node, _)| *node),
            package: packages[cpu],
            llc: llcs[cpu],
            core: siblings.first().copied().unwrap_or(cpu) as u64,
            sibling: siblings.iter().find(|sibling| **sibling != cpu).map(|sibling| *sibling as u64),
            performance_domain: cpu as u64,
            opp_table: 0,
            // `capacity` knows better.
            capacity: CAPACITY_SCALE,
            performance: CAPACITY_SCALE,
        }
    };
    let nr_nodes = nodes.len().max(1) as u64;
    Ok(Machine { cpus: (0..count).map(read).collect(), nr_nodes, ..Machine::default() })
}

/// `node3`, and the CPUs of it.
fn node(tree: &Tree, name: &str) -> Option<(u64, Vec<usize>)> {
    let number = name.strip_prefix("node")?.parse().ok()?;
    Some((number, list(&tree.sys(&format!("devices/system/node/{name}/cpulist")).unwrap_or_default())?))
}

/// The lowest CPU of those that share the deepest cache of data with this one; without cache files, all of its package do.
fn last_level_cache(tree: &Tree, cpu: usize) -> u64 {
    let caches = tree.names(&format!("devices/system/cpu/cpu{cpu}/cache"));
    let cache = |name: &String| {
        let file = |file: &str| tree.cpu_text(cpu, &format!("cache/{name}/{file}"));
        let level: u32 = file("level")?.parse().ok()?;
        let first = list(&file("shared_cpu_list")?)?.first().copied()?;
        (file("type")? != "Instruction").then_some((level, first))
    };
    let deepest = caches.iter().filter_map(cache).max_by_key(|(level, _)| *level);
    let of_package = || tree.cpu_list(cpu, "topology/core_siblings_list")?.first().copied();
    deepest.map(|(_, first)| first).or_else(of_package).unwrap_or(0) as u64
}

/// Numbers from 0 for what has the same key, in the order of the first that has each.
pub(super) fn numbered(keys: Vec<u64>) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    let number = |key: u64| match seen.iter().position(|known| *known == key) {
        Some(number) => number as u64,
        None => {
            seen.push(key);
            seen.len() as u64 - 1
        }
    };
    keys.into_iter().map(number).collect()
}
