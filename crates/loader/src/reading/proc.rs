// SPDX-License-Identifier: MIT OR Apache-2.0
//! /proc, NUMA nodes, Intel's hybrid event sources and powercap.

use super::{Cpu, Node};
use crate::tree::Tree;

/// More memory than x86-64 can address: damage.
const MOST_KIB: u64 = 1 << 46;

/// Adds what /proc/cpuinfo says to `cpus`. It lists online CPUs only.
pub(super) fn cpuinfo(tree: &Tree, cpus: &mut [Cpu]) {
    let text = tree.text("proc/cpuinfo").unwrap_or_default();
    let mut current = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if key == "processor" {
            current = value.parse::<usize>().ok();
            continue;
        }
        if let Some(cpu) = current.and_then(|number| cpus.get_mut(number)) {
            field(cpu, key, value);
        }
    }
}

fn field(cpu: &mut Cpu, key: &str, value: &str) {
    match key {
        "vendor_id" => cpu.vendor = Some(value.to_owned()),
        "cpu family" => cpu.family = value.parse().ok(),
        "model" => cpu.model_number = value.parse().ok(),
        "model name" => cpu.model = Some(value.to_owned()),
        // `clock : 3425.000000MHz` on POWER.
        "cpu MHz" | "clock" => {
            cpu.mhz = value.trim_end_matches("MHz").parse().ok().filter(|mhz: &f64| (1.0..=1e5).contains(mhz));
        }
        "CPU implementer" => cpu.part = hexadecimal(value).map(|implementer| (implementer, 0)),
        "CPU part" => {
            if let (Some((_, part)), Some(number)) = (&mut cpu.part, hexadecimal(value)) {
                *part = number;
            }
        }
        _ => {}
    }
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// NUMA nodes that have CPUs.
pub(super) fn nodes(tree: &Tree) -> Vec<Node> {
    const NODES: &str = "sys/devices/system/node";
    let mut nodes = Vec::new();
    for number in tree.numbered(NODES, "node") {
        let cpus = tree.cpus(&format!("{NODES}/node{number}/cpulist")).unwrap_or_default();
        let memory_kib = memory_kib(tree, &format!("{NODES}/node{number}/meminfo"));
        if !cpus.is_empty() {
            let distances = tree.parsed(&format!("{NODES}/node{number}/distance"), "distances", |text| {
                text.split_whitespace().map(|distance| distance.parse().ok()).collect::<Option<Vec<u32>>>()
            });
            nodes.push(Node { number, cpus, memory_kib, distances: distances.unwrap_or_default() });
        }
    }
    nodes
}

/// `MemTotal` of a meminfo file; a node's lines begin with `Node 0`.
pub(super) fn memory_kib(tree: &Tree, path: &str) -> Option<u64> {
    tree.parsed(path, "a MemTotal line", |text| {
        let (_, rest) = text.lines().find_map(|line| line.split_once("MemTotal:"))?;
        rest.split_whitespace().next()?.parse().ok().filter(|kib| *kib <= MOST_KIB)
    })
}

/// CPUs per kind of core on Intel hybrids, from the event sources that the kernel keeps per kind.
pub(super) fn hybrid(tree: &Tree) -> Vec<(&'static str, Vec<u32>)> {
    let mut kinds = Vec::new();
    for kind in ["cpu_core", "cpu_atom", "cpu_lowpower"] {
        if let Some(cpus) = tree.cpus(&format!("sys/devices/{kind}/cpus")) {
            kinds.push((kind, cpus));
        }
    }
    kinds
}

/// Names of the powercap zones: `package-0`, `dram`.
pub(super) fn powercap(tree: &Tree) -> Vec<String> {
    let zones = tree.folder("sys/class/powercap");
    let mut names: Vec<String> =
        zones.into_iter().filter_map(|zone| tree.text(&format!("sys/class/powercap/{zone}/name"))).collect();
    names.sort();
    names.dedup();
    names
}
