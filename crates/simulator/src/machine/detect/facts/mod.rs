// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says about the machine, as it says it. Nothing is concluded here.

mod clock;
mod cpu;
mod proc;

use std::path::Path;

use super::DetectError;
use super::tree::Tree;

/// Everything that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    /// The device tree's name of the board, if any.
    pub board: Option<String>,
    /// Every CPU from 0 to the highest present one.
    pub cpus: Vec<Cpu>,
    /// `cpu/smt/control`: `on`, `off`, `notsupported`, …
    pub smt_control: Option<String>,
    /// NUMA nodes, ascending.
    pub nodes: Vec<Node>,
    /// cpufreq policies, ascending.
    pub policies: Vec<Policy>,
    /// The kernel's energy model.
    pub energy_model: Vec<EnergyDomain>,
    /// CPUs per kind on Intel hybrids: `cpu_core`, `cpu_atom`, `cpu_lowpower`.
    pub hybrid: Vec<(&'static str, Vec<u32>)>,
    /// `MemTotal` of /proc/meminfo.
    pub memory_kib: Option<u64>,
    /// Names of powercap zones: energy counters that exist but describe nothing.
    pub powercap: Vec<String>,
}

/// A logical CPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cpu {
    pub number: u32,
    pub online: bool,
    /// `physical_package_id`; arm64 boards without ACPI say 0, some say -1.
    pub package: Option<i64>,
    /// `core_cpus_list`, or `thread_siblings_list` of older kernels.
    pub core_cpus: Option<Vec<u32>>,
    /// `cluster_cpus_list`; older kernels have none.
    pub cluster_cpus: Option<Vec<u32>>,
    /// Data and unified caches.
    pub caches: Vec<CacheLevel>,
    /// `cpu_capacity`, 0..=1024.
    pub capacity: Option<u32>,
    /// `acpi_cppc/highest_perf`, an abstract scale.
    pub highest_perf: Option<u32>,
    /// `acpi_cppc/nominal_freq`.
    pub nominal_mhz: Option<f64>,
    /// `cpu MHz` of /proc/cpuinfo: the clock of this moment where there is cpufreq.
    pub mhz: Option<f64>,
    /// `vendor_id` of /proc/cpuinfo, on x86 only.
    pub vendor: Option<String>,
    /// `model name` of /proc/cpuinfo.
    pub model: Option<String>,
    /// `CPU implementer` and `CPU part` of /proc/cpuinfo, on Arm only.
    pub part: Option<(u32, u32)>,
    /// cpuidle states, as numbered.
    pub idle: Vec<IdleState>,
}

/// A level of data cache that a CPU has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CacheLevel {
    pub level: u32,
    pub kib: u64,
    /// `shared_cpu_list`: online CPUs only.
    pub cpus: Vec<u32>,
}

/// A cpuidle state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IdleState {
    pub name: String,
    /// `latency`: worst time from wakeup to running, entry that cannot be abandoned included.
    pub latency_us: u64,
    /// `residency`; older kernels have none.
    pub residency_us: Option<u64>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub number: u32,
    pub cpus: Vec<u32>,
    pub memory_kib: Option<u64>,
}

/// A cpufreq policy: CPUs whose clock is set together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// `related_cpus`, offline ones too.
    pub cpus: Vec<u32>,
    pub min_khz: Option<u32>,
    pub max_khz: Option<u32>,
    /// `scaling_available_frequencies` and `scaling_boost_frequencies`, ascending; empty where the driver lists none.
    pub khz: Vec<u32>,
    /// `cpuinfo_transition_latency`; `None` also where the driver does not know (`CPUFREQ_ETERNAL`) or says 0.
    pub latency_ns: Option<u64>,
    pub driver: Option<String>,
}

/// A performance domain of the energy model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EnergyDomain {
    pub name: String,
    pub cpus: Vec<u32>,
    /// Clock in kHz and power of one busy CPU in the file's unit, ascending by clock.
    pub states: Vec<(u32, u64)>,
    pub unit: PowerUnit,
}

/// The unit of [`EnergyDomain::states`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PowerUnit {
    /// As today's kernels have it.
    Microwatts,
    /// As older ones had it.
    Milliwatts,
    /// An abstract scale (`bogoWatts`, `EM_PERF_DOMAIN_ARTIFICIAL`): no watts at all.
    Abstract,
}

impl Facts {
    /// Reads what is below `root`, and says what was there but could not be used.
    ///
    /// # Errors
    /// [`DetectError`] if the list of online CPUs cannot be had.
    pub(super) fn read(root: &Path) -> Result<(Self, Vec<String>), DetectError> {
        let mut tree = Tree::new(root);
        let online = tree.required_cpus("sys/devices/system/cpu/online")?;
        let present = tree.cpus("sys/devices/system/cpu/present").unwrap_or_default();
        let highest = online.iter().chain(&present).copied().max().unwrap_or(0);
        let mut cpus: Vec<Cpu> = (0..=highest).map(|number| cpu::read(&mut tree, number, &online)).collect();
        proc::cpuinfo(&mut tree, &mut cpus);
        let facts = Self {
            board: tree.text("sys/firmware/devicetree/base/model").filter(|text| !text.is_empty()),
            smt_control: tree.text("sys/devices/system/cpu/smt/control"),
            nodes: proc::nodes(&mut tree),
            policies: clock::policies(&mut tree, highest),
            energy_model: clock::energy_model(&mut tree),
            hybrid: proc::hybrid(&mut tree),
            memory_kib: proc::memory_kib(&mut tree, "proc/meminfo"),
            powercap: proc::powercap(&mut tree),
            cpus,
        };
        Ok((facts, tree.warnings()))
    }
}
