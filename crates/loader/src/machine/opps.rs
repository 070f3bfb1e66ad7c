// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks from cpufreq, and watts from the kernel's energy model, which only root may read and only with debugfs mounted.

use super::topology::numbered;
use super::{Capacities, Cpu, Machine};
use crate::reading::{Policy, PowerUnit, Reading};

/// Operating points of a kind of CPU, ascending by clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OppTable {
    /// Clocks in kHz that are allowed now.
    pub frequency: Vec<u64>,
    /// Capacity of a CPU there, 1..=1024. Speed is taken to follow the clock, as the kernel does.
    pub performance: Vec<u64>,
    /// Milliwatts of one busy CPU, as the kernel's energy model has them; 0: unknown.
    pub power: Vec<u64>,
    /// Milliwatts that one busy CPU adds to an idle machine, as who described or measured that machine says. No file of the
    /// kernel has it; 0: unknown.
    pub busy_power: Vec<u64>,
    /// Milliwatts that the CPUs of one clock draw together while one of them is awake, besides that: their clusters' static
    /// power. No file of the kernel has it; 0: unknown.
    pub static_power: Vec<u64>,
    /// Microwatts that an idle CPU draws in each of its idle states, the shallowest first. No file of the kernel has it; empty: unknown.
    pub idle_power: Vec<u64>,
    /// Microseconds from which on it pays to stay in each of them.
    pub idle_residency: Vec<u64>,
}

/// Clocks of one CPU, in kHz.
struct Clocks {
    /// The lowest CPU that has the same clock.
    first: usize,
    /// All clocks, ascending. Drivers that name none have their lowest and their highest.
    all: Vec<u64>,
    /// The clocks between `scaling_min_freq` and `scaling_max_freq`.
    allowed: Vec<u64>,
}

/// Gives a machine its clocks.
pub(super) fn add(reading: &Reading, machine: &mut Machine, capacities: &Capacities) {
    let policy = |cpu: usize| reading.policy_of(cpu as u32);
    let of = |cpu: usize| clocks(reading, cpu, policy(cpu)?, capacities);
    let clocks: Vec<Option<Clocks>> = (0..machine.cpus.len()).map(of).collect();
    let first = |(cpu, clocks): (usize, &Option<Clocks>)| clocks.as_ref().map_or(cpu, |clocks| clocks.first) as u64;
    let domains = numbered(clocks.iter().enumerate().map(first).collect());
    for (cpu, clocks) in clocks.iter().enumerate() {
        let described = &mut machine.cpus[cpu];
        described.performance_domain = domains[cpu];
        let table = clocks.as_ref().map_or_else(OppTable::default, |clocks| table(reading, cpu, described, clocks));
        let known = machine.opp_tables.iter().position(|other| *other == table);
        described.opp_table = known.unwrap_or(machine.opp_tables.len()) as u64;
        if known.is_none() {
            machine.opp_tables.push(table);
        }
    }
    machine.cpuperf = reading.policies.iter().any(|policy| policy.governor.as_deref() == Some("schedutil"));
}

fn clocks(reading: &Reading, cpu: usize, policy: &Policy, capacities: &Capacities) -> Option<Clocks> {
    let mut all: Vec<u64> = policy.khz.iter().copied().map(u64::from).collect();
    let is_range = all.is_empty();
    if is_range {
        let like = reading.like(cpu as u32) as usize;
        let others = capacities.kind_of(like).map_or(&[] as &[usize], |kind| &kind.cpus);
        let others = others.iter().filter_map(|other| reading.policy_of(*other as u32)?.max_khz);
        let highest_of_kind = others.chain(policy.max_khz).max();
        all.extend([policy.min_khz, highest_of_kind].into_iter().flatten().map(u64::from));
    }
    all.sort_unstable();
    all.dedup();
    // At its own highest clock a CPU is not limited, though a favoured one of its kind may reach more.
    let highest = policy.max_limit_khz.filter(|highest| policy.max_khz != Some(*highest)).map_or(u64::MAX, u64::from);
    let lowest = policy.min_limit_khz.map_or(0, u64::from);
    let allowed = if is_range { clamped(&all, lowest, highest) } else { within(&all, lowest, highest) };
    let first = policy.cpus.iter().min().map_or(cpu, |first| *first as usize);
    (!all.is_empty()).then_some(Clocks { first, all, allowed })
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

/// The table of a CPU, whose performance it sets to that of its highest allowed clock.
fn table(reading: &Reading, number: usize, cpu: &mut Cpu, clocks: &Clocks) -> OppTable {
    let highest = clocks.all.last().copied().unwrap_or(1);
    let performance = |khz: &u64| (cpu.capacity * khz / highest).max(1);
    let watts = energy_model(reading, number);
    let power = |khz: &u64| watts.iter().find(|(clock, _)| clock == khz).map_or(0, |(_, milliwatts)| *milliwatts);
    let table = OppTable {
        performance: clocks.allowed.iter().map(performance).collect(),
        power: clocks.allowed.iter().map(power).collect(),
        busy_power: vec![0; clocks.allowed.len()],
        static_power: vec![0; clocks.allowed.len()],
        frequency: clocks.allowed.clone(),
        ..OppTable::default()
    };
    cpu.performance = table.performance.last().copied().unwrap_or(cpu.capacity);
    table
}

/// Clocks in kHz and milliwatts of the energy model of a CPU's domain; none if its units are abstract.
fn energy_model(reading: &Reading, cpu: usize) -> Vec<(u64, u64)> {
    let Some(domain) = reading.energy_of(cpu as u32) else { return Vec::new() };
    let milliwatts = |power: u64| match domain.unit {
        PowerUnit::Microwatts => Some((power + 500) / 1000),
        PowerUnit::Milliwatts => Some(power),
        PowerUnit::Abstract => None,
    };
    domain.states.iter().filter_map(|(khz, power)| Some((u64::from(*khz), milliwatts(*power)?))).collect()
}
