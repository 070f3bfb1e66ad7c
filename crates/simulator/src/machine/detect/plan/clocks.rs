// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operating points of every core, and the tables that cores share.

use super::cores::Core;
use super::{Clock, Kind, Power, Sourced, number_repeated};
use crate::machine::detect::{Measured, assumed};
use tandem_loader::cpus::CpuList;
use tandem_loader::reading::{EnergyDomain, Policy, PowerUnit, Reading};

/// Two cores of one kind whose highest clocks differ by less than this share, with a driver that lists no operating
/// points, are alike but for the clock that the firmware grants the best of them (favoured cores).
const FAVOURED: f64 = 0.10;

/// Steps between the ends of a clock range whose driver lists none: that of Intel's and AMD's processors.
const STEP_KHZ: u32 = 100_000;
/// Operating points made up for such a range at most; wider steps beyond.
const MOST_STEPS: u32 = 40;

/// The clock of one core before cores are compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawClock {
    khz: Vec<u32>,
    source: String,
    /// Whether only the ends are known and the points between are made up.
    range_only: bool,
    watts: Option<Sourced<Vec<f64>>>,
    latency_us: Option<f64>,
    scalable: bool,
}

impl RawClock {
    /// The highest clock in kHz.
    pub(super) fn top(&self) -> u32 {
        self.khz.last().copied().unwrap_or(0)
    }

    fn bottom(&self) -> u32 {
        self.khz.first().copied().unwrap_or(0)
    }
}

/// The clock of each core.
pub(super) fn find(facts: &Reading, cores: &[Core], warnings: &mut Vec<String>) -> Vec<RawClock> {
    let clocks: Vec<RawClock> = cores.iter().map(|core| of_core(facts, core, warnings)).collect();
    let fixed: Vec<u32> = cpus_where(cores, |core| !clocks[core].scalable);
    if !fixed.is_empty() {
        let list = CpuList::of(&fixed);
        warnings
            .push(format!("CPUs {list} have no cpufreq, or none that names clocks: described with one fixed clock"));
    }
    let ranges: Vec<u32> = cpus_where(cores, |core| clocks[core].range_only);
    if !ranges.is_empty() {
        let list = CpuList::of(&ranges);
        warnings.push(format!("the cpufreq driver of CPUs {list} lists no clocks: even steps are assumed"));
    }
    warnings.dedup();
    clocks
}

fn cpus_where(cores: &[Core], holds: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut cpus: Vec<u32> =
        cores.iter().enumerate().filter(|(index, _)| holds(*index)).flat_map(|(_, core)| core.cpus.clone()).collect();
    cpus.sort_unstable();
    cpus
}

fn of_core(facts: &Reading, core: &Core, warnings: &mut Vec<String>) -> RawClock {
    let policy = facts.policy_of(core.leader);
    let domain = facts.energy_of(core.leader);
    let Some(policy) = policy else { return fixed(facts, core, warnings) };
    let mut clock = match (domain, policy.khz.is_empty(), policy.max_khz) {
        (Some(domain), ..) => modelled(domain, policy, warnings),
        (None, false, max) => listed(&policy.khz, max),
        (None, true, Some(max)) => range(policy.min_khz.unwrap_or(max).min(max), max),
        (None, true, None) => return fixed(facts, core, warnings),
    };
    clock.scalable = true;
    clock.latency_us = policy.latency_ns.map(|ns| ns as f64 / 1e3);
    clock
}

/// A clock that nothing changes, from /proc/cpuinfo, or ACPI, or nobody.
fn fixed(facts: &Reading, core: &Core, warnings: &mut Vec<String>) -> RawClock {
    // The kernel measures `cpu MHz` over the last moments where it can, so that the highest CPU is nearest the truth.
    let measured = facts.cpus.iter().filter_map(|cpu| cpu.mhz).max_by(f64::total_cmp);
    let (mhz, source) = match (measured, core.facts(facts).nominal_mhz) {
        (Some(mhz), _) => (mhz.round(), "/proc/cpuinfo, highest cpu MHz"),
        (None, Some(mhz)) => (mhz, "sysfs acpi_cppc/nominal_freq"),
        (None, None) => {
            let trouble = "no clock in cpufreq, /proc/cpuinfo or acpi_cppc";
            // Of CPUs of one kind some may be silent.
            let others = facts.policies.iter().filter_map(|policy| policy.max_khz).max();
            let mhz = others.map_or(assumed::MHZ, |khz| f64::from(khz) / 1e3);
            warnings.push(format!("{trouble}: {mhz} MHz assumed for every such CPU"));
            (mhz, assumed::MHZ_SOURCE)
        }
    };
    let khz = vec![(mhz.max(1.0) * 1e3) as u32];
    let source = source.to_owned();
    RawClock { khz, source, range_only: false, watts: None, latency_us: None, scalable: false }
}

fn modelled(domain: &EnergyDomain, policy: &Policy, warnings: &mut Vec<String>) -> RawClock {
    let khz: Vec<u32> = domain.states.iter().map(|(khz, _)| *khz).collect();
    let top = khz.last().copied().unwrap_or(0);
    if policy.max_khz.is_some_and(|max| max.abs_diff(top) > max / 100) {
        let (name, max) = (&domain.name, policy.max_khz.unwrap_or(0));
        warnings.push(format!("energy model {name} ends at {top} kHz, cpuinfo_max_freq is {max}: the former is used"));
    }
    let source = format!("kernel energy model {}", domain.name);
    let (divisor, unit) = match domain.unit {
        PowerUnit::Microwatts => (1e6, "microwatts"),
        PowerUnit::Milliwatts => (1e3, "milliwatts by their size, as older kernels have them"),
        PowerUnit::Abstract => {
            warnings.push(format!("energy model {} is abstract, not in watts: only its clocks are used", domain.name));
            return RawClock { khz, source, range_only: false, watts: None, latency_us: None, scalable: true };
        }
    };
    let watts = domain.states.iter().map(|(_, power)| *power as f64 / divisor).collect();
    let watts = Some(Sourced { value: watts, source: format!("{source}, power in {unit}") });
    RawClock { khz, source, range_only: false, watts, latency_us: None, scalable: true }
}

/// The driver's list; clocks above it that `cpuinfo_max_freq` admits are the boost of acpi-cpufreq.
fn listed(list: &[u32], max: Option<u32>) -> RawClock {
    let mut khz = list.to_vec();
    let mut source = "sysfs cpufreq/scaling_available_frequencies".to_owned();
    if let Some(max) = max.filter(|max| khz.last().is_none_or(|last| last < max)) {
        khz.push(max);
        source.push_str(" and cpuinfo_max_freq");
    }
    RawClock { khz, source, range_only: false, watts: None, latency_us: None, scalable: true }
}

fn range(min: u32, max: u32) -> RawClock {
    let step = ((max - min) / MOST_STEPS).div_ceil(STEP_KHZ).max(1) * STEP_KHZ;
    let multiples = (min / step + 1..).map(|factor| factor.saturating_mul(step)).take_while(|khz| *khz < max);
    let mut khz: Vec<u32> = std::iter::once(min).chain(multiples).collect();
    if max > min {
        khz.push(max);
    }
    let source = format!("sysfs cpufreq/cpuinfo_min_freq and cpuinfo_max_freq; steps of {} MHz assumed", step / 1000);
    RawClock { khz, source, range_only: true, watts: None, latency_us: None, scalable: true }
}

/// Gives cores that differ only in how far firmware lets them boost the clock range of the best of them.
pub(super) fn merge_favoured(clocks: &mut [RawClock], kind_of: &[usize], cores: &[Core], warnings: &mut Vec<String>) {
    for first in 0..clocks.len() {
        let alike: Vec<usize> = (first..clocks.len())
            .filter(|other| kind_of[*other] == kind_of[first] && are_alike(&clocks[first], &clocks[*other]))
            .collect();
        let bottom = alike.iter().map(|core| clocks[*core].bottom()).min().unwrap_or(0);
        let top = alike.iter().map(|core| clocks[*core].top()).max().unwrap_or(0);
        let raised = |core: &usize| clocks[*core].top() < top;
        let slower = cpus_where(cores, |core| alike.contains(&core) && raised(&core));
        if !slower.is_empty() {
            let (list, mhz) = (CpuList::of(&slower), top / 1000);
            warnings
                .push(format!("CPUs {list} boost less far than others of their kind; {mhz} MHz is written for all"));
        }
        for core in alike {
            if (clocks[core].bottom(), clocks[core].top()) != (bottom, top) {
                let latency_us = clocks[core].latency_us;
                clocks[core] = RawClock { latency_us, ..range(bottom, top) };
            }
        }
    }
}

fn are_alike(a: &RawClock, b: &RawClock) -> bool {
    let (a_top, b_top) = (f64::from(a.top()), f64::from(b.top()));
    a.range_only && b.range_only && (a_top - b_top).abs() < FAVOURED * a_top.max(b_top)
}

/// Says whose watts nobody knows.
pub(super) fn warn_of_watts(raw: &[RawClock], cores: &[Core], measured: &Measured, warnings: &mut Vec<String>) {
    let without_watts = cpus_where(cores, |core| raw[core].watts.is_none() && !measured.has_watts(cores[core].leader));
    if !without_watts.is_empty() {
        let (list, hint) = (CpuList::of(&without_watts), "/sys/kernel/debug/energy_model");
        warnings
            .push(format!("no watts for CPUs {list} in {hint} (needs debugfs and root): assumed, order of magnitude"));
    }
}

/// The distinct tables, and the table of each core.
pub(super) fn tables(raw: &[RawClock], kinds: &[Kind], kind_of: &[usize], facts: &Reading) -> (Vec<Clock>, Vec<usize>) {
    let mut distinct: Vec<(usize, &RawClock)> = Vec::new();
    let mut table_of = Vec::new();
    for (core, clock) in raw.iter().enumerate() {
        let key = (kind_of[core], clock);
        let found = distinct.iter().position(|known| known.0 == key.0 && is_same(known.1, clock));
        table_of.push(found.unwrap_or(distinct.len()));
        if found.is_none() {
            distinct.push(key);
        }
    }
    let names: Vec<String> = distinct.iter().map(|(kind, _)| kinds[*kind].name.clone()).collect();
    let names = number_repeated(&names, "-");
    let x86 = facts.cpus.iter().any(|cpu| cpu.vendor.is_some());
    let clocks = distinct.iter().zip(names).map(|((kind, raw), name)| table(raw, &kinds[*kind], name, x86)).collect();
    (clocks, table_of)
}

/// Equal but for the energy model domain's name.
fn is_same(a: &RawClock, b: &RawClock) -> bool {
    let watts = |clock: &RawClock| clock.watts.as_ref().map(|watts| watts.value.clone());
    let rest = |clock: &RawClock| (clock.khz.clone(), clock.range_only, clock.latency_us, clock.scalable);
    watts(a) == watts(b) && rest(a) == rest(b)
}

fn table(raw: &RawClock, kind: &Kind, name: String, x86: bool) -> Clock {
    let power = match &raw.watts {
        Some(watts) => Power::Modelled(watts.clone()),
        None => Power::Assumed(assumed::Power::of(&raw.khz, kind.ipc.value, x86)),
    };
    let latency_us = match raw.latency_us {
        Some(value) => Sourced { value, source: "sysfs cpufreq/cpuinfo_transition_latency".to_owned() },
        None if raw.scalable => Sourced { value: assumed::LATENCY_US, source: assumed::LATENCY_SOURCE.to_owned() },
        None => Sourced { value: 0.0, source: "no cpufreq that names clocks: taken as fixed".to_owned() },
    };
    let khz = Sourced { value: raw.khz.clone(), source: raw.source.clone() };
    Clock { name, khz, power, latency_us, scalable: raw.scalable, energy_model: !x86 }
}
