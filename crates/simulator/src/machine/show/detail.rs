// SPDX-License-Identifier: MIT OR Apache-2.0
//! What clusters of one kind can do: clocks, power, idle states, and what limits them.

use super::groups::{self, Group};
use super::{paper, units};
use crate::machine::{Boost, Cluster, IdleScope, IdleState, Machine, Opp, PerformanceDomain};
use crate::units::{CpuId, PerformanceDomainId};
use tandem_loader::cpus::CpuList;

/// Operating points that stand beside each other at most; more continue below.
const MOST_OPPS: usize = 10;
/// Columns before the text of each line, the label in them.
const LABEL: usize = 10;

/// The lines about one group of clusters, at most `width` columns each.
pub(super) fn of(machine: &Machine, group: &Group, width: usize) -> Vec<String> {
    let cpus = group.cpus(machine);
    let Some(first) = cpus.first() else { return Vec::new() };
    let domain = &machine.performance_domains[machine.cpus[first.index()].performance_domain.index()];
    let cluster = group.first(machine);
    let list = CpuList::of(&cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>());
    let mut lines = paper::wrap(&format!("{}: CPUs {list}", group.name(machine)), width, 2);
    let mut add = |label: &str, text: &str| {
        lines.extend(paper::labelled(&format!("  {label}"), text, LABEL, width));
    };
    add("core", &core(machine, cluster, *first));
    add("clock", &clock(machine, group, domain));
    for (place, limit) in limits(machine, &cpus).iter().enumerate() {
        add(if place == 0 { "limit" } else { "" }, limit);
    }
    let package = &machine.packages[cluster.package.index()];
    for (limits, whose) in [(&cluster.boost, "cluster"), (&package.boost, "package")] {
        if !limits.is_empty() {
            add("boost", &boost(limits, whose));
        }
    }
    if let Some(follows) = &cluster.voltage_follows {
        add("voltage", &voltage_follows(machine, follows));
    }
    for (depth, state) in cluster.idle_states.iter().enumerate() {
        add(if depth == 0 { "idle" } else { "" }, &idle(state));
    }
    add("static", &format!("{} W per cluster", units::watts(cluster.static_watts)));
    lines.extend(table(&domain.opps, width));
    lines
}

/// `cortex-a53: capacity 462, 0.578 of CPU 4's work per clock, 0.7 of its speed in memory`.
fn core(machine: &Machine, cluster: &Cluster, cpu: CpuId) -> String {
    let kind = machine.core_type(cpu);
    let reference = machine.reference.cpu;
    let described = &machine.cpus[cpu.index()];
    let mut text = format!("{}: capacity {}", kind.name, described.capacity);
    if described.speed != described.capacity {
        text.push_str(&format!(" to its kernel, speed {}", described.speed));
    }
    if described.itmt_priority > 0 {
        text.push_str(&format!(", rank {}", described.itmt_priority));
    }
    let (ipc, memory) = (kind.ipc / machine.core_type(reference).ipc, kind.memory_speed);
    if (ipc, memory) != (1.0, 1.0) {
        let (ipc, memory) = (units::number(ipc, 3), units::number(memory, 2));
        text.push_str(&format!(", {ipc} of CPU {reference}'s work per clock, {memory} of its speed in memory"));
    }
    if cluster.cores.iter().any(|core| machine.cores[core.index()].cpus.len() > 1) {
        text.push_str(&format!(", {} with a busy SMT sibling", units::number(kind.smt_speed, 2)));
    }
    text
}

/// `533-1844 MHz, 5 points, one per cluster, 300 us to change`.
fn clock(machine: &Machine, group: &Group, domain: &PerformanceDomain) -> String {
    let (Some(low), Some(high)) = (domain.opps.first(), domain.opps.last()) else { return String::new() };
    if !domain.scalable {
        return format!("{} MHz, fixed: no cpufreq", units::mhz(high.khz));
    }
    let scope = scope(machine, group, domain);
    let points = match domain.opps.len() {
        1 => format!("{} MHz, 1 point", units::mhz(high.khz)),
        count => format!("{}-{} MHz, {count} points", units::mhz(low.khz), units::mhz(high.khz)),
    };
    let duty = domain.opps.iter().filter(|opp| opp.duty < 1.0).count();
    let duty = if duty == 0 { String::new() } else { format!(" ({duty} by duty cycle)") };
    format!("{points}{duty}, {scope}, {} to change", units::time(domain.transition_latency))
}

/// How many clocks there are: `one per cluster`, `one for CPUs 0-3`.
fn scope(machine: &Machine, group: &Group, domain: &PerformanceDomain) -> String {
    let cluster = groups::cpus(machine, group.first(machine));
    let core = &machine.cores[machine.cpus[domain.cpus[0].index()].core.index()].cpus;
    if domain.cpus.len() == 1 {
        return "one per CPU".to_owned();
    }
    if domain.cpus.len() == core.len() {
        return "one per core".to_owned();
    }
    if domain.cpus == cluster {
        return "one per cluster".to_owned();
    }
    let list = domain.cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>();
    format!("one for CPUs {}", CpuList::of(&list))
}

/// Clock limits of the configuration in force.
fn limits(machine: &Machine, cpus: &[CpuId]) -> Vec<String> {
    let domains: std::collections::BTreeSet<PerformanceDomainId> =
        cpus.iter().map(|cpu| machine.cpus[cpu.index()].performance_domain).collect();
    let mut limits: Vec<((u32, u32), Vec<u32>)> = Vec::new();
    for id in domains {
        let domain = &machine.performance_domains[id.index()];
        if (domain.min_opp, domain.max_opp) == (0, domain.opps.len() - 1) {
            continue;
        }
        let range = (domain.opps[domain.min_opp].khz, domain.opps[domain.max_opp].khz);
        let members = domain.cpus.iter().map(|cpu| cpu.0);
        match limits.iter_mut().find(|(known, _)| *known == range) {
            Some((_, cpus)) => cpus.extend(members),
            None => limits.push((range, members.collect())),
        }
    }
    let text = |((low, high), mut cpus): ((u32, u32), Vec<u32>)| {
        cpus.sort_unstable();
        let range = if low == high { units::mhz(low) } else { format!("{}-{}", units::mhz(low), units::mhz(high)) };
        format!("CPUs {}: {range} MHz", CpuList::of(&cpus))
    };
    limits.into_iter().map(text).collect()
}

/// `at most MHz by active cores of the package: 5200 with 2, 4900 with 8`.
fn boost(limits: &[Boost], whose: &str) -> String {
    let entry = |limit: &Boost| format!("{} with {}", units::mhz(limit.max_khz), limit.active_cores);
    let entries = limits.iter().map(entry).collect::<Vec<_>>().join(", ");
    format!("at most MHz by active cores of the {whose}: {entries}")
}

fn voltage_follows(machine: &Machine, follows: &crate::machine::VoltageFollows) -> String {
    let step = |(khz, microvolts): &(u32, u32)| {
        format!("{} V from {} MHz", units::number(f64::from(*microvolts) / 1e6, 3), units::mhz(*khz))
    };
    let steps = follows.floor.iter().map(step).collect::<Vec<_>>().join(", ");
    format!("follows {}: at least {steps}", machine.clusters[follows.leader.index()].name)
}

/// `cpu-sleep: 0 W, in 133 us, out 217 us (at most 400 us, 650 us), pays from 1.5 ms`.
fn idle(state: &IdleState) -> String {
    let scope = match state.scope {
        IdleScope::Core => String::new(),
        IdleScope::Cluster => format!(" (cluster {} W)", units::watts(state.cluster_watts)),
    };
    let (entry, exit, residency) = (units::time(state.entry), units::time(state.exit), units::time(state.residency));
    let (into, out, watts) =
        (units::time(state.typical_entry), units::time(state.typical_exit), units::watts(state.watts));
    let differs = (state.typical_entry, state.typical_exit) != (state.entry, state.exit);
    let longest = if differs { format!(" (at most {entry}, {exit})") } else { String::new() };
    let told = match state.told_residency {
        told if told == state.residency => String::new(),
        told => format!("; the kernel is told {}", units::time(told)),
    };
    format!("{}: {watts} W{scope}, in {into}, out {out}{longest}, pays from {residency}{told}", state.name)
}

/// Clocks, voltages and watts of one busy core in columns; those for which there is no room follow below.
fn table(opps: &[Opp], width: usize) -> Vec<String> {
    let widest = opps.iter().map(|opp| paper::columns(&units::mhz(opp.khz))).max().unwrap_or(0);
    let column = widest.max(5) + 1;
    let room = (width.saturating_sub(LABEL) / column).clamp(1, MOST_OPPS);
    // As even as possible: twelve points are six above six rather than ten above two.
    let beside = opps.len().div_ceil(opps.len().div_ceil(room).max(1)).max(1);
    let has_volts = opps.iter().any(|opp| opp.microvolts.is_some());
    opps.chunks(beside).flat_map(|opps| rows(opps, column, has_volts)).collect()
}

/// The lines of points that stand beside each other, `column` columns each.
fn rows(opps: &[Opp], column: usize, has_volts: bool) -> Vec<String> {
    let row = |label: &str, cell: &dyn Fn(&Opp) -> String| {
        let cells: String = opps.iter().map(|opp| format!("{:>column$}", cell(opp))).collect();
        format!("{:<LABEL$}{cells}", format!("  {label}"))
    };
    let mut lines = vec![row("MHz", &|opp| units::mhz(opp.khz))];
    if has_volts {
        let volts = |opp: &Opp| opp.microvolts.map_or("-".to_owned(), |uv| units::number(f64::from(uv) / 1e6, 3));
        lines.push(row("V", &volts));
    }
    lines.push(row("W busy", &|opp| units::watts(opp.dynamic_watts + opp.leakage_watts)));
    lines
}
