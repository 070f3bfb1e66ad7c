// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what the kernel says to what the description will say. Pure: facts in, plan and warnings out.
//!
//! In the order of [`Plan::of`]: `cores` finds the cores and places offline CPUs, `clocks` their operating points,
//! `kinds` the kinds of core and their speed per clock, `idle` their idle states, `clusters` what shares what.

mod clocks;
mod clusters;
mod cores;
mod idle;
mod kinds;
mod measured;
mod parts;

use super::{Measured, MeasuredCores, MeasuredDram, MeasuredMemory, MeasuredSwitching, MeasuredUncore, assumed};
use crate::machine::CpufreqDriver;
use tandem_loader::cpus::CpuList;
use tandem_loader::reading::Reading;

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sourced<T> {
    pub value: T,
    pub source: String,
}

/// A description, decided but not yet written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub title: String,
    pub notes: Vec<String>,
    pub kinds: Vec<Kind>,
    /// Work per clock of the fastest CPU's kind, which need not be the best.
    pub reference_ipc: f64,
    pub clocks: Vec<Clock>,
    pub idle_tables: Vec<IdleTable>,
    pub memories: Vec<Memory>,
    pub packages: Vec<Package>,
    pub clusters: Vec<Cluster>,
    /// The driver that decides clocks itself, if it is one.
    pub cpufreq_driver: Option<CpufreqDriver>,
    /// The online CPUs, if some are not.
    pub online: Option<Vec<u32>>,
    /// What was measured of a package beside its cores.
    pub uncore: Option<MeasuredUncore>,
    /// What was measured of one node's memory but for its bandwidth.
    pub dram: Option<MeasuredDram>,
    /// What was measured of the costs of scheduling.
    pub switching: MeasuredSwitching,
    /// How all of that was measured.
    pub measured_source: String,
}

/// A kind of core.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    pub name: String,
    /// Work per clock, 1 for the best kind.
    pub ipc: Sourced<f64>,
    /// Whether some core of this kind has several threads.
    pub smt: bool,
    /// What was measured of its cores.
    pub measured: Option<MeasuredCores>,
}

/// Operating points of cores of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clock {
    pub name: String,
    /// Ascending, in kHz.
    pub khz: Sourced<Vec<u32>>,
    pub power: Power,
    pub latency_us: Sourced<f64>,
    /// Whether a cpufreq driver can change it.
    pub scalable: bool,
    /// Whether Linux has an energy model of it: none of its drivers for x86 registers one of operating points.
    pub energy_model: bool,
}

/// What the operating points of a [`Clock`] draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Power {
    /// The energy model's watts of one busy core.
    Modelled(Sourced<Vec<f64>>),
    /// Nobody knows: an assumed voltage ramp and coefficient.
    Assumed(assumed::Power),
    /// What a meter said.
    Measured(MeasuredPower),
}

/// Measured power of one busy core at each clock.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MeasuredPower {
    pub watts: Vec<f64>,
    /// Millivolts, where the kernel says them.
    pub mv: Option<Vec<f64>>,
    /// Only with voltages.
    pub leakage_watts_per_v: Option<f64>,
    pub source: String,
}

/// Idle states of cores of one kind, shallow to deep.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IdleTable {
    pub name: String,
    pub states: Vec<IdleState>,
    pub source: String,
    /// How the watts were measured; `None`: they are assumed.
    pub watts_source: Option<String>,
}

/// An idle state of an [`IdleTable`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IdleState {
    pub name: String,
    /// Whether the name says that it stops the cluster.
    pub stops_cluster: bool,
    pub exit_us: u64,
    pub residency_us: u64,
    pub watts: f64,
}

/// The memory of a NUMA node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Memory {
    pub node: u32,
    pub name: String,
    pub cores: usize,
    pub kib: Option<u64>,
    /// Distances of the node to all nodes; empty where the kernel does not tell.
    pub distances: Vec<u32>,
    /// What was measured; `None`: nothing was.
    pub measured: Option<MeasuredMemory>,
}

/// A package.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Package {
    pub number: i64,
    pub name: String,
    /// Watts of all its cores busy at their highest clock.
    pub busy_watts: f64,
}

/// Cores of one kind that share what such cores share. Indices point into the tables of [`Plan`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cluster {
    pub name: String,
    pub package: usize,
    pub kind: usize,
    pub clock: usize,
    pub idle_table: usize,
    pub memory: usize,
    pub node: u32,
    /// The value of `performance_domain`.
    pub domain: &'static str,
    /// CPUs of each core.
    pub cores: Vec<Vec<u32>>,
    /// Rank of each core; empty where the firmware does not rank them.
    pub ranks: Vec<u32>,
    pub cache: Option<Cache>,
}

/// The last-level cache of a [`Cluster`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cache {
    pub level: u32,
    pub kib: u64,
    /// The value of `per`.
    pub per: &'static str,
}

impl Clock {
    /// Watts of one busy core at the lowest and at the highest clock.
    pub(super) fn busy_watts(&self) -> (f64, f64) {
        let ends = |watts: &[f64]| (watts.first().copied().unwrap_or(0.0), watts.last().copied().unwrap_or(0.0));
        match &self.power {
            Power::Modelled(watts) => ends(&watts.value),
            Power::Assumed(power) => ends(&power.watts(&self.khz.value)),
            Power::Measured(power) => ends(&power.watts),
        }
    }
}

impl Plan {
    /// Decides the description of the machine that `facts` show, and adds to `warnings` what is doubtful about it.
    pub(super) fn of(facts: &Reading, measured: &Measured, warnings: &mut Vec<String>) -> Self {
        let cores = cores::find(facts, warnings);
        let mut raw = clocks::find(facts, &cores, warnings);
        let tops: Vec<u32> = raw.iter().map(clocks::RawClock::top).collect();
        let (mut kinds, kind_of) = kinds::find(facts, &cores, &tops, warnings);
        measured::kinds(&mut kinds, &kind_of, &cores, measured);
        clocks::merge_favoured(&mut raw, &kind_of, &cores, warnings);
        clocks::warn_of_watts(&raw, &cores, measured, warnings);
        let (mut clocks, clock_of) = clocks::tables(&raw, &kinds, &kind_of, facts);
        measured::clocks(&mut clocks, &clock_of, &cores, measured);
        let (mut idle_tables, idle_of) = idle::tables(facts, &cores, &clocks, &clock_of, warnings);
        measured::idle(&mut idle_tables, &idle_of, &cores, measured);
        let tables = clusters::Tables { kinds: &kinds, kind_of, clocks: &clocks, clock_of, idle_of };
        let mut layout = clusters::lay_out(facts, &cores, &tables, warnings);
        for node in &mut layout.memories {
            node.measured = measured.memory.get(&node.node).cloned();
        }
        let nodes = layout.memories.len().max(1) as f64;
        let dram = measured.dram.map(|dram| MeasuredDram { static_watts: dram.static_watts / nodes, ..dram });
        warnings.push(assumed::warning(&assumed::Known {
            bandwidth: layout.memories.iter().all(|node| node.measured.is_some()),
            memory: dram.is_some(),
            uncore: measured.uncore.is_some(),
            idle: idle_tables.iter().all(|table| table.watts_source.is_some()),
            smt: kinds
                .iter()
                .all(|kind| !kind.smt || kind.measured.as_ref().is_some_and(|kind| kind.smt_speed.is_some())),
            switching: measured.switching.context_switch_us.is_some(),
        }));
        Self {
            title: title(facts, cores.len()),
            notes: notes(facts),
            cpufreq_driver: facts.policies.iter().find_map(|policy| CpufreqDriver::named(policy.driver.as_deref()?)),
            online: facts.cpus.iter().any(|cpu| !cpu.online).then(|| online(facts)),
            reference_ipc: reference_ipc(&kinds, &clocks, &layout.clusters),
            kinds,
            clocks,
            idle_tables,
            memories: layout.memories,
            packages: layout.packages,
            clusters: layout.clusters,
            uncore: measured.uncore,
            dram,
            switching: measured.switching,
            measured_source: measured.source.clone(),
        }
    }
}

/// The fastest CPU is the one with the most work per second; of several the first.
fn reference_ipc(kinds: &[Kind], clocks: &[Clock], clusters: &[Cluster]) -> f64 {
    let mut fastest = (0.0, 1.0);
    for cluster in clusters {
        let ipc = kinds[cluster.kind].ipc.value;
        let speed = clocks[cluster.clock].khz.value.last().map_or(0.0, |khz| f64::from(*khz) * ipc);
        if speed > fastest.0 {
            fastest = (speed, ipc);
        }
    }
    fastest.1
}

fn online(facts: &Reading) -> Vec<u32> {
    facts.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.number).collect()
}

fn title(facts: &Reading, cores: usize) -> String {
    let model = facts.cpus.iter().find_map(|cpu| cpu.model.clone());
    let name = facts.board.clone().or(model).unwrap_or_else(|| "Unnamed machine".to_owned());
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let cpus = facts.cpus.len();
    format!("{name}: {cores} core{}, {cpus} CPU{}", plural(cores), plural(cpus))
}

fn notes(facts: &Reading) -> Vec<String> {
    let mut notes = vec![super::NOTE.to_owned()];
    if let Some(kib) = facts.memory_kib {
        notes.push(format!("Memory: {:.1} GiB.", kib as f64 / f64::from(1 << 20)));
    }
    if !facts.powercap.is_empty() {
        notes.push(format!("Energy counters to calibrate against: powercap {}.", facts.powercap.join(", ")));
    }
    let offline: Vec<u32> = facts.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.number).collect();
    if !offline.is_empty() {
        let list = CpuList::of(&offline);
        notes.push(format!("CPUs {list} were offline; the configuration `online` leaves them out."));
    }
    notes
}

/// Gives each of `names` that occurs more than once its running number: `cluster0`, `cluster1`.
fn number_repeated(names: &[String], separator: &str) -> Vec<String> {
    let mut numbered: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let before = names[..index].iter().filter(|other| *other == name).count();
        let single = names.iter().filter(|other| *other == name).count() == 1;
        numbered.push(if single { name.clone() } else { format!("{name}{separator}{before}") });
    }
    numbered
}
