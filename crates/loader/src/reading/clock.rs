// SPDX-License-Identifier: MIT OR Apache-2.0
//! cpufreq policies and the energy model that the kernel shows in debugfs.

use super::{EnergyDomain, Policy, PowerUnit};
use crate::tree::{Tree, cpus};

const CPU: &str = "sys/devices/system/cpu";
const ENERGY_MODEL: &str = "sys/kernel/debug/energy_model";

/// Latencies from here on are `CPUFREQ_ETERNAL`: the driver does not know.
const ETERNAL: u64 = u32::MAX as u64;

/// A clock beyond this many kHz is damage.
const HIGHEST_KHZ: u32 = 100_000_000;

/// Power of one busy CPU beyond this many microwatts, a kilowatt, is on no real scale.
const MOST_MICROWATTS: u64 = 1_000_000_000;

/// Bits of an energy model's `flags`: values in watts of some magnitude (`EM_PERF_DOMAIN_MICROWATTS`), or made up for
/// the sake of their order (`EM_PERF_DOMAIN_ARTIFICIAL`).
const IN_WATTS: u64 = 1 << 0;
const ARTIFICIAL: u64 = 1 << 2;

/// Below this power of one busy CPU at its highest clock, a value cannot be in microwatts: a Cortex-A55 of a Pixel 6,
/// by its device tree, draws five times as much. The flag does not tell: the documentation of Linux 5.15 has
/// milliwatts where that of 6.4 has microwatts, and the bit is the same.
const LEAST_MICROWATTS: u64 = 20_000;

/// Every cpufreq policy of the CPUs up to `highest`, each once.
pub(super) fn policies(tree: &Tree, highest: u32) -> Vec<Policy> {
    let numbers = tree.numbered(&format!("{CPU}/cpufreq"), "policy");
    let mut folders: Vec<(u32, String)> =
        numbers.into_iter().map(|number| (number, format!("{CPU}/cpufreq/policy{number}"))).collect();
    if folders.is_empty() {
        // Old kernels have the folder at each CPU, most of them links.
        folders = (0..=highest).map(|cpu| (cpu, format!("{CPU}/cpu{cpu}/cpufreq"))).collect();
    }
    let mut policies: Vec<Policy> = Vec::new();
    for (number, folder) in folders {
        let Some(policy) = policy(tree, number, &folder) else { continue };
        if !policies.iter().any(|known| known.cpus == policy.cpus) {
            policies.push(policy);
        }
    }
    policies
}

fn policy(tree: &Tree, number: u32, folder: &str) -> Option<Policy> {
    let driver = tree.text(&format!("{folder}/scaling_driver"));
    let khz_of = |file: &str| tree.parsed(&format!("{folder}/{file}"), "a clock in kHz", clock);
    let max_khz = khz_of("cpuinfo_max_freq");
    let related = tree.cpus(&format!("{folder}/related_cpus"));
    let mut khz = Vec::new();
    for list in ["scaling_available_frequencies", "scaling_boost_frequencies"] {
        khz.extend(tree.parsed(&format!("{folder}/{list}"), "clocks in kHz", clocks).unwrap_or_default());
    }
    khz.sort_unstable();
    khz.dedup();
    if driver.is_none() && max_khz.is_none() && related.is_none() && khz.is_empty() {
        return None;
    }
    let latency = tree.number(&format!("{folder}/cpuinfo_transition_latency"));
    Some(Policy {
        cpus: related.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![number]),
        min_khz: khz_of("cpuinfo_min_freq"),
        max_khz,
        base_khz: khz_of("base_frequency"),
        min_limit_khz: khz_of("scaling_min_freq"),
        max_limit_khz: khz_of("scaling_max_freq"),
        governor: tree.text(&format!("{folder}/scaling_governor")),
        khz,
        latency_ns: latency.filter(|ns| (1..ETERNAL).contains(ns)),
        driver,
    })
}

fn clocks(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(clock).collect()
}

fn clock(text: &str) -> Option<u32> {
    text.parse().ok().filter(|khz| (1..=HIGHEST_KHZ).contains(khz))
}

/// Every CPU performance domain of the energy model; those of other devices have no `cpus`.
pub(super) fn energy_model(tree: &Tree) -> Vec<EnergyDomain> {
    let mut domains: Vec<EnergyDomain> =
        tree.folder(ENERGY_MODEL).into_iter().filter_map(|name| energy_domain(tree, name)).collect();
    domains.sort_by(|a, b| a.cpus.cmp(&b.cpus));
    domains
}

fn energy_domain(tree: &Tree, name: String) -> Option<EnergyDomain> {
    let folder = format!("{ENERGY_MODEL}/{name}");
    let cpus = tree.parsed(&format!("{folder}/cpus"), "a CPU list such as 0-3,8", |text| {
        cpus(text).filter(|cpus| !cpus.is_empty())
    })?;
    let mut states: Vec<(u32, u64)> = tree
        .folder(&folder)
        .into_iter()
        // Old kernels write `cs:`, later ones `ps:`.
        .filter(|state| state.starts_with("ps:") || state.starts_with("cs:"))
        .filter_map(|state| energy_state(tree, &format!("{folder}/{state}")))
        .collect();
    states.sort_unstable();
    states.dedup_by_key(|(khz, _)| *khz);
    let unit = unit(tree, &folder, &states);
    (!states.is_empty()).then_some(EnergyDomain { name, cpus, states, unit })
}

fn energy_state(tree: &Tree, folder: &str) -> Option<(u32, u64)> {
    let khz = tree.parsed(&format!("{folder}/frequency"), "a clock in kHz", clock)?;
    Some((khz, tree.number(&format!("{folder}/power"))?))
}

fn unit(tree: &Tree, folder: &str, states: &[(u32, u64)]) -> PowerUnit {
    let bogus = tree.text(&format!("{folder}/units")).is_some_and(|unit| unit == "bogoWatts");
    // Old kernels have no flags.
    let flags = tree.parsed(&format!("{folder}/flags"), "a number such as 0x1", flags).unwrap_or(IN_WATTS);
    let bogus = bogus || flags & IN_WATTS == 0 || flags & ARTIFICIAL != 0;
    let top = states.iter().map(|(_, power)| *power).max().unwrap_or(0);
    if bogus || top > MOST_MICROWATTS || states.iter().any(|(_, power)| *power == 0) {
        return PowerUnit::Abstract;
    }
    if top < LEAST_MICROWATTS { PowerUnit::Milliwatts } else { PowerUnit::Microwatts }
}

fn flags(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
