// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/devices/system/cpu/cpu*`: topology, caches, capacity and idle states of one CPU.

use super::{CacheLevel, Cpu, IdleState};
use crate::tree::Tree;

/// What sysfs says about CPU `number`. An offline CPU has hardly any files.
pub(super) fn read(tree: &Tree, number: u32, online: &[u32]) -> Cpu {
    let folder = format!("sys/devices/system/cpu/cpu{number}");
    let package_cpus = tree.cpus(&format!("{folder}/topology/package_cpus_list"));
    let core_cpus = tree.cpus(&format!("{folder}/topology/core_cpus_list"));
    Cpu {
        number,
        online: online.contains(&number),
        package: tree.number(&format!("{folder}/topology/physical_package_id")),
        core_cpus: core_cpus.or_else(|| tree.cpus(&format!("{folder}/topology/thread_siblings_list"))),
        package_cpus: package_cpus.or_else(|| tree.cpus(&format!("{folder}/topology/core_siblings_list"))),
        cluster_cpus: tree.cpus(&format!("{folder}/topology/cluster_cpus_list")),
        caches: caches(tree, &folder),
        capacity: tree.number(&format!("{folder}/cpu_capacity")).filter(|capacity| *capacity > 0),
        highest_perf: tree.number(&format!("{folder}/acpi_cppc/highest_perf")).filter(|perf| *perf > 0),
        nominal_mhz: tree
            .number(&format!("{folder}/acpi_cppc/nominal_freq"))
            .filter(|mhz: &f64| (1.0..=1e5).contains(mhz)),
        idle: idle_states(tree, &folder),
        ..Cpu::default()
    }
}

fn caches(tree: &Tree, cpu: &str) -> Vec<CacheLevel> {
    let indices = tree.numbered(&format!("{cpu}/cache"), "index");
    indices.into_iter().filter_map(|index| cache(tree, &format!("{cpu}/cache/index{index}"))).collect()
}

fn cache(tree: &Tree, folder: &str) -> Option<CacheLevel> {
    if tree.text(&format!("{folder}/type"))? == "Instruction" {
        return None;
    }
    Some(CacheLevel {
        level: tree.parsed(&format!("{folder}/level"), "a level from 1 to 4", level)?,
        kib: tree.parsed(&format!("{folder}/size"), "a size such as 512K", kib),
        cpus: tree.cpus(&format!("{folder}/shared_cpu_list"))?,
    })
}

fn level(text: &str) -> Option<u32> {
    text.parse().ok().filter(|level| (1..=4).contains(level))
}

/// `512K`, `32M` in KiB, up to 1 TiB.
fn kib(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('M')?, 1024),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|kib| (1..=1 << 30).contains(kib))
}

fn idle_states(tree: &Tree, cpu: &str) -> Vec<IdleState> {
    let states = tree.numbered(&format!("{cpu}/cpuidle"), "state");
    states.into_iter().filter_map(|state| idle_state(tree, &format!("{cpu}/cpuidle/state{state}"))).collect()
}

fn idle_state(tree: &Tree, folder: &str) -> Option<IdleState> {
    Some(IdleState {
        name: tree.text(&format!("{folder}/name")).filter(|name| !name.is_empty())?,
        latency_us: microseconds(tree, &format!("{folder}/latency"))?,
        residency_us: microseconds(tree, &format!("{folder}/residency")),
    })
}

/// A time of at most 10 s, far beyond any idle state.
fn microseconds(tree: &Tree, path: &str) -> Option<u64> {
    tree.parsed(path, "microseconds up to 10 s", |text| text.parse().ok().filter(|us| *us <= 10_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_sizes_are_in_kib() {
        assert_eq!(kib("512K"), Some(512));
        assert_eq!(kib("32M"), Some(32 * 1024));
        assert_eq!(kib("0K"), None);
        assert_eq!(kib("big"), None);
        assert_eq!(kib("18446744073709551615M"), None);
    }
}
