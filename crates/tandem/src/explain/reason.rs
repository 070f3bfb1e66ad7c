// SPDX-License-Identifier: GPL-2.0-only
//! Why a mechanism acts, has nothing to do, or is inert; and what it takes.
//!
//! Whether it does is the scheduler's word ([`Trial`]), never guessed. The reasons are read from the machine and the workload.

use schemars::JsonSchema;
use serde::Serialize;
use tandem_bpf_vm::open::{Facts, Reason as Said};
use tandem_live::clause;
use tandem_simulator::machine::traits::Traits as MachineTraits;
use tandem_simulator::simulation::Governor;
use tandem_simulator::workload::traits::Traits as WorkloadTraits;

use super::trial::{ACTIVE, Trial};
use crate::mechanism::{Mechanism, states};
use crate::quantity::{BYTES_PER_SECOND, percent, quantity};

/// What a mechanism can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The mechanism decided something in the trial.
    Acts,
    /// It can act on this machine; no workload was given.
    CanAct,
    /// It can act on this machine, but found nothing to decide in the trial.
    NothingToDo,
    /// The mechanism cannot act here, whatever runs.
    Inert,
}

impl Verdict {
    /// What the trial showed.
    pub fn of(mechanism: &Mechanism, trial: &Trial, has_workload: bool) -> Self {
        match (trial.state == ACTIVE, has_workload) {
            (false, _) => Self::Inert,
            (true, false) => Self::CanAct,
            (true, true) if trial.acts(mechanism) => Self::Acts,
            (true, true) => Self::NothingToDo,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Acts => "acts",
            Self::CanAct => "can act",
            Self::NothingToDo => "can act, but has nothing to do here",
            Self::Inert => "inert",
        }
    }
}

/// What is known of the place.
#[derive(Debug)]
pub struct Place<'a> {
    pub machine: &'a MachineTraits,
    pub workload: Option<&'a WorkloadTraits>,
    pub governor: Governor,
    /// The setting `serial_threshold`.
    pub serial_threshold: u32,
}

/// Why, and what would have to be different for more.
#[derive(Debug, PartialEq, Eq)]
pub struct Reason {
    pub why: String,
    pub needs: Option<String>,
}

fn reason(why: impl Into<String>, needs: impl Into<String>) -> Reason {
    Reason { why: why.into(), needs: Some(needs.into()) }
}

impl Place<'_> {
    /// The reason of a verdict.
    pub fn reason(&self, mechanism: &Mechanism, trial: &Trial, verdict: Verdict) -> Reason {
        let reason = match (verdict, self.workload) {
            (Verdict::Inert, _) => return self.inert(&trial.state),
            (Verdict::Acts, Some(workload)) => self.acts(mechanism, trial, workload),
            (Verdict::NothingToDo, Some(workload)) => self.nothing_to_do(mechanism, trial, workload),
            _ => self.can_act(mechanism),
        };
        trial.inert_parts.iter().fold(reason, |whole, (part, state)| self.with_part(whole, part, state))
    }

    /// The reason of a mechanism, with why a part of it is inert.
    fn with_part(&self, whole: Reason, part: &str, state: &str) -> Reason {
        let Reason { why, needs } = self.inert(state);
        let needs: Vec<String> =
            whole.needs.into_iter().chain(needs.map(|needs| format!("for {part}: {needs}"))).collect();
        Reason {
            why: format!("{} Its part {part} is inert: {}.", whole.why, clause(&why)),
            needs: (!needs.is_empty()).then(|| needs.join("; ")),
        }
    }

    /// What the object says of the state, with what is known of the machine.
    fn inert(&self, state: &str) -> Reason {
        let mut facts =
            Facts::from([("cpus", self.machine.cpus.to_string()), ("clocks", self.machine.clocks.to_string())]);
        if self.machine.changeable_clocks > 0 {
            facts.insert("governor", self.governor.to_string());
        }
        match states().get(state).and_then(|meaning| meaning.reason(&facts)) {
            Some(Said { why, remedy }) => Reason { why, needs: remedy },
            None => reason(format!("The scheduler says {}.", state.replace('_', " ")), "see docs/mechanisms.md"),
        }
    }

    fn can_act(&self, mechanism: &Mechanism) -> Reason {
        let MachineTraits { cpus, kinds, changeable_clocks, .. } = self.machine;
        match mechanism.name.as_str() {
            "isolate" => reason(
                format!("One of the {cpus} CPUs can take the system's noise from the others."),
                "system tasks beside an application",
            ),
            "longest" => reason(
                format!("CPUs are of {} kinds.", kinds.len()),
                "a program whose threads have different lengths, and say so (relative_length) or meet time and again",
            ),
            "serial_first" => {
                let faster = if kinds.len() > 1 { " and run on the fastest CPUs" } else { "" };
                reason(
                    format!("Threads in serial phases can go before others{faster}."),
                    format!(
                        "programs with more than {} ready threads at times, and fewer at others",
                        self.serial_threshold
                    ),
                )
            }
            "sorted" => reason(
                format!("{}.", self.memory()),
                format!(
                    "more threads than the {cpus} CPUs that use up their slices, some memory-bound and some compute-bound"
                ),
            ),
            _ => reason(
                format!("{}.", clocks(*changeable_clocks)),
                "CPUs that are idle at times, or threads that wait for memory",
            ),
        }
    }

    fn nothing_to_do(&self, mechanism: &Mechanism, trial: &Trial, workload: &WorkloadTraits) -> Reason {
        let mut can = self.can_act(mechanism);
        let why = match mechanism.name.as_str() {
            "isolate" if workload.applications.is_empty() => "The workload has no application to protect.".to_owned(),
            "isolate" if workload.system_threads == 0 => {
                "The workload has no system tasks, so there is no noise.".to_owned()
            }
            "isolate" => "No system task ran.".to_owned(),
            "longest" if workload.parallel(1).next().is_none() => {
                "No program has two threads that could be compared.".to_owned()
            }
            "longest" => "No thread's length became known, or all were equally long.".to_owned(),
            "serial_first" if trial.count("serial_phases") > 0 => {
                can.needs = Some("more ready threads than CPUs, or CPUs of different speed".to_owned());
                "Serial phases began, but always found what they wanted without it.".to_owned()
            }
            "serial_first" => self.never_serial(workload),
            "sorted" => match workload.threads() {
                Some(threads) if threads <= self.machine.cpus => {
                    format!(
                        "Applications have at most {threads} threads, for {} CPUs: none has to wait.",
                        self.machine.cpus
                    )
                }
                _ => "No thread used up a slice while others waited.".to_owned(),
            },
            _ => "No clock had to change.".to_owned(),
        };
        Reason { why, ..can }
    }

    fn never_serial(&self, workload: &WorkloadTraits) -> String {
        let threshold = self.serial_threshold;
        match workload.parallel(threshold).next() {
            None => format!("No program has more than {threshold} threads, so none is ever in a parallel phase."),
            Some(_) => format!("No program had more than {threshold} ready threads and then fewer."),
        }
    }

    fn acts(&self, mechanism: &Mechanism, trial: &Trial, workload: &WorkloadTraits) -> Reason {
        let Reason { why: machine, .. } = self.can_act(mechanism);
        let mut needs = None;
        let why = match mechanism.name.as_str() {
            "isolate" => format!(
                "The workload has {}, with work for {} of a CPU.",
                some(workload.system_threads.into(), "system task"),
                percent(workload.system_load)
            ),
            "longest" => format!("{machine} {}", lengths(workload)),
            "serial_first" => format!(
                "{} can have more than {} ready threads at times.",
                names(workload.parallel(self.serial_threshold).map(|app| app.name.as_str()).collect()),
                self.serial_threshold
            ),
            "sorted" => {
                let memory = workload.applications.iter().map(|app| u64::from(app.memory_bound)).sum();
                let compute: u64 = workload.applications.iter().map(|app| u64::from(app.compute_bound)).sum();
                if trial.count("sorted_mixed") == 0 {
                    needs =
                        Some("threads with more and less than half of the memory's bandwidth, to mix them".to_owned());
                }
                let kinds = format!("{} and {compute} compute-bound", some(memory, "memory-bound thread"));
                format!("Threads wait for CPUs: there are {kinds}. {machine}")
            }
            _ => machine,
        };
        Reason { why, needs }
    }

    /// `8 CPUs share a memory of 14.93 GB/s`.
    fn memory(&self) -> String {
        match self.machine.memory {
            Some(memory) => {
                format!("{} CPUs share a memory of {}", memory.cpus, quantity(memory.bytes_per_s, BYTES_PER_SECOND))
            }
            None => "CPUs share the memory".to_owned(),
        }
    }
}

/// Where lengths come from.
fn lengths(workload: &WorkloadTraits) -> String {
    let hinted: u64 = workload.applications.iter().map(|app| u64::from(app.hinted)).sum();
    let meet: Vec<&str> = workload.applications.iter().filter(|app| app.meets).map(|app| app.name.as_str()).collect();
    let hints = (hinted > 0).then(|| format!("{} of threads come with the workload", some(hinted, "length")));
    let learned = (!meet.is_empty()).then(|| format!("lengths are learned where threads meet, in {}", names(meet)));
    match [hints, learned].into_iter().flatten().collect::<Vec<_>>() {
        known if known.is_empty() => "Lengths are learned from what threads do.".to_owned(),
        known => {
            let text = known.join("; ");
            let mut chars = text.chars();
            let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
            format!("{first}{}.", chars.as_str())
        }
    }
}

fn clocks(changeable: u32) -> String {
    match changeable {
        1 => "One clock can be changed".to_owned(),
        more => format!("{more} clocks can be changed"),
    }
}

/// `1 thread`, `4 threads`.
pub fn some(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Most names that are listed.
const MOST_NAMES: usize = 4;

/// `a, b and c`.
fn names(all: Vec<&str>) -> String {
    let shown = if all.len() > MOST_NAMES { &all[..MOST_NAMES - 1] } else { &all[..] };
    let more = some((all.len() - shown.len()) as u64, "other");
    match shown {
        [] => "no application".to_owned(),
        shown if shown.len() < all.len() => format!("{} and {more}", shown.join(", ")),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
