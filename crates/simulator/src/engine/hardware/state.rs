// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of each CPU, core, cluster, package and clock at the moment, and how it begins.

use crate::engine::meter::{Meter, Residency};
use crate::machine::{self, Boost, Machine, PerformanceDomain, transition};
use crate::units::{ClusterId, CoreId, CpuId, Nanos, PackageId, PerformanceDomainId};

#[derive(Debug)]
pub(super) struct CpuState {
    /// The CPU's core.
    pub core: CoreId,
    /// Switching activity while it runs; `None`: idle.
    pub activity: Option<f64>,
    /// The idle state that the CPU is in, or was in last.
    pub idle_state: usize,
    /// Energy of the CPU's share of its core.
    pub meter: Meter,
    /// By idle state, then C0 of idleness, then busy.
    pub residency: Residency,
    /// When the CPU went idle last.
    pub idle_since: Nanos,
    /// How long after its wake-up the interrupt arrives that wakes it.
    pub called_in: Nanos,
}

#[derive(Debug)]
pub(super) struct Core {
    /// How many of the core's CPUs run.
    pub busy_threads: u32,
    /// When the last of them went idle.
    pub idle_since: Nanos,
    /// The idle state under which its cluster counts it; `None` while a thread runs.
    pub counted: Option<usize>,
    /// The clocks of its CPUs: one, or one per SMT sibling.
    pub domains: Vec<PerformanceDomainId>,
    /// The effective clock of its CPUs: of several clocks the highest.
    pub khz: u32,
    /// Whether the core has one CPU.
    pub is_single: bool,
    /// What its operating point asks for, as of the last [`super::Hardware::update_core`]: that is called whenever the point or the
    /// supply changes.
    pub supply: Supply,
}

/// What a core draws at an operating point while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Supply {
    /// Watts of switching at activity 1 and the operating point's own voltage.
    pub dynamic_watts: f64,
    /// Watts of leakage at that voltage.
    pub leakage_watts: f64,
    /// How far the supply is raised.
    pub voltage: f64,
}

#[derive(Debug)]
pub(super) struct ClusterState {
    pub active_cores: u32,
    /// Idle cores by idle state.
    pub idle_cores: Vec<u32>,
    /// The state of its own that the kernel chose, for as long as no CPU wakes.
    pub os_state: Option<usize>,
    /// Whether the cluster sleeps.
    pub down: Option<Sleep>,
    /// Joules of a core for each idle state, in and out, at the highest operating point.
    pub core_joules: Vec<f64>,
    /// The same of the cluster.
    pub cluster_joules: Vec<f64>,
    pub meter: Meter,
    pub domains: Vec<PerformanceDomainId>,
    pub followers: Vec<ClusterId>,
    /// Whether any OPP has static power of its own.
    pub opp_static: bool,
    pub cpus: f64,
    pub boost: Limit,
}

/// A cluster that sleeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sleep {
    /// In which of its idle states.
    pub state: usize,
    /// Since when it goes there.
    pub since: Nanos,
}

/// A boost limit in force, and whom it concerns.
#[derive(Debug)]
pub(super) struct Limit {
    pub max_khz: u32,
    pub domains: Vec<PerformanceDomainId>,
}

impl Limit {
    /// Takes the limit for so many active cores; whether it changed.
    pub fn update(&mut self, boost: &[Boost], active_cores: u32) -> bool {
        let row = boost.iter().find(|row| row.active_cores >= active_cores).or(boost.last());
        let max_khz = row.map_or(u32::MAX, |row| row.max_khz);
        std::mem::replace(&mut self.max_khz, max_khz) != max_khz
    }
}

#[derive(Debug)]
pub(super) struct PackageState {
    pub active_cores: u32,
    pub meter: Meter,
    pub boost: Limit,
    /// The idle state that the package is in, and since when.
    pub asleep: Option<usize>,
    pub asleep_since: Nanos,
    /// Its clusters, each with the index of the core idle state that each idle state of the package wants; empty without
    /// such states.
    pub wanted: Vec<(ClusterId, Vec<usize>)>,
}

#[derive(Debug)]
pub(super) struct DomainState {
    /// The OPP that the governor asked for.
    pub requested: usize,
    /// The highest OPP that limits on power and heat allow.
    pub cap: usize,
    /// The OPP that boost limits and `cap` leave of the request.
    pub effective: usize,
    pub residency: Residency,
    pub cores: Vec<CoreId>,
    pub clusters: Vec<ClusterId>,
}

impl Core {
    pub fn new(machine: &Machine, core: &machine::Core) -> Self {
        let mut domains: Vec<_> = core.cpus.iter().map(|cpu| machine.cpus[cpu.index()].performance_domain).collect();
        domains.dedup();
        let (is_single, supply) = (core.cpus.len() == 1, Supply::default());
        Self { busy_threads: 0, idle_since: 0, counted: None, domains, khz: 0, is_single, supply }
    }
}

impl CpuState {
    pub fn new(machine: &Machine, cpu: CpuId) -> Self {
        let states = machine.cluster(cpu).idle_states.len();
        let idle_state = if machine.cpus[cpu.index()].online { 0 } else { states.saturating_sub(1) };
        Self {
            core: machine.cpus[cpu.index()].core,
            activity: None,
            idle_state,
            meter: Meter::default(),
            residency: Residency::new(states + 2, idle_state),
            idle_since: 0,
            called_in: 0,
        }
    }
}

impl ClusterState {
    pub fn new(machine: &Machine, cluster: ClusterId) -> Self {
        let entry = &machine.clusters[cluster.index()];
        let cpus: Vec<CpuId> = entry.cores.iter().flat_map(|core| &machine.cores[core.index()].cpus).copied().collect();
        let mut domains: Vec<_> = cpus.iter().map(|cpu| machine.cpus[cpu.index()].performance_domain).collect();
        domains.sort_unstable();
        domains.dedup();
        let followers = (0..machine.clusters.len()).map(ClusterId::at);
        let followers = followers.filter(|follower| machine.leader_of(*follower) == Some(cluster)).collect();
        let has_static = |domain: &PerformanceDomainId| {
            machine.performance_domains[domain.index()].opps.iter().any(|opp| opp.static_watts.is_some())
        };
        let highest = domains.iter().filter_map(|domain| machine.performance_domains[domain.index()].opps.last());
        let highest = highest.max_by_key(|opp| opp.khz);
        Self {
            active_cores: 0,
            idle_cores: vec![0; entry.idle_states.len().max(1)],
            os_state: None,
            down: None,
            core_joules: highest.map_or_else(Vec::new, |opp| transition::core_joules(entry, opp)),
            cluster_joules: highest.map_or_else(Vec::new, |opp| transition::cluster_joules(entry, opp)),
            meter: Meter::default(),
            opp_static: domains.iter().any(has_static),
            boost: Limit::new(&entry.boost, domains.clone()),
            cpus: cpus.len() as f64,
            domains,
            followers,
        }
    }
}

impl PackageState {
    pub fn new(machine: &Machine, package: PackageId) -> Self {
        let inside = |domain: &PerformanceDomain| machine.cluster(domain.cpus[0]).package == package;
        let domains = machine.performance_domains.iter().enumerate().filter(|(_, domain)| inside(domain));
        let domains = domains.map(|(index, _)| PerformanceDomainId::at(index)).collect();
        let boost = Limit::new(&machine.packages[package.index()].boost, domains);
        let wanted = Self::wanted(machine, package);
        Self { active_cores: 0, meter: Meter::default(), boost, asleep: None, asleep_since: 0, wanted }
    }

    fn wanted(machine: &Machine, package: PackageId) -> Vec<(ClusterId, Vec<usize>)> {
        let states = &machine.packages[package.index()].idle_states;
        let clusters = machine.clusters.iter().enumerate();
        let inside = clusters.filter(|(_, cluster)| cluster.package == package && !states.is_empty());
        let of_cluster = |cluster: &machine::Cluster| {
            let position = |wanted: &str| cluster.idle_states.iter().position(|state| state.name == wanted);
            // The reader of descriptions has made sure that there is one.
            states.iter().map(|state| position(&state.core_state).unwrap_or(usize::MAX)).collect()
        };
        inside.map(|(index, cluster)| (ClusterId::at(index), of_cluster(cluster))).collect()
    }
}

impl Limit {
    pub fn new(boost: &[Boost], domains: Vec<PerformanceDomainId>) -> Self {
        let mut limit = Self { max_khz: u32::MAX, domains };
        limit.update(boost, 0);
        limit
    }
}

impl DomainState {
    pub fn new(machine: &Machine, domain: &PerformanceDomain) -> Self {
        let mut cores: Vec<_> = domain.cpus.iter().map(|cpu| machine.cpus[cpu.index()].core).collect();
        cores.sort_unstable();
        cores.dedup();
        let mut clusters: Vec<_> = cores.iter().map(|core| machine.cores[core.index()].cluster).collect();
        clusters.sort_unstable();
        clusters.dedup();
        Self {
            requested: domain.max_opp,
            cap: usize::MAX,
            effective: domain.max_opp,
            residency: Residency::new(domain.opps.len(), domain.max_opp),
            cores,
            clusters,
        }
    }
}
