// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine, described: topology, operating points, idle states and what each costs.
//!
//! Plain data, resolved and validated; nothing here knows tasks, time or events. Start with [`Machine`].

pub mod catalogue;
pub mod contention;
pub mod description;
pub mod detect;
pub mod power;
pub mod show;
pub mod speed;
pub mod traits;

use crate::units::{
    CacheId, ClusterId, CoreId, CoreTypeId, CpuId, MemoryDomainId, Nanos, PackageId, PerformanceDomainId,
};

/// A machine as the simulator sees it. Every table is indexed by its identifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The description's name (`hikey960`), with `:configuration` behind it where one was asked for.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Every logical CPU, offline ones too.
    pub cpus: Vec<Cpu>,
    /// Cores.
    pub cores: Vec<Core>,
    /// Clusters.
    pub clusters: Vec<Cluster>,
    /// Packages.
    pub packages: Vec<Package>,
    /// Kinds of core.
    pub core_types: Vec<CoreType>,
    /// Shared caches.
    pub caches: Vec<Cache>,
    /// Paths to memory; a parent always precedes its children.
    pub memory_domains: Vec<MemoryDomain>,
    /// Sets of CPUs that share a clock.
    pub performance_domains: Vec<PerformanceDomain>,
    /// Power outside the packages.
    pub platform: Platform,
    /// Costs of scheduling on this machine.
    pub costs: SchedulingCosts,
    /// The CPU that all work is given against. A configuration never changes it.
    pub reference: Reference,
    /// Where each value comes from, in file order: table name, key (or `*` for the whole table), source.
    pub provenance: Vec<Provenance>,
}

/// The CPU that work is given against: the fastest of the machine as built, alone, at its highest OPP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Which CPU.
    pub cpu: CpuId,
    /// Clock of that CPU in kHz times its instructions per clock.
    pub khz_ipc: f64,
    /// Size in bytes of its last-level cache, 0 if it has none.
    pub llc_bytes: u64,
    /// Cost of a last-level-cache hit relative to a memory access, 0..=1.
    pub hit_cost: f64,
}

/// A logical CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Cpu {
    /// The core that the CPU belongs to.
    pub core: CoreId,
    /// Place of the CPU among the core's SMT siblings, from 0.
    pub thread: u32,
    /// Whether the configuration in force uses it.
    pub online: bool,
    /// The clock it shares.
    pub performance_domain: PerformanceDomainId,
    /// The last-level cache of the CPU; `None` if nothing is described.
    pub llc: Option<CacheId>,
    /// The path of the CPU to memory.
    pub memory_domain: MemoryDomainId,
    /// NUMA node, from 0.
    pub node: u32,
    /// Capacity 0..=1024 at the highest OPP, as the kernel computes it: `1024 · ipc·f_max / max(ipc·f_max)`.
    pub capacity: u32,
}

/// A core.
#[derive(Debug, Clone, PartialEq)]
pub struct Core {
    /// The cluster that the core belongs to.
    pub cluster: ClusterId,
    /// The core's SMT siblings, in order of `Cpu::thread`.
    pub cpus: Vec<CpuId>,
}

/// Cores of one kind that share static power.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// For people: `little`, `P-cores`.
    pub name: String,
    /// The package that the cluster belongs to.
    pub package: PackageId,
    /// The kind of the cluster's cores.
    pub core_type: CoreTypeId,
    /// The cores of the cluster.
    pub cores: Vec<CoreId>,
    /// Watts while any core is not in a cluster-wide idle state; an OPP's own `static_watts` replaces it.
    pub static_watts: f64,
    /// Shallow to deep; the first is what a core enters at once (WFI, C1).
    pub idle_states: Vec<IdleState>,
    /// Highest clock by number of active cores of this cluster; empty: no limit. See [`Boost`].
    pub boost: Vec<Boost>,
    /// Another cluster that this one shares a voltage rail with.
    pub voltage_follows: Option<VoltageFollows>,
}

/// A limit of the clock by the number of active (not idle) cores.
///
/// With `n` active cores the limit is that of the first entry with `active_cores >= n`; above the last entry, the last.
/// Entries ascend in `active_cores` and descend in `max_khz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boost {
    /// Up to so many active cores …
    pub active_cores: u32,
    /// … the clock may reach this.
    pub max_khz: u32,
}

/// A cluster whose supply is at least what another cluster's OPP asks for, while that one is awake.
#[derive(Debug, Clone, PartialEq)]
pub struct VoltageFollows {
    /// The other cluster.
    pub leader: ClusterId,
    /// (leader's kHz, least microvolts of this cluster), ascending; the row with the highest kHz not above the
    /// leader's clock counts.
    pub floor: Vec<(u32, u32)>,
}

/// A package (socket).
#[derive(Debug, Clone, PartialEq)]
pub struct Package {
    /// Uncore watts while any of its cores is awake.
    pub uncore_watts: f64,
    /// Uncore watts while all its cores idle.
    pub uncore_idle_watts: f64,
    /// Highest clock by number of active cores of the package; empty: no limit.
    pub boost: Vec<Boost>,
}

/// What cores of one kind have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreType {
    /// For people: `cortex-a53`.
    pub name: String,
    /// Work per clock cycle; only ratios between core types matter.
    pub ipc: f64,
    /// How fast this kind gets through the memory-bound part of work, relative to the reference CPU (> 0). Out-of-order
    /// cores overlap more misses than in-order ones.
    pub memory_speed: f64,
    /// Switching activity while a thread waits for memory, relative to computing, 0..=1.
    pub stall_activity: f64,
    /// Speed of the clock-bound part of each thread while an SMT sibling is busy, relative to having the core alone,
    /// 0..=1; 1 without SMT.
    pub smt_speed: f64,
    /// Switching activity of the core with several busy siblings, relative to one (≥ 1); 1 without SMT.
    pub smt_activity: f64,
}

/// An idle state.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleState {
    /// `WFI`, `C6`, `cluster-sleep`.
    pub name: String,
    /// Whether the state stops the core or, once all cores of the cluster are in it, the cluster.
    pub scope: IdleScope,
    /// Time to enter.
    pub entry: Nanos,
    /// Time from wakeup to the first instruction (`exit_latency`).
    pub exit: Nanos,
    /// Shortest stay that pays (`target_residency`), entry included.
    pub residency: Nanos,
    /// Watts of one core in it. For the first state, an OPP's `idle_watts` replaces it.
    pub watts: f64,
    /// Watts that replace the cluster's static power when all its cores are in cluster states; 0 for core states.
    pub cluster_watts: f64,
}

/// What an idle state stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleScope {
    /// The core alone.
    Core,
    /// The cluster, once all its cores are in a state of this scope.
    Cluster,
}

/// A cache shared by several CPUs, or the last level of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Cache {
    /// 2 or 3.
    pub level: u32,
    /// Bytes.
    pub bytes: u64,
    /// Time of a hit relative to a memory access, more than 0, up to 1.
    pub hit_cost: f64,
    /// The CPUs that share it.
    pub cpus: Vec<CpuId>,
}

/// A path to memory whose bandwidth its CPUs share.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryDomain {
    /// For people.
    pub name: String,
    /// Bytes per second it can carry.
    pub bytes_per_s: f64,
    /// Bytes per second that one thread alone can use.
    pub thread_bytes_per_s: f64,
    /// Growth of the memory latency below saturation: 1 + contention · U².
    pub contention: f64,
    /// DRAM watts that do not depend on traffic.
    pub static_watts: f64,
    /// DRAM joules per byte of traffic.
    pub joules_per_byte: f64,
    /// A wider path that this one's traffic also crosses (a chip's bus into the node's memory controller).
    pub parent: Option<MemoryDomainId>,
}

/// CPUs that share a clock.
#[derive(Debug, Clone, PartialEq)]
pub struct PerformanceDomain {
    /// The domain's CPUs, ascending; all of one core type.
    pub cpus: Vec<CpuId>,
    /// Operating points, ascending by clock; never empty.
    pub opps: Vec<Opp>,
    /// Time from a request to the new clock.
    pub transition_latency: Nanos,
    /// Index into `opps` of the lowest OPP that the configuration in force allows (`scaling_min_freq`).
    pub min_opp: usize,
    /// Index into `opps` of the highest OPP that the configuration in force allows (`scaling_max_freq`).
    pub max_opp: usize,
    /// Whether the kernel can change this clock at all (a cpufreq driver exists).
    pub scalable: bool,
}

#[cfg(test)]
impl PerformanceDomain {
    /// A clock of `cpu` with these operating points of 1 W each, all allowed, that changes at once.
    pub(crate) fn for_tests(cpu: CpuId, khz: &[u32]) -> Self {
        let opp = |khz: &u32| Opp {
            khz: *khz,
            microvolts: None,
            duty: 1.0,
            dynamic_watts: 1.0,
            leakage_watts: 0.0,
            idle_watts: None,
            static_watts: None,
        };
        Self {
            cpus: vec![cpu],
            opps: khz.iter().map(opp).collect(),
            transition_latency: 0,
            min_opp: 0,
            max_opp: khz.len() - 1,
            scalable: true,
        }
    }
}

/// An operating point, resolved to watts.
#[derive(Debug, Clone, PartialEq)]
pub struct Opp {
    /// Effective clock in kHz (a duty-cycle step counts as its share of the clock).
    pub khz: u32,
    /// Supply voltage in microvolts; `None` where only watts are known.
    pub microvolts: Option<u32>,
    /// Share of clock cycles that are not skipped, 0 < duty ≤ 1.
    pub duty: f64,
    /// Watts of one core from switching, at activity 1 and one busy thread: `C·V²·f·duty`, or the measured watts less
    /// leakage.
    pub dynamic_watts: f64,
    /// Watts of one core in C0 that do not depend on activity.
    pub leakage_watts: f64,
    /// Replaces the first idle state's watts at this OPP, where measured.
    pub idle_watts: Option<f64>,
    /// Replaces the cluster's static watts at this OPP, where measured.
    pub static_watts: Option<f64>,
}

/// Power outside the packages.
#[derive(Debug, Clone, PartialEq)]
pub struct Platform {
    /// Watts of board, fans, disks: always drawn.
    pub watts: f64,
    /// Share of the wall's power that reaches the board, 0 < e ≤ 1; 1 where the supply is not part of the measurement.
    pub supply_efficiency: f64,
    /// The cpufreq driver of the machine's Linux, if it is one that decides clocks itself. It is not modelled: the governors
    /// are the kernel's own.
    pub cpufreq_driver: Option<CpufreqDriver>,
}

/// A cpufreq driver that decides clocks itself and leaves governors only their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpufreqDriver {
    /// intel_pstate in active mode.
    IntelPstate,
    /// amd-pstate in active mode.
    AmdPstateEpp,
}

impl CpufreqDriver {
    /// All of these drivers, as `scaling_driver` names them.
    pub const NAMES: [(&str, Self); 2] = [("intel_pstate", Self::IntelPstate), ("amd-pstate-epp", Self::AmdPstateEpp)];

    /// The driver of this name; `None` for one that leaves the decision to governors.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, driver)| *driver)
    }

    /// The driver's name in `scaling_driver`.
    pub fn name(self) -> &'static str {
        match self {
            Self::IntelPstate => "intel_pstate",
            Self::AmdPstateEpp => "amd-pstate-epp",
        }
    }
}

/// Costs of scheduling that the kernel's code and caches cause.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulingCosts {
    /// Direct cost of a context switch.
    pub context_switch: Nanos,
    /// Additional cost of the first run on another CPU (cold private caches).
    pub migration: Nanos,
    /// Additional cost when that CPU has another last-level cache.
    pub migration_llc: Nanos,
    /// Cost of one scheduler tick on a busy CPU.
    pub tick: Nanos,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The table of the description, for example `cluster.little`.
    pub table: String,
    /// The key, or `*` for all keys of the table that have no entry of their own.
    pub key: String,
    /// The source in words; begins with `assumed`, `calibrated` or `derived` where it is one of these.
    pub source: String,
}

impl Machine {
    /// The core type of `cpu`.
    pub fn core_type(&self, cpu: CpuId) -> &CoreType {
        &self.core_types[self.cluster(cpu).core_type.index()]
    }

    /// The cluster of `cpu`.
    pub fn cluster(&self, cpu: CpuId) -> &Cluster {
        &self.clusters[self.cores[self.cpus[cpu.index()].core.index()].cluster.index()]
    }

    /// CPUs that the configuration in force uses, ascending.
    pub fn online(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.online).map(|(index, _)| CpuId::at(index))
    }
}
