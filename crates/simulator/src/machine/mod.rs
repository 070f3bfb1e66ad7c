// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine, described: topology, operating points, idle states and what each costs.
//!
//! Plain data, resolved and validated; nothing here knows tasks, time or events. Start with [`Machine`].

pub mod catalogue;
pub mod contention;
pub mod description;
pub mod detect;
pub mod nodes;
mod package;
pub mod power;
pub mod show;
pub mod speed;
pub mod template;
pub mod traits;
pub mod transition;
mod trust;

pub use nodes::Nodes;
pub use package::{Package, PackageIdleState, PowerLimit, Thermal, ThrottleSeen, UncoreClock};
pub use trust::Trust;

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
    /// How far nodes are from each other; `None`: nothing is said, and memory is that of the CPU a thread runs on.
    pub nodes: Option<Nodes>,
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
    /// `CoreType::memory_knee_khz` of its kind over its clock at the highest OPP.
    pub memory_knee: f64,
    /// `CoreType::memory_overlap` of its kind.
    pub memory_overlap: f64,
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
    /// The first of the cores that share the L2 of the CPU; the CPU's own where that L2 is of one core, or not described.
    pub l2: CoreId,
    /// The path of the CPU to memory.
    pub memory_domain: MemoryDomainId,
    /// NUMA node, from 0.
    pub node: u32,
    /// Capacity 1..=1024 at the highest OPP, as the machine's kernel has it (`arch_scale_cpu_capacity`): what the device tree
    /// says, `1024 · c·f_max / max(c·f_max)` with `c` the core type's `capacity_dmips_mhz`; on x86 1024, or on hybrids without SMT
    /// the ratio of ITMT priorities.
    pub capacity: u32,
    /// Work per time at the highest OPP, alone, 1..=1024: that of the fastest CPU is 1024. What the machine does, whatever
    /// its kernel has.
    pub speed: u32,
    /// Rank by the best performance that the firmware promises (`highest_perf` of CPPC), higher is better; 0 where
    /// nothing is said.
    pub itmt_priority: u32,
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

/// What cores of one kind have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreType {
    /// For people: `cortex-a53`.
    pub name: String,
    /// Work per clock cycle; only ratios between core types matter.
    pub ipc: f64,
    /// The same as the machine's kernel believes (`capacity-dmips-mhz`): capacities come from it.
    pub capacity_dmips_mhz: f64,
    /// How fast this kind gets through the memory-bound part of work, relative to the reference CPU (> 0). Out-of-order
    /// cores overlap more misses than in-order ones.
    pub memory_speed: f64,
    /// The clock, in kHz, at which the core's own part of the path to memory (caches, queues, everything in the core's clock
    /// domain) takes as long as the part behind it; 0: the path does not depend on the core's clock.
    pub memory_knee_khz: f64,
    /// How far what is clocked with the core and what is not pass at the same time: the exponent of the norm that joins their
    /// times (≥ 1). 1: one after the other; the larger, the nearer to the longer of the two alone.
    pub memory_overlap: f64,
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
    /// Longest time to enter (`entry-latency-us`), as the driver knows it.
    pub entry: Nanos,
    /// Longest time from wakeup to the first instruction (`exit-latency-us`), as the driver knows it.
    pub exit: Nanos,
    /// Time that entering usually takes.
    pub typical_entry: Nanos,
    /// Time that leaving usually takes; both together at most `entry` and `exit`.
    pub typical_exit: Nanos,
    /// Shortest stay that pays, entry included: where the energy of going in and out is what the state saves.
    pub residency: Nanos,
    /// What the kernel takes for `residency` (`target_residency`).
    pub told_residency: Nanos,
    /// Who decides that the cluster stops; [`Coordination::Platform`] for states of the core.
    pub coordination: Coordination,
    /// Watts of one core in it. For the first state, an OPP's `idle_watts` replaces it.
    pub watts: f64,
    /// Watts that replace the cluster's static power when all its cores are in cluster states; 0 for core states.
    pub cluster_watts: f64,
}

/// Who decides that a cluster stops (PSCI's two modes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordination {
    /// Each CPU's governor asks for the state, and the firmware enters it once all have.
    Platform,
    /// The kernel, when the last CPU of the cluster sleeps (genpd, OS-initiated); no CPU's governor knows the state.
    Os,
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
    /// The cache whose link to the parent this is (a chiplet's link to the I/O die); `None` for what the file describes as a
    /// path of its own.
    pub link_of: Option<CacheId>,
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
            em_watts: Some(1.0),
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
    /// Watts of one busy core that the energy model of the machine's kernel has (`em_perf_state.power`), whatever the machine
    /// draws; `None`: the kernel has no energy model for this clock.
    pub em_watts: Option<f64>,
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
    /// The cpufreq driver of the machine's Linux where it matters: those of x86 say how fast CPUs are, and may decide clocks
    /// themselves.
    pub cpufreq_driver: Option<CpufreqDriver>,
    /// `scaling_governor` as the machine's distribution leaves it; `None`: what a driver in active mode begins with,
    /// powersave, else schedutil.
    pub governor: Option<UsualGovernor>,
    /// `energy_performance_preference` as the machine's distribution leaves it.
    pub epp: EnergyPreference,
}

/// The governors that distributions run with, as `scaling_governor` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsualGovernor {
    /// `performance`.
    Performance,
    /// `powersave`.
    Powersave,
    /// `ondemand`.
    Ondemand,
    /// `conservative`.
    Conservative,
    /// `schedutil`.
    Schedutil,
}

impl UsualGovernor {
    /// All of them, by name.
    pub const NAMES: [(&str, Self); 5] = [
        ("performance", Self::Performance),
        ("powersave", Self::Powersave),
        ("ondemand", Self::Ondemand),
        ("conservative", Self::Conservative),
        ("schedutil", Self::Schedutil),
    ];
}

/// How a processor that chooses clocks by itself shall weigh energy against speed (`energy_performance_preference`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EnergyPreference {
    /// What the firmware has set.
    #[default]
    Default,
    /// `performance`.
    Performance,
    /// `balance_performance`.
    BalancePerformance,
    /// `balance_power`.
    BalancePower,
    /// `power`.
    Power,
}

impl EnergyPreference {
    /// All of them, by name.
    pub const NAMES: [(&str, Self); 5] = [
        ("default", Self::Default),
        ("performance", Self::Performance),
        ("balance_performance", Self::BalancePerformance),
        ("balance_power", Self::BalancePower),
        ("power", Self::Power),
    ];
}

/// A cpufreq driver of x86.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpufreqDriver {
    /// intel_pstate in active mode.
    IntelPstate,
    /// intel_pstate in passive mode.
    IntelCpufreq,
    /// amd-pstate in active mode.
    AmdPstateEpp,
    /// amd-pstate in passive mode.
    AmdPstate,
}

impl CpufreqDriver {
    /// All of these drivers, as `scaling_driver` names them.
    pub const NAMES: [(&str, Self); 4] = [
        ("intel_pstate", Self::IntelPstate),
        ("intel_cpufreq", Self::IntelCpufreq),
        ("amd-pstate-epp", Self::AmdPstateEpp),
        ("amd-pstate", Self::AmdPstate),
    ];

    /// The driver of this name; `None` for all others.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, driver)| *driver)
    }

    /// Whether it decides clocks by itself, and offers of the governors only two of its own.
    pub fn is_active(self) -> bool {
        matches!(self, Self::IntelPstate | Self::AmdPstateEpp)
    }

    /// What its own governors are called together, as on the kernel's command line.
    pub fn governor(self) -> &'static str {
        match self {
            Self::IntelPstate | Self::IntelCpufreq => "intel_pstate",
            Self::AmdPstateEpp | Self::AmdPstate => "amd-pstate",
        }
    }

    /// Whether it is of Intel's processors.
    pub fn is_intel(self) -> bool {
        matches!(self, Self::IntelPstate | Self::IntelCpufreq)
    }

    /// The driver's name in `scaling_driver`.
    pub fn name(self) -> &'static str {
        match self {
            Self::IntelPstate => "intel_pstate",
            Self::IntelCpufreq => "intel_cpufreq",
            Self::AmdPstateEpp => "amd-pstate-epp",
            Self::AmdPstate => "amd-pstate",
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
    /// How long a cache line takes that another core wrote, under the same last-level cache.
    pub line: Nanos,
    /// The same from under another last-level cache.
    pub line_llc: Nanos,
    /// The same from another node.
    pub line_node: Nanos,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The table of the description, for example `cluster.little`.
    pub table: String,
    /// The key, or `*` for all keys of the table that have no entry of their own.
    pub key: String,
    /// The source in words; begins with `measured`, `computed`, `derived`, `calibrated` or `assumed` where it is
    /// one of these.
    pub source: String,
}

impl Machine {
    /// The core type of `cpu`.
    #[inline]
    pub fn core_type(&self, cpu: CpuId) -> &CoreType {
        &self.core_types[self.cluster(cpu).core_type.index()]
    }

    /// How long a cache line takes to come to `cpu` that `from` wrote; nothing within a core.
    pub fn line_transfer(&self, from: CpuId, cpu: CpuId) -> Nanos {
        let (from, to) = (&self.cpus[from.index()], &self.cpus[cpu.index()]);
        if from.core == to.core {
            0
        } else if from.node != to.node {
            self.costs.line_node
        } else if from.llc != to.llc {
            self.costs.line_llc
        } else {
            self.costs.line
        }
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
