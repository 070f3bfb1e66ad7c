// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a mechanism has nothing to act on: the scheduler's sentences for its states, with the facts of a host in them.

use tandem_bpf_vm::open::{Facts, Meanings};

use crate::host::Host;
use crate::machine::Machine;

/// The state of a mechanism that needs two CPUs on a machine with one, as the scheduler calls it.
pub(super) const ONE_CPU: &str = "one_cpu";
/// The state of a mechanism that needs CPUs of different speed.
pub(super) const ONE_KIND: &str = "one_kind";
/// The state of a mechanism that needs performance counters.
pub(super) const NO_COUNTERS: &str = "no_counters";
/// The state of a part that needs to know what the memory can move.
pub(super) const NO_BANDWIDTH: &str = "no_bandwidth";
/// The state of a mechanism that needs a clock which follows it.
pub(super) const NO_CPUFREQ: &str = "no_cpufreq";

/// The sentence that a scheduler has for a state on a host; `None` if it has none, as for `active`.
pub(super) fn why(states: &Meanings, state: &str, host: &Host) -> Option<String> {
    states.get(state)?.reason(&facts(host)).map(|reason| reason.why)
}

/// What is known of a host for the words in braces of a scheduler's sentences: `cpus`, how many are online; `clocks`, how
/// many cpufreq policies there are, if any; `governor`, that of the first clock that could be changed, if none follows.
fn facts(host: &Host) -> Facts {
    let mut facts = Facts::from([("cpus", online(&host.machine).to_string())]);
    if !host.policies.is_empty() {
        facts.insert("clocks", host.policies.len().to_string());
    }
    let mut changeable = host.policies.iter().filter(|policy| policy.is_changeable());
    if let Some(first) = changeable.next().filter(|_| !is_followed(host)) {
        facts.insert("governor", first.governor.clone());
    }
    facts
}

/// Whether there is a clock that can be changed and follows schedulers.
pub(super) fn is_followed(host: &Host) -> bool {
    host.policies.iter().any(|policy| policy.is_changeable() && policy.follows_schedulers())
}

/// Whether the CPUs that are online are of one kind at the clocks that are allowed.
pub(super) fn is_of_one_kind(machine: &Machine) -> bool {
    let performance = || machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.performance);
    let (fastest, slowest) = (performance().max().unwrap_or(0), performance().min().unwrap_or(0));
    // capacity_greater(), kernel/sched/fair.c.
    fastest * 1024 <= slowest * 1078
}

/// Whether the kernel has the power of some clock: then waiting for memory can be told from stalled cycles.
pub(super) fn has_power(machine: &Machine) -> bool {
    machine.opp_tables.iter().any(|table| table.power.first().is_some_and(|power| *power > 0))
}

/// How many CPUs are online.
pub(super) fn online(machine: &Machine) -> u64 {
    machine.cpus.iter().filter(|cpu| cpu.online).count() as u64
}
