// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do on a machine, from the facts ([`crate::host`]) and what somebody wants. Nothing is read or written here, so a
//! table of hosts and plans tests it.
//!
//! `mechanisms`: what is wanted. `inert`: why a mechanism has nothing to act on. `note`: what people should know.

mod inert;
mod mechanisms;
mod note;
#[cfg(test)]
mod tests;

pub use mechanisms::{Isolation, Mechanisms};
pub use note::{Note, clause};

use tandem_bpf_vm::open::Meanings;

use crate::KeepsLimits;
use crate::changes::{Change, Setting};
use crate::control::Announcers;
use crate::host::{Capability, Host, Missing, Policy, SCHEDUTIL};

/// Which way of acting is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// sched_ext. Where it is missing that is said, and nothing else done instead.
    #[default]
    Auto,
    /// sched_ext.
    SchedExt,
    /// Affinities and clocks alone.
    Affinity,
}

/// A way of acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The scheduler decides.
    SchedExt,
    /// The kernel's own scheduler decides, within affinities and limits of clocks.
    Affinity,
}

impl Backend {
    /// The name that reports and metrics have for it: `sched_ext`, `affinity`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SchedExt => "sched_ext",
            Self::Affinity => "affinity",
        }
    }
}

/// Which governor shall choose clocks meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governor {
    /// schedutil, everywhere.
    Schedutil,
    /// The governors that choose clocks now.
    Keep,
}

/// What a session is asked to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionRequest {
    /// How to act.
    pub backend: Choice,
    /// Settings of the scheduler (`bpf/settings.bpf.h`), names and values; of one that is there twice the last holds.
    pub settings: Vec<(String, String)>,
    /// Who shall choose clocks; `None`: nobody said, so nothing is changed, but offered where it would help.
    pub governor: Option<Governor>,
    /// Who may announce applications; `None`: nobody said, so root only where isolation makes all else noise, else anybody.
    pub announcers: Option<Announcers>,
    /// What the scheduler says of the states of its mechanisms.
    pub states: Meanings,
    /// Whether the scheduler keeps limits of groups (`cpu.max`).
    pub keeps_limits: KeepsLimits,
}

impl SessionRequest {
    /// Who may announce applications.
    pub fn announcers(&self) -> Announcers {
        let isolates = Mechanisms::of(&self.settings).isolate.is_some();
        self.announcers.clone().unwrap_or(if isolates { Announcers::Root } else { Announcers::Anybody })
    }
}

/// What will be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How the machine is acted on.
    pub backend: Backend,
    /// Which mechanisms are on.
    pub mechanisms: Mechanisms,
    /// What is to be changed first. After that the machine has to be read again: its governors are facts for a scheduler.
    pub changes: Vec<Change>,
    /// What people should know.
    pub notes: Vec<Note>,
    /// What the scheduler says of the states of its mechanisms.
    pub states: Meanings,
    /// Whether limits of groups (`cpu.max`) hold meanwhile.
    pub keeps_limits: bool,
}

/// Why nothing will be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No scheduler can be loaded.
    #[error("no scheduler can be loaded here:{}{}", list(.missing), if *.affinity { BESIDES } else { "" })]
    Missing {
        /// What is missing.
        missing: Vec<Missing>,
        /// Whether the other backend could do something.
        affinity: bool,
    },
    /// Affinities of others cannot be changed.
    #[error("affinities and clocks cannot be changed: this process lacks CAP_SYS_NICE, run it as root")]
    NotRoot,
    /// Affinities and clocks alone cannot do what is wanted.
    #[error("--backend affinity can do isolate and longest, not {}: leave out the latter", .mechanisms.join(", "))]
    BeyondAffinity {
        /// Mechanisms that affinities and clocks cannot do.
        mechanisms: Vec<&'static str>,
    },
    /// Nothing is wanted of them.
    #[error("--backend affinity does nothing by itself: ask for isolate or longest")]
    NothingForAffinity,
    /// schedutil is wanted, and cannot be had.
    #[error("the governor schedutil cannot be chosen: {why}")]
    NoSchedutil {
        /// Why schedutil cannot be had.
        why: Note,
    },
}

const BESIDES: &str = "\n`--backend affinity` does without: isolate and longest, by affinities and clocks alone";

fn list(missing: &[Missing]) -> String {
    missing.iter().map(|missing| format!("\n  {missing}")).collect()
}

impl Plan {
    /// Decides what to do.
    ///
    /// # Errors
    /// [`PlanError`]: it cannot be done here, and what to do about that.
    pub fn for_host(host: &Host, request: &SessionRequest) -> Result<Self, PlanError> {
        let mechanisms = Mechanisms::of(&request.settings);
        let backend = match request.backend {
            Choice::Auto | Choice::SchedExt => sched_ext(host)?,
            Choice::Affinity => affinity(host, &mechanisms)?,
        };
        let changes = if request.governor == Some(Governor::Schedutil) { to_schedutil(host)? } else { Vec::new() };
        let keeps_limits = match request.keeps_limits {
            _ if backend == Backend::Affinity => true,
            KeepsLimits::Never => false,
            KeepsLimits::WhereTold => host.kernel.passes_limits,
            KeepsLimits::Always => true,
        };
        let states = request.states.clone();
        let mut plan = Self { backend, mechanisms, changes, notes: Vec::new(), states, keeps_limits };
        plan.notes = note::notes(host, request, &plan);
        Ok(plan)
    }

    /// Why a mechanism is in this state on a host, a sentence; `None` if the scheduler has none for it, as for `active`.
    pub fn why(&self, state: &str, host: &Host) -> Option<String> {
        inert::why(&self.states, state, host)
    }
}

fn sched_ext(host: &Host) -> Result<Backend, PlanError> {
    let missing = host.kernel.missing();
    if missing.is_empty() {
        return Ok(Backend::SchedExt);
    }
    // Who may not load schedulers may not change affinities, and who waits for one to go needs no other way.
    let is_of_kernel = |missing: &Missing| {
        use Missing::{Busy, Changing, NotRoot, UserNamespace};
        !matches!(missing, NotRoot { .. } | UserNamespace | Busy { .. } | Changing { .. })
    };
    Err(PlanError::Missing { affinity: missing.iter().any(is_of_kernel), missing })
}

fn affinity(host: &Host, mechanisms: &Mechanisms) -> Result<Backend, PlanError> {
    let beyond = mechanisms.beyond_affinity();
    if !beyond.is_empty() && !mechanisms.all {
        return Err(PlanError::BeyondAffinity { mechanisms: beyond });
    }
    if mechanisms.isolate.is_none() && !mechanisms.longest {
        return Err(PlanError::NothingForAffinity);
    }
    if !host.kernel.has(Capability::SysNice) {
        return Err(PlanError::NotRoot);
    }
    Ok(Backend::Affinity)
}

/// The changes after which every policy follows schedulers.
fn to_schedutil(host: &Host) -> Result<Vec<Change>, PlanError> {
    if host.policies.is_empty() {
        return Err(PlanError::NoSchedutil { why: Note::NoCpufreq });
    }
    let others: Vec<&Policy> = host.policies.iter().filter(|policy| !policy.follows_schedulers()).collect();
    if let Some(why) = others.iter().find_map(|policy| note::why_not_schedutil(host, policy)) {
        return Err(PlanError::NoSchedutil { why });
    }
    let change = |policy: &&Policy| Change {
        setting: Setting::Governor { policy: policy.name.clone() },
        to: SCHEDUTIL.to_owned(),
    };
    Ok(others.iter().map(change).collect())
}
