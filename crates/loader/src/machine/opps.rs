// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks from cpufreq, and watts from the kernel's energy model, which only root may read and only with debugfs mounted.

use super::topology::numbered;
use super::{Capacities, Cpu, Machine};
use crate::tree::{Tree, list};

/// Operating points of a kind of CPU, ascending by clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OppTable {
    /// Clocks in kHz that are allowed now.
    pub frequency: Vec<u64>,
    /// Capacity of a CPU there, 1..=1024. Speed is taken to follow the clock, as the kernel does.
    pub performance: Vec<u64>,
    /// Milliwatts of one busy CPU, as the kernel's energy model has them; 0: unknown.
    pub power: Vec<u64>,
    /// Milliwatts that the CPUs of one clock draw together while one of them is awake, besides that: their clusters' static
    /// power. No file of the kernel has it; 0: unknown.
    pub static_power: Vec<u64>,
}

/// Clocks of one CPU, in kHz.
struct Clocks {
    /// The lowest CPU that has the same clock.
    first: usize,
    /// All of them, ascending. Drivers that name none have their lowest and their highest.
    all: Vec<u64>,
    /// Those between `scaling_min_freq` and `scaling_max_freq`.
    allowed: Vec<u64>,
}

/// Gives a machine its clocks.
pub(super) fn read(tree: &Tree, machine: &mut Machine, capacities: &Capacities) {
    let clocks: Vec<Option<Clocks>> = (0..machine.cpus.len()).map(|cpu| clocks(tree, cpu, capacities)).collect();
    let first = |(cpu, clocks): (usize, &Option<Clocks>)| clocks.as_ref().map_or(cpu, |clocks| clocks.first) as u64;
    let domains = numbered(clocks.iter().enumerate().map(first).collect());
    for (cpu, clocks) in clocks.iter().enumerate() {
        let described = &mut machine.cpus[cpu];
        described.performance_domain = domains[cpu];
        let table = clocks.as_ref().map_or_else(OppTable::default, |clocks| table(tree, cpu, described, clocks));
        let known = machine.opp_tables.iter().position(|other| *other == table);
        described.opp_table = known.unwrap_or(machine.opp_tables.len()) as u64;
        if known.is_none() {
            machine.opp_tables.push(table);
        }
    }
    let governors = || (0..clocks.len()).filter_map(|cpu| tree.cpu_text(cpu, "cpufreq/scaling_governor"));
    machine.cpuperf = governors().any(|governor| governor == "schedutil");
}

fn clocks(tree: &Tree, cpu: usize, capacities: &Capacities) -> Option<Clocks> {
    let khz = |file: &str| khz(tree, cpu, file);
    let named = |file: &str| list_of_khz(&tree.cpu_text(cpu, &format!("cpufreq/{file}")).unwrap_or_default());
    let mut all = [named("scaling_available_frequencies"), named("scaling_boost_frequencies")].concat();
    let is_range = all.is_empty();
    let highest_of_kind = || {
        let kind = capacities.kind_of(cpu).map_or(&[] as &[usize], |kind| &kind.cpus);
        let others = kind.iter().filter_map(|other| self::khz(tree, *other, "cpuinfo_max_freq"));
        others.chain(khz("cpuinfo_max_freq")).max()
    };
    if is_range {
        all.extend([khz("cpuinfo_min_freq"), highest_of_kind()].into_iter().flatten());
    }
    all.sort_unstable();
    all.dedup();
    // At its own highest clock a CPU is not limited, though a favoured one of its kind may reach more.
    let highest = khz("scaling_max_freq").filter(|highest| khz("cpuinfo_max_freq") != Some(*highest));
    let (lowest, highest) = (khz("scaling_min_freq").unwrap_or(0), highest.unwrap_or(u64::MAX));
    let allowed = if is_range { clamped(&all, lowest, highest) } else { within(&all, lowest, highest) };
    let first = tree.cpu_list(cpu, "cpufreq/related_cpus").and_then(|cpus| cpus.into_iter().min()).unwrap_or(cpu);
    (!all.is_empty()).then_some(Clocks { first, all, allowed })
}

fn khz(tree: &Tree, cpu: usize, file: &str) -> Option<u64> {
    tree.cpu_number(cpu, &format!("cpufreq/{file}")).filter(|khz| *khz > 0)
}

/// The clocks of a list between two limits.
fn within(all: &[u64], lowest: u64, highest: u64) -> Vec<u64> {
    let allowed: Vec<u64> = all.iter().copied().filter(|khz| (lowest..=highest).contains(khz)).collect();
    if !allowed.is_empty() {
        return allowed;
    }
    // Limits between two clocks leave none: the driver then takes the next one below.
    let below = all.iter().copied().filter(|khz| *khz <= highest).max();
    below.or(all.first().copied()).into_iter().collect()
}

/// The ends of a range that is limited, any clock of which there is.
fn clamped(all: &[u64], lowest: u64, highest: u64) -> Vec<u64> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    let mut ends = all.iter().map(|khz| (*khz).max(lowest).min(highest).clamp(*first, *last)).collect::<Vec<_>>();
    ends.dedup();
    ends
}

fn list_of_khz(text: &str) -> Vec<u64> {
    text.split_whitespace().filter_map(|khz| khz.parse().ok()).collect()
}

/// The table of a CPU, whose performance it sets to that of its highest allowed clock.
fn table(tree: &Tree, number: usize, cpu: &mut Cpu, clocks: &Clocks) -> OppTable {
    let highest = clocks.all.last().copied().unwrap_or(1);
    let performance = |khz: &u64| (cpu.capacity * khz / highest).max(1);
    let watts = energy_model(tree, number);
    let power = |khz: &u64| watts.iter().find(|(clock, _)| clock == khz).map_or(0, |(_, milliwatts)| *milliwatts);
    let table = OppTable {
        performance: clocks.allowed.iter().map(performance).collect(),
        power: clocks.allowed.iter().map(power).collect(),
        static_power: vec![0; clocks.allowed.len()],
        frequency: clocks.allowed.clone(),
    };
    cpu.performance = table.performance.last().copied().unwrap_or(cpu.capacity);
    table
}

/// Clocks in kHz and milliwatts of the energy model of a CPU's domain; none if its units are abstract (flag bit 0 unset).
fn energy_model(tree: &Tree, cpu: usize) -> Vec<(u64, u64)> {
    const FOLDER: &str = "kernel/debug/energy_model";
    let text = |domain: &str, file: &str| tree.sys(&format!("{FOLDER}/{domain}/{file}"));
    let has_cpu =
        |domain: &&String| text(domain, "cpus").and_then(|cpus| list(&cpus)).is_some_and(|cpus| cpus.contains(&cpu));
    let domains = tree.names(FOLDER);
    let Some(domain) = domains.iter().find(has_cpu) else { return Vec::new() };
    let flags = text(domain, "flags").and_then(|flags| u64::from_str_radix(flags.trim_start_matches("0x"), 16).ok());
    if flags.is_some_and(|flags| flags & 1 == 0) {
        return Vec::new();
    }
    let state = |name: &String| {
        let number = |file: &str| text(domain, &format!("{name}/{file}"))?.parse::<u64>().ok();
        // Microwatts since Linux 5.19.
        Some((number("frequency")?, (number("power")? + 500) / 1000))
    };
    let states = tree.names(&format!("{FOLDER}/{domain}"));
    states.iter().filter(|name| name.starts_with("ps:")).filter_map(state).collect()
}
