// SPDX-License-Identifier: MIT OR Apache-2.0
//! What people should know of a plan: what will have no effect here, and what could be done about it.

use super::inert::{self, has_power, is_followed, is_of_one_kind, online};
use super::{Backend, Governor, Plan, SessionRequest};
use crate::KeepsLimits;
use crate::host::{Host, Policy};
use crate::machine::Doubt;

/// Something to know. Its text begins in lower case and has no full stop at its end, so that it can stand behind a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// A mechanism has nothing to act on.
    #[error("{mechanism} stays inert: {}", clause(.why))]
    Inert {
        /// Which one.
        mechanism: &'static str,
        /// Why: the scheduler's sentence, or its word for the state if it has none.
        why: String,
    },
    /// Serial phases go first, but no CPU is the fastest.
    #[error("serial_first chooses who runs first, not where: all CPUs are equally fast")]
    NoFastCpu,
    /// Stalled cycles cannot be counted.
    #[error("speed takes all work for compute-bound, as there are no performance counters: only idle CPUs get slower")]
    NoStalls,
    /// Nobody says what the memory can move.
    #[error(
        "edp stays inert: {}; `--machine FILE` says it (of `tandem machine detect --measure`), or `--set memory_mbps=N`",
        clause(.why)
    )]
    NoBandwidth {
        /// Why that matters: the scheduler's sentence, or its word for the state if it has none.
        why: String,
    },
    /// There is no cpufreq.
    #[error("there is no cpufreq driver, so no clock can be changed")]
    NoCpufreq,
    /// Requests for clocks have no effect, and could have.
    #[error(
        "requests for clocks have no effect under the governor {governor}: `--governor schedutil` has {} follow them, and \
         gives {governor} back at the end", some(*policies)
    )]
    OfferSchedutil {
        /// The governor now.
        governor: String,
        /// How many policies have another one than schedutil.
        policies: u64,
    },
    /// Requests for clocks have no effect, as somebody wants.
    #[error("requests for clocks have no effect under the governor {governor}, which is kept")]
    Keeps {
        /// The governor now.
        governor: String,
    },
    /// The driver has no governors of the kernel's.
    #[error(
        "the driver {driver} chooses clocks itself, and has no schedutil: {} (Tandem does not do that)",
        passive(*mode_file)
    )]
    GovernsItself {
        /// The driver.
        driver: String,
        /// The file that makes it passive.
        mode_file: Option<&'static str>,
    },
    /// The kernel has no schedutil.
    #[error("{policy} has no governor schedutil: boot a kernel with CONFIG_CPU_FREQ_GOV_SCHEDUTIL")]
    NotBuilt {
        /// The cpufreq policy.
        policy: String,
    },
    /// Limits of groups that do not hold meanwhile.
    #[error("cpu.max of {} is not honoured{}: {}", groups(limited.len()), why(.by_kernel), some_of(.limited))]
    NoLimits {
        /// The groups.
        limited: Vec<String>,
        /// The kernel, if the scheduler would keep limits that it were told of; `None`: it keeps none.
        by_kernel: Option<String>,
    },
    /// Mechanisms that were asked for with all the others, but take a scheduler.
    #[error("without sched_ext {} {} left out", mechanisms.join(", "), if mechanisms.len() == 1 { "is" } else { "are" })]
    LeftOut {
        /// Mechanisms that are left out.
        mechanisms: Vec<&'static str>,
    },
    /// Sources contradict each other on how fast CPUs are.
    #[error(transparent)]
    Capacity(#[from] Doubt),
}

/// A sentence in the middle of another one: without its capital and its full stop.
pub fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

fn some(policies: u64) -> String {
    if policies == 1 { "1 policy".to_owned() } else { format!("{policies} policies") }
}

fn groups(number: usize) -> String {
    if number == 1 { "1 group".to_owned() } else { format!("{number} groups") }
}

fn why(by_kernel: &Option<String>) -> String {
    let tells = |linux| format!(", as {linux} tells no scheduler of it");
    by_kernel.as_ref().map_or_else(|| " under this scheduler".to_owned(), tells)
}

/// The first of some groups. Whoever made them has named them: what a terminal would obey is left out.
fn some_of(groups: &[String]) -> String {
    const MOST: usize = 8;
    let printable = |group: &String| group.replace(char::is_control, "?");
    let shown: Vec<String> = groups.iter().take(MOST).map(printable).collect();
    let more = groups.len().saturating_sub(MOST);
    format!("{}{}", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() })
}

fn passive(mode_file: Option<&str>) -> String {
    match mode_file {
        Some(file) => format!("`echo passive >{file}` gives it the kernel's governors"),
        None => "boot with its passive mode".to_owned(),
    }
}

/// All there are.
pub(super) fn notes(host: &Host, request: &SessionRequest, plan: &Plan) -> Vec<Note> {
    let mut notes = mechanisms(host, plan);
    notes.extend(factor(host, request, plan));
    notes.extend(clocks(host, request, plan));
    notes.extend(host.capacities.doubts.iter().cloned().map(Note::Capacity));
    notes.extend(limits(host, request, plan));
    if plan.backend == Backend::Affinity && !plan.mechanisms.beyond_affinity().is_empty() {
        notes.push(Note::LeftOut { mechanisms: plan.mechanisms.beyond_affinity() });
    }
    notes
}

/// Which limits of groups do not hold, and whose fault that is.
fn limits(host: &Host, request: &SessionRequest, plan: &Plan) -> Option<Note> {
    let limited = host.limited_groups.clone();
    let linux = || match host.kernel.version() {
        Some((major, minor)) => format!("Linux {major}.{minor}"),
        None => "this kernel".to_owned(),
    };
    let by_kernel = (request.keeps_limits == KeepsLimits::WhereTold).then(linux);
    (!plan.keeps_limits && !limited.is_empty()).then_some(Note::NoLimits { limited, by_kernel })
}

/// What cannot act, but for its clocks.
fn mechanisms(host: &Host, plan: &Plan) -> Vec<Note> {
    let (on, mut notes) = (&plan.mechanisms, Vec::new());
    let by_scheduler = plan.backend == Backend::SchedExt;
    let (one_cpu, one_kind) = (online(&host.machine) < 2, is_of_one_kind(&host.machine));
    let mut inert = |mechanism, state| notes.push(is_inert(host, plan, mechanism, state));
    if on.isolate.is_some() && one_cpu {
        inert("isolate", inert::ONE_CPU);
    }
    if on.longest && one_kind {
        inert("longest", inert::ONE_KIND);
    }
    if on.sorted && by_scheduler && one_cpu {
        inert("sorted", inert::ONE_CPU);
    } else if on.sorted && by_scheduler && !host.counters {
        inert("sorted", inert::NO_COUNTERS);
    }
    if on.serial_first && by_scheduler && one_kind {
        notes.push(Note::NoFastCpu);
    }
    if on.speed && by_scheduler && !host.counters {
        notes.push(Note::NoStalls);
    }
    notes
}

/// Whether the energy-delay factor will lack what the memory can move, as far as can be told before anything is counted.
fn factor(host: &Host, request: &SessionRequest, plan: &Plan) -> Option<Note> {
    let value = |name: &str| {
        let said = request.settings.iter().rev().find(|(known, _)| known == name);
        said.map(|(_, value)| value.trim())
    };
    let is_on = plan.mechanisms.speed && value("edp").is_none_or(|edp| ["true", "1"].contains(&edp));
    let clocks = is_followed(host) || !plan.changes.is_empty();
    let acts = is_on && plan.backend == Backend::SchedExt && host.counters && clocks;
    let by_power = has_power(&host.machine) && value("edp_base_pct").is_none_or(|base| base == "0");
    let is_said = value("memory_mbps").is_some_and(|bandwidth| bandwidth != "0");
    (acts && !by_power && !is_said).then(|| Note::NoBandwidth { why: reason(host, plan, inert::NO_BANDWIDTH) })
}

/// A mechanism will be in a state in which it does nothing.
fn is_inert(host: &Host, plan: &Plan, mechanism: &'static str, state: &str) -> Note {
    Note::Inert { mechanism, why: reason(host, plan, state) }
}

/// The scheduler's sentence for a state, or its word if it has none.
fn reason(host: &Host, plan: &Plan, state: &str) -> String {
    plan.why(state, host).unwrap_or_else(|| state.replace('_', " "))
}

/// Why clocks do not follow a scheduler that asks for them.
fn clocks(host: &Host, request: &SessionRequest, plan: &Plan) -> Vec<Note> {
    let asks = plan.mechanisms.ask_for_clocks() && plan.backend == Backend::SchedExt;
    if !asks || !plan.changes.is_empty() {
        return Vec::new();
    }
    if host.policies.is_empty() {
        return vec![Note::NoCpufreq];
    }
    let mut others = host.policies.iter().filter(|policy| !policy.follows_schedulers());
    let Some(first) = others.next() else { return fixed(host, plan) };
    let governor = first.governor.clone();
    vec![match (why_not_schedutil(host, first), request.governor) {
        (Some(why), _) => why,
        (None, Some(Governor::Keep)) => Note::Keeps { governor },
        (None, _) => Note::OfferSchedutil { governor, policies: 1 + others.count() as u64 },
    }]
}

fn fixed(host: &Host, plan: &Plan) -> Vec<Note> {
    let stands = plan.mechanisms.speed && !is_followed(host);
    stands.then(|| is_inert(host, plan, "speed", inert::NO_CPUFREQ)).into_iter().collect()
}

/// Why a policy cannot have schedutil; `None` if it can.
pub(super) fn why_not_schedutil(host: &Host, policy: &Policy) -> Option<Note> {
    if policy.has_schedutil() {
        return None;
    }
    if policy.governs_itself() {
        return Some(Note::GovernsItself { driver: policy.driver.clone(), mode_file: policy.mode_file });
    }
    // A governor that is a module is loaded when it is asked for.
    let built = host.kernel.config.has("CPU_FREQ_GOV_SCHEDUTIL").unwrap_or(false);
    (!built).then(|| Note::NotBuilt { policy: policy.name.clone() })
}
