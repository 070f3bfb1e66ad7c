// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a mechanism has nothing to act on.

use crate::host::Host;
use crate::machine::Machine;

/// A reason, with the names of `enum tandem_state` (`bpf/base/stats.bpf.h`). Its text is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inert {
    /// `one_cpu`.
    #[error("There is one CPU: nothing can be kept apart or put together.")]
    OneCpu,
    /// `one_kind`.
    #[error("All {cpus} CPUs are equally fast, within 5 %: none is the one for the longest job.")]
    OneKind {
        /// How many there are.
        cpus: u64,
    },
    /// `no_applications`.
    #[error("Nobody says what belongs to an application, so that nothing is known to be noise.")]
    NoApplications,
    /// `no_counters`.
    #[error("Performance counters cannot be read: nobody knows what threads do to the memory.")]
    NoCounters,
    /// `no_cpufreq`: there are no clocks to choose from.
    #[error("{}", if *.clocks == 0 { "There is no clock that can be changed.".to_owned() }
        else { format!("None of the {clocks} clocks can be changed.") })]
    FixedClocks {
        /// How many there are; 0: nobody knows of any.
        clocks: u64,
    },
    /// `no_cpufreq`: there are, but somebody else chooses.
    #[error("The governor {governor} does not follow what a scheduler asks for.")]
    Governor {
        /// Its name.
        governor: String,
    },
}

impl Inert {
    /// What a state of a mechanism means on a host; `None` if it is not inert, or of a state that is not known here.
    pub fn of_state(state: &str, host: &Host) -> Option<Self> {
        Some(match state {
            "one_cpu" => Self::OneCpu,
            "one_kind" => Self::OneKind { cpus: online(&host.machine) },
            "no_applications" => Self::NoApplications,
            "no_counters" => Self::NoCounters,
            "no_cpufreq" => Self::of_clocks(host).unwrap_or(Self::FixedClocks { clocks: host.policies.len() as u64 }),
            _ => return None,
        })
    }

    /// Why no clock follows schedulers; `None` if one does.
    pub(super) fn of_clocks(host: &Host) -> Option<Self> {
        let changeable: Vec<_> = host.policies.iter().filter(|policy| policy.is_changeable()).collect();
        let Some(first) = changeable.first() else {
            return Some(Self::FixedClocks { clocks: host.policies.len() as u64 });
        };
        let follows = changeable.iter().any(|policy| policy.follows_schedulers());
        (!follows).then(|| Self::Governor { governor: first.governor.clone() })
    }

    /// Whether the CPUs that are online are of one kind at the clocks that are allowed.
    pub(super) fn of_kinds(machine: &Machine) -> Option<Self> {
        let performance = || machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.performance);
        let (fastest, slowest) = (performance().max().unwrap_or(0), performance().min().unwrap_or(0));
        // capacity_greater(), kernel/sched/fair.c.
        let differ = fastest * 1024 > slowest * 1078;
        (!differ).then(|| Self::OneKind { cpus: online(machine) })
    }
}

/// How many CPUs are online.
pub(super) fn online(machine: &Machine) -> u64 {
    machine.cpus.iter().filter(|cpu| cpu.online).count() as u64
}
