// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be changed of a machine: how each thing is read, written and compared.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use super::system::System;
use crate::cpus::CpuList;
use crate::tasks::Tasks;

/// More CPUs than a thread can be given at once (`CPU_SETSIZE`).
const MOST_CPUS: usize = 1024;

/// Something that can be changed. Its values are texts: names of governors, kHz, lists of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// `scaling_governor` of a cpufreq policy.
    Governor {
        /// `policy0` …
        policy: String,
    },
    /// `scaling_min_freq`, kHz. It reads as what holds, which firmware or heat may have made narrower than what was
    /// asked for; and so `scaling_max_freq`.
    MinFrequency {
        /// `policy0` …
        policy: String,
    },
    /// `scaling_max_freq`, kHz.
    MaxFrequency {
        /// `policy0` …
        policy: String,
    },
    /// `energy_performance_preference` of a cpufreq policy: a name, or a number from 0 to 255.
    EnergyPreference {
        /// `policy0` …
        policy: String,
    },
    /// The CPUs that a thread may use.
    Affinity {
        /// The process that the thread belongs to.
        pid: u32,
        /// The thread.
        tid: u32,
        /// When it began, in clock ticks after boot: another thread may get its number.
        start_time: u64,
    },
    /// The CPUs that an interrupt may go to.
    IrqAffinity {
        /// Number of the interrupt.
        irq: u32,
    },
    /// The same for interrupts that are requested from now on.
    DefaultIrqAffinity,
    /// The CPUs that workers of the kernel's unbound work queues may use.
    WorkqueueCpus,
    /// `disable` of an idle state of a CPU: `0` or `1`.
    IdleStateOff {
        /// The CPU.
        cpu: u32,
        /// Number of the state, as in `state1`.
        state: u32,
    },
}

/// A setting and the value that it is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The setting to change.
    pub setting: Setting,
    /// The new value. CPUs are always a list (`0-3,8`), also where the file has a mask.
    pub to: String,
}

impl Setting {
    /// Value of the setting now. CPUs are a list.
    pub(crate) fn read(&self, root: &Path) -> io::Result<String> {
        match self {
            Self::Affinity { pid, tid, start_time } => {
                let tasks = Tasks::below(root);
                same_thread(&tasks, *pid, *tid, *start_time)?;
                Ok(tasks.allowed(*pid, *tid)?.to_string())
            }
            Self::DefaultIrqAffinity | Self::WorkqueueCpus => {
                let text = fs::read_to_string(root.join(self.path()))?;
                let cpus = CpuList::from_mask(&text);
                cpus.map(|cpus| cpus.to_string()).ok_or_else(|| invalid("it is no mask of CPUs"))
            }
            _ => Ok(fs::read_to_string(root.join(self.path()))?.trim().to_owned()),
        }
    }

    /// Sets it.
    pub(super) fn write(&self, system: &System, value: &str) -> io::Result<()> {
        let root = system.root();
        let cpus = || CpuList::parse(value).ok_or_else(|| invalid("it is no list of CPUs"));
        match self {
            Self::Affinity { pid, tid, start_time } => {
                same_thread(&Tasks::below(root), *pid, *tid, *start_time)?;
                system.threads().allow(*pid, *tid, &cpus()?)
            }
            Self::DefaultIrqAffinity | Self::WorkqueueCpus => write(&root.join(self.path()), &cpus()?.mask()),
            _ => write(&root.join(self.path()), value),
        }
    }

    /// Gives back a value that it had before. See the module on what a thread is allowed first.
    pub(super) fn give_back(&self, system: &System, old: &str) -> io::Result<()> {
        if let Self::Affinity { pid, tid, .. } = self {
            let had = self.read(system.root())?;
            let everything = (0..MOST_CPUS).collect();
            let allowed = system.threads().allow(*pid, *tid, &everything);
            if allowed.is_ok() && self.is_same(&self.read(system.root())?, old) {
                return Ok(());
            }
            // It must not keep more than it had.
            return self.write(system, old).inspect_err(|_| drop(self.write(system, &had)));
        }
        if let Self::EnergyPreference { policy } = self {
            // Under this governor drivers take no other preference (EBUSY): somebody has chosen it since, and with it the preference.
            let governor = Self::Governor { policy: policy.clone() }.read(system.root())?;
            if governor == "performance" {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        self.write(system, old)
    }

    /// Whether a policy is named as the kernel does, and not as a way to other folders.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Governor { policy }
            | Self::MinFrequency { policy }
            | Self::MaxFrequency { policy }
            | Self::EnergyPreference { policy } => {
                policy.strip_prefix("policy").is_some_and(|number| number.parse::<u32>().is_ok())
            }
            _ => true,
        }
    }

    /// Whether two values mean the same.
    pub(super) fn is_same(&self, one: &str, other: &str) -> bool {
        one == other || self.is_list() && CpuList::parse(one).is_some_and(|one| CpuList::parse(other) == Some(one))
    }

    /// A value as this is read.
    pub(super) fn plain(&self, value: &str) -> String {
        let cpus = CpuList::parse(value).filter(|_| self.is_list());
        cpus.map_or_else(|| value.trim().to_owned(), |cpus| cpus.to_string())
    }

    /// Whether its values are lists of CPUs.
    fn is_list(&self) -> bool {
        matches!(
            self,
            Self::Affinity { .. } | Self::IrqAffinity { .. } | Self::DefaultIrqAffinity | Self::WorkqueueCpus
        )
    }

    /// File of the setting, below a root.
    fn path(&self) -> String {
        let of_policy = |policy: &str, file: &str| format!("sys/devices/system/cpu/cpufreq/{policy}/{file}");
        match self {
            Self::Governor { policy } => of_policy(policy, "scaling_governor"),
            Self::MinFrequency { policy } => of_policy(policy, "scaling_min_freq"),
            Self::MaxFrequency { policy } => of_policy(policy, "scaling_max_freq"),
            Self::EnergyPreference { policy } => of_policy(policy, "energy_performance_preference"),
            Self::Affinity { pid, tid, .. } => format!("proc/{pid}/task/{tid}/status"),
            Self::IrqAffinity { irq } => format!("proc/irq/{irq}/smp_affinity_list"),
            Self::DefaultIrqAffinity => "proc/irq/default_smp_affinity".to_owned(),
            Self::WorkqueueCpus => "sys/devices/virtual/workqueue/cpumask".to_owned(),
            Self::IdleStateOff { cpu, state } => {
                format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable")
            }
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Governor { policy } => write!(f, "the governor of {policy}"),
            Self::MinFrequency { policy } => write!(f, "the lowest clock of {policy}"),
            Self::MaxFrequency { policy } => write!(f, "the highest clock of {policy}"),
            Self::EnergyPreference { policy } => write!(f, "the preference for energy of {policy}"),
            Self::Affinity { pid, tid, .. } if pid == tid => write!(f, "the CPUs of process {pid}"),
            Self::Affinity { pid, tid, .. } => write!(f, "the CPUs of thread {tid} of process {pid}"),
            Self::IrqAffinity { irq } => write!(f, "the CPUs of interrupt {irq}"),
            Self::DefaultIrqAffinity => write!(f, "the CPUs of new interrupts"),
            Self::WorkqueueCpus => write!(f, "the CPUs of the kernel's work queues"),
            Self::IdleStateOff { cpu, state } => write!(f, "whether CPU {cpu} goes without its idle state {state}"),
        }
    }
}

/// Writes a file that is there; none is made.
fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

/// Whether a thread is the one that began then, and not a later one with its number.
fn same_thread(tasks: &Tasks, pid: u32, tid: u32, start_time: u64) -> io::Result<()> {
    let is_same = tasks.thread(pid, tid).is_some_and(|stat| stat.start_time == start_time && !stat.is_dead());
    if is_same { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
