// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines in a few words: a description as data, written as TOML and read back by the reader under test.
//!
//! The defaults are round numbers, and only work takes time, so that results can be added up in the head.

use std::fmt::Write as _;
use std::path::Path;

use tandem_simulator::machine::Machine;

/// A machine's description as data.
#[derive(Debug, Clone)]
pub struct Spec {
    pub packages: Vec<Package>,
    pub memories: Vec<Memory>,
    pub clusters: Vec<Cluster>,
    pub platform_watts: f64,
    pub supply_efficiency: f64,
    pub context_switch_us: f64,
    pub migration_us: f64,
    pub migration_llc_us: f64,
    pub tick_us: f64,
    /// Further tables, as text.
    pub more: String,
    /// The configuration in force.
    pub restriction: Option<Restriction>,
}

/// Part of a machine: its first CPUs, and the indices of the lowest and highest OPP of each cluster.
#[derive(Debug, Clone)]
pub struct Restriction {
    pub online: u32,
    pub opps: Vec<Option<(usize, usize)>>,
}

#[derive(Debug, Clone)]
pub struct Package {
    pub uncore_watts: f64,
    pub uncore_idle_watts: f64,
    /// Boost: number of active cores and MHz.
    pub boost: Vec<(u32, u32)>,
    /// Further lines of its table.
    pub more: String,
}

#[derive(Debug, Clone)]
pub struct Memory {
    pub gb_per_s: f64,
    pub thread_gb_per_s: f64,
    pub contention: f64,
    pub static_watts: f64,
    pub nj_per_byte: f64,
    pub parent: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct Cluster {
    /// Another cluster with the same core type, clocks and idle states; if both have one clock domain, also with the
    /// same clock.
    pub like: Option<usize>,
    pub package: usize,
    pub memory: usize,
    pub node: u32,
    pub cores: u32,
    pub smt: u32,
    pub ipc: f64,
    pub memory_speed: f64,
    pub stall_activity: f64,
    pub smt_speed: f64,
    pub smt_activity: f64,
    pub opps: Vec<Opp>,
    /// Clock modulation steps of the highest OPP.
    pub duty_cycle: Vec<f64>,
    pub transition_us: u32,
    pub scalable: bool,
    /// `cpu`, `core`, `cluster` or `package`.
    pub domain: &'static str,
    pub idle: Vec<Idle>,
    pub static_watts: f64,
    pub cache: Option<Cache>,
    pub boost: Vec<(u32, u32)>,
    /// The cluster that leads, and for each of its clocks in MHz the least mV of this cluster.
    pub follows: Option<(usize, Vec<(u32, u32)>)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Opp {
    pub mhz: u32,
    pub mv: u32,
    /// Watts of a busy core, leakage included.
    pub watts: f64,
    pub leakage_watts: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct Idle {
    pub cluster_scope: bool,
    pub entry_us: u32,
    pub exit_us: u32,
    pub residency_us: u32,
    pub watts: f64,
    pub cluster_watts: f64,
}

#[derive(Debug, Clone)]
pub struct Cache {
    pub kib: u32,
    pub per: String,
    pub hit_cost: f64,
    /// GB/s between the cache and memory.
    pub link: Option<f64>,
}

impl Default for Cluster {
    /// One core at 1 GHz (5 W busy) or 2 GHz (10 W busy). 1 W of that leaks; idling draws 1 W, and takes no time to
    /// enter or leave.
    fn default() -> Self {
        Self {
            like: None,
            package: 0,
            memory: 0,
            node: 0,
            cores: 1,
            smt: 1,
            ipc: 1.0,
            memory_speed: 1.0,
            stall_activity: 0.5,
            smt_speed: 1.0,
            smt_activity: 1.0,
            opps: vec![opp(1000, 5.0), opp(2000, 10.0)],
            duty_cycle: Vec::new(),
            transition_us: 0,
            scalable: true,
            domain: "cpu",
            idle: vec![Idle {
                cluster_scope: false,
                entry_us: 0,
                exit_us: 0,
                residency_us: 0,
                watts: 1.0,
                cluster_watts: 0.0,
            }],
            static_watts: 0.0,
            cache: None,
            boost: Vec::new(),
            follows: None,
        }
    }
}

/// An OPP at 1 V of which 1 W leaks.
pub fn opp(mhz: u32, watts: f64) -> Opp {
    Opp { mhz, mv: 1000, watts, leakage_watts: 1.0 }
}

impl Default for Memory {
    /// 10 GB/s, all of them for a thread that runs alone; no static power, 1 nJ per byte.
    fn default() -> Self {
        Self {
            gb_per_s: 10.0,
            thread_gb_per_s: 10.0,
            contention: 0.0,
            static_watts: 0.0,
            nj_per_byte: 1.0,
            parent: None,
        }
    }
}

impl Default for Package {
    fn default() -> Self {
        Self { uncore_watts: 0.0, uncore_idle_watts: 0.0, boost: Vec::new(), more: String::new() }
    }
}

impl Spec {
    /// `cores` default cores in one cluster.
    pub fn cores(cores: u32) -> Self {
        Self::clusters([Cluster { cores, ..Cluster::default() }])
    }

    /// These clusters in one package.
    pub fn clusters<const N: usize>(clusters: [Cluster; N]) -> Self {
        Self {
            packages: vec![Package::default()],
            memories: vec![Memory::default()],
            clusters: clusters.into(),
            platform_watts: 0.0,
            supply_efficiency: 1.0,
            context_switch_us: 0.0,
            migration_us: 0.0,
            migration_llc_us: 0.0,
            tick_us: 0.0,
            more: String::new(),
            restriction: None,
        }
    }

    /// The machine, read from its description.
    pub fn build(&self) -> Machine {
        self.try_build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The machine, or the reader's complaint about it.
    pub fn try_build(&self) -> Result<Machine, String> {
        let text = self.to_toml();
        let configuration = self.restriction.as_ref().map(|_| "part");
        Machine::parse("test", Path::new("test.toml"), &text, configuration).map_err(|error| format!("{error}\n{text}"))
    }

    /// The description as TOML.
    pub fn to_toml(&self) -> String {
        let mut toml = String::from("schema = 1\ntitle = \"test\"\n");
        for (index, memory) in self.memories.iter().enumerate() {
            memory.write(&mut toml, index);
        }
        for (index, package) in self.packages.iter().enumerate() {
            let Package { uncore_watts, uncore_idle_watts, boost, more } = package;
            table(&mut toml, &format!("[package.p{index}]"));
            line(&mut toml, "uncore_watts", uncore_watts);
            line(&mut toml, "uncore_idle_watts", uncore_idle_watts);
            write_boost(&mut toml, boost);
            toml.push_str(more);
        }
        for (index, cluster) in self.clusters.iter().enumerate() {
            cluster.write(&mut toml, index);
        }
        table(&mut toml, "[platform]");
        line(&mut toml, "watts", self.platform_watts);
        line(&mut toml, "supply_efficiency", self.supply_efficiency);
        table(&mut toml, "[scheduling]");
        line(&mut toml, "context_switch_us", self.context_switch_us);
        line(&mut toml, "migration_us", self.migration_us);
        line(&mut toml, "migration_llc_us", self.migration_llc_us);
        line(&mut toml, "tick_us", self.tick_us);
        toml.push_str(&self.more);
        if let Some(restriction) = &self.restriction {
            self.write_restriction(&mut toml, restriction);
        }
        toml
    }

    fn write_restriction(&self, toml: &mut String, restriction: &Restriction) {
        table(toml, "[configuration.part]");
        line(toml, "title", "\"part\"");
        line(toml, "online", format!("\"0-{}\"", restriction.online - 1));
        let mut first = 0;
        let mut limits = Vec::new();
        for (cluster, range) in self.clusters.iter().zip(&restriction.opps) {
            let next = first + cluster.cores * cluster.smt;
            if let Some((low, high)) = *range {
                let (low, high) = (cluster.opps[low].mhz, cluster.opps[high].mhz);
                limits.push(format!("{{ cpus = \"{first}-{}\", min_mhz = {low}, max_mhz = {high} }}", next - 1));
            }
            first = next;
        }
        if !limits.is_empty() {
            line(toml, "limits", format!("[{}]", limits.join(", ")));
        }
    }
}

impl Memory {
    fn write(&self, toml: &mut String, index: usize) {
        table(toml, &format!("[memory.m{index}]"));
        line(toml, "gb_per_s", self.gb_per_s);
        line(toml, "thread_gb_per_s", self.thread_gb_per_s);
        line(toml, "contention", self.contention);
        line(toml, "static_watts", self.static_watts);
        line(toml, "nj_per_byte", self.nj_per_byte);
        if let Some(parent) = self.parent {
            line(toml, "parent", format!("\"m{parent}\""));
        }
    }
}

impl Cluster {
    fn write(&self, toml: &mut String, index: usize) {
        if self.like.is_none() {
            self.write_core_type(toml, index);
            self.write_tables(toml, index);
        }
        let tables = self.like.unwrap_or(index);
        table(toml, "[[cluster]]");
        line(toml, "name", format!("\"c{index}\""));
        line(toml, "package", format!("\"p{}\"", self.package));
        line(toml, "core_type", format!("\"k{tables}\""));
        line(toml, "cores", self.cores);
        line(toml, "smt", self.smt);
        line(toml, "node", self.node);
        line(toml, "opp_table", format!("\"o{tables}\""));
        line(toml, "idle_table", format!("\"i{tables}\""));
        line(toml, "performance_domain", format!("\"{}\"", self.domain));
        line(toml, "memory", format!("\"m{}\"", self.memory));
        line(toml, "static_watts", self.static_watts);
        if let Some(Cache { kib, per, hit_cost, link }) = &self.cache {
            let link = link.map(|link| format!(", link_gb_per_s = {link}")).unwrap_or_default();
            line(toml, "cache", format!("{{ level = 3, kib = {kib}, per = \"{per}\", hit_cost = {hit_cost}{link} }}"));
        }
        write_boost(toml, &self.boost);
        if let Some((leader, floor)) = &self.follows {
            let rows: Vec<String> = floor.iter().map(|(mhz, mv)| format!("{{ mhz = {mhz}, mv = {mv} }}")).collect();
            line(toml, "voltage_follows", format!("{{ leader = \"c{leader}\", floor = [{}] }}", rows.join(", ")));
        }
    }

    fn write_core_type(&self, toml: &mut String, index: usize) {
        table(toml, &format!("[core_type.k{index}]"));
        line(toml, "ipc", self.ipc);
        line(toml, "memory_speed", self.memory_speed);
        line(toml, "stall_activity", self.stall_activity);
        line(toml, "smt_speed", self.smt_speed);
        line(toml, "smt_activity", self.smt_activity);
    }

    fn write_tables(&self, toml: &mut String, index: usize) {
        table(toml, &format!("[opp_table.o{index}]"));
        line(toml, "transition_latency_us", self.transition_us);
        line(toml, "scalable", self.scalable);
        let opps = self.opps.iter().map(|Opp { mhz, mv, watts, leakage_watts }| {
            format!("{{ mhz = {mhz}, mv = {mv}, watts = {watts}, leakage_watts = {leakage_watts} }}")
        });
        line(toml, "opps", format!("[{}]", opps.collect::<Vec<_>>().join(", ")));
        if !self.duty_cycle.is_empty() {
            line(toml, "duty_cycle", format!("{:?}", self.duty_cycle));
        }
        table(toml, &format!("[idle_table.i{index}]"));
        let states = self.idle.iter().enumerate().map(|(number, state)| state.inline(number));
        line(toml, "states", format!("[{}]", states.collect::<Vec<_>>().join(", ")));
    }
}

impl Idle {
    fn inline(&self, number: usize) -> String {
        let Self { entry_us, exit_us, residency_us, watts, cluster_watts, .. } = self;
        let scope = if self.cluster_scope {
            format!("scope = \"cluster\", cluster_watts = {cluster_watts}, ")
        } else {
            String::new()
        };
        format!(
            "{{ name = \"S{number}\", {scope}entry_us = {entry_us}, exit_us = {exit_us}, \
             residency_us = {residency_us}, watts = {watts} }}"
        )
    }
}

fn table(toml: &mut String, head: &str) {
    let _ = writeln!(toml, "\n{head}\nsource = \"assumed: test\"");
}

fn line(toml: &mut String, key: &str, value: impl std::fmt::Display) {
    let _ = writeln!(toml, "{key} = {value}");
}

fn write_boost(toml: &mut String, boost: &[(u32, u32)]) {
    if boost.is_empty() {
        return;
    }
    let rows: Vec<String> =
        boost.iter().map(|(cores, mhz)| format!("{{ active_cores = {cores}, mhz = {mhz} }}")).collect();
    line(toml, "boost", format!("[{}]", rows.join(", ")));
}
