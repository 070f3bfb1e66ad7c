// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's files say of a machine, as they say it. Nothing is concluded here.
//!
//! [`Machine`](crate::machine::Machine) concludes what loaders want to know, and descriptions of machines conclude more.
//! `cpu`: a CPU's files. `clock`: cpufreq and the energy model. `proc`: /proc, nodes, types of core, powercap.

mod clock;
mod cpu;
mod proc;

use std::path::{Path, PathBuf};

use crate::bounded::Limit;
use crate::tree::{Tree, cpus, excerpt};

/// Why nothing can be said of a machine.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file without which nothing can be said.
    #[error(
        "{}: cannot be read: {reason}; mount sysfs at /sys, or give the root of a tree that holds a copy of it",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        reason: std::io::Error,
    },
    /// Such a file holds something else than it should.
    #[error("{}: expected {expected}, found \"{found}\"; if this is a copy of /sys, copy it again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What belongs there.
        expected: &'static str,
        /// How its content begins.
        found: String,
    },
}

/// Everything that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The device tree's name of the board, if any.
    pub board: Option<String>,
    /// Every CPU from 0 to the highest present one.
    pub cpus: Vec<Cpu>,
    /// CPUs that the kernel has room for (`nr_cpu_ids`); more than there are where some can be plugged in.
    pub possible: usize,
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
pub struct Cpu {
    /// The number by which the kernel knows the CPU.
    pub number: u32,
    /// Whether it runs now.
    pub online: bool,
    /// `physical_package_id`; arm64 boards without ACPI say 0, some say -1.
    pub package: Option<i64>,
    /// `core_cpus_list`, or `thread_siblings_list` of older kernels.
    pub core_cpus: Option<Vec<u32>>,
    /// `package_cpus_list`, or `core_siblings_list` of older kernels.
    pub package_cpus: Option<Vec<u32>>,
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
    /// `cpu family` and `model` of /proc/cpuinfo, on x86 only.
    pub family: Option<u32>,
    /// See `family`.
    pub model_number: Option<u32>,
    /// `model name` of /proc/cpuinfo.
    pub model: Option<String>,
    /// `CPU implementer` and `CPU part` of /proc/cpuinfo, on Arm only.
    pub part: Option<(u32, u32)>,
    /// cpuidle states, as numbered.
    pub idle: Vec<IdleState>,
}

/// A level of data cache that a CPU has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheLevel {
    /// 1 to 4.
    pub level: u32,
    /// Size of the cache; virtual machines may not say.
    pub kib: Option<u64>,
    /// `shared_cpu_list`: online CPUs only.
    pub cpus: Vec<u32>,
}

/// A cpuidle state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Name of the state: `C1`.
    pub name: String,
    /// `latency`: worst time from wakeup to running, entry that cannot be abandoned included.
    pub latency_us: u64,
    /// `residency`; older kernels have none.
    pub residency_us: Option<u64>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// As the kernel numbers it.
    pub number: u32,
    /// CPUs of the node, not empty.
    pub cpus: Vec<u32>,
    /// `MemTotal` of its meminfo.
    pub memory_kib: Option<u64>,
    /// The file `distance`: distances to all nodes, by number; empty where there is none.
    pub distances: Vec<u32>,
}

/// A cpufreq policy: CPUs whose clock is set together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// `related_cpus`, offline ones too.
    pub cpus: Vec<u32>,
    /// `cpuinfo_min_freq`.
    pub min_khz: Option<u32>,
    /// `cpuinfo_max_freq`.
    pub max_khz: Option<u32>,
    /// `base_frequency` of intel_pstate: the highest clock without turbo.
    pub base_khz: Option<u32>,
    /// `scaling_min_freq`: a setting, not the machine.
    pub min_limit_khz: Option<u32>,
    /// `scaling_max_freq`: a setting, not the machine.
    pub max_limit_khz: Option<u32>,
    /// `scaling_governor`.
    pub governor: Option<String>,
    /// `scaling_available_frequencies` and `scaling_boost_frequencies`, ascending; empty where the driver lists none.
    pub khz: Vec<u32>,
    /// `cpuinfo_transition_latency`; `None` also where the driver does not know (`CPUFREQ_ETERNAL`) or says 0.
    pub latency_ns: Option<u64>,
    /// `scaling_driver`.
    pub driver: Option<String>,
}

/// A performance domain of the energy model.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyDomain {
    /// Folder of the domain: `cpu0`, `pd0`.
    pub name: String,
    /// CPUs of the domain.
    pub cpus: Vec<u32>,
    /// Clock in kHz and power of one busy CPU in the file's unit, ascending by clock.
    pub states: Vec<(u32, u64)>,
    /// The unit of their power.
    pub unit: PowerUnit,
}

/// The unit of [`EnergyDomain::states`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerUnit {
    /// As today's kernels have it.
    Microwatts,
    /// As older ones had it.
    Milliwatts,
    /// An abstract scale (`bogoWatts`, `EM_PERF_DOMAIN_ARTIFICIAL`): no watts at all.
    Abstract,
}

impl Reading {
    /// Reads what is below `root`, and says what was there but could not be used.
    ///
    /// # Errors
    /// [`ReadError`] if no list of CPUs can be had.
    pub fn of(root: &Path) -> Result<(Self, Vec<String>), ReadError> {
        let tree = Tree::new(root);
        let online = online(&tree)?;
        let list = |file: &str| tree.cpus(&format!("sys/devices/system/cpu/{file}")).unwrap_or_default();
        let highest = online.iter().copied().chain(list("present")).max().unwrap_or(0);
        let possible = list("possible").into_iter().chain([highest]).max().unwrap_or(0) as usize + 1;
        let mut cpus: Vec<Cpu> = (0..=highest).map(|number| cpu::read(&tree, number, &online)).collect();
        proc::cpuinfo(&tree, &mut cpus);
        let reading = Self {
            board: tree.text("sys/firmware/devicetree/base/model"),
            possible,
            smt_control: tree.text("sys/devices/system/cpu/smt/control"),
            nodes: proc::nodes(&tree),
            policies: clock::policies(&tree, highest),
            energy_model: clock::energy_model(&tree),
            hybrid: proc::hybrid(&tree),
            memory_kib: proc::memory_kib(&tree, "proc/meminfo"),
            powercap: proc::powercap(&tree),
            cpus,
        };
        Ok((reading, tree.warnings()))
    }

    /// The cpufreq policy of a CPU.
    pub fn policy_of(&self, cpu: u32) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.cpus.contains(&cpu))
    }

    /// The CPU that is online and most likely like another one: that one itself, if it is online; else one of the same policy or
    /// energy model domain; else the nearest below. An offline CPU has hardly any files.
    pub fn like(&self, cpu: u32) -> u32 {
        let is_online = |cpu: &u32| self.cpus.get(*cpu as usize).is_some_and(|cpu| cpu.online);
        if is_online(&cpu) {
            return cpu;
        }
        let policies = self.policies.iter().map(|policy| &policy.cpus);
        let domains = self.energy_model.iter().map(|domain| &domain.cpus);
        let mate = policies.chain(domains).filter(|cpus| cpus.contains(&cpu)).flatten().copied().find(is_online);
        let online = || self.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.number);
        mate.or_else(|| online().rfind(|other| *other < cpu)).or_else(|| online().next()).unwrap_or(0)
    }

    /// The domain of a CPU in the kernel's energy model.
    pub fn energy_of(&self, cpu: u32) -> Option<&EnergyDomain> {
        self.energy_model.iter().find(|domain| domain.cpus.contains(&cpu))
    }
}

/// The CPUs that are online; where the kernel was built without CPU hotplug, and in copies, all possible ones.
fn online(tree: &Tree) -> Result<Vec<u32>, ReadError> {
    const FOLDER: &str = "sys/devices/system/cpu";
    let place = tree.path(&format!("{FOLDER}/online"));
    let text = match Limit::DESCRIPTION.read_text(&place) {
        Ok(text) => text,
        Err(reason) => {
            let possible = tree.cpus(&format!("{FOLDER}/possible"));
            return possible.ok_or(ReadError::Unreadable { path: place, reason });
        }
    };
    cpus(&text).filter(|cpus| !cpus.is_empty()).ok_or_else(|| ReadError::Malformed {
        path: place,
        expected: "a list of CPUs such as 0-3,8",
        found: excerpt(text.trim()),
    })
}
