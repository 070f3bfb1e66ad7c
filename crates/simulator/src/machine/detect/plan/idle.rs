// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle states of every core, and the tables that cores share.

use super::cores::Core;
use super::{Clock, IdleState, IdleTable, number_repeated};
use crate::machine::detect::assumed;
use tandem_loader::cpus::CpuList;
use tandem_loader::reading::{self, Reading};

/// The distinct tables, and the table of each core.
pub(super) fn tables(
    facts: &Reading,
    cores: &[Core],
    clocks: &[Clock],
    clock_of: &[usize],
    warnings: &mut Vec<String>,
) -> (Vec<IdleTable>, Vec<usize>) {
    let mut distinct: Vec<(usize, &[reading::IdleState])> = Vec::new();
    let mut table_of = Vec::new();
    for (index, core) in cores.iter().enumerate() {
        let key = (clock_of[index], core.facts(facts).idle.as_slice());
        let found = distinct.iter().position(|known| *known == key);
        table_of.push(found.unwrap_or(distinct.len()));
        if found.is_none() {
            distinct.push(key);
        }
    }
    let without: Vec<u32> =
        cores.iter().filter(|core| core.facts(facts).idle.is_empty()).map(|core| core.leader).collect();
    if !without.is_empty() {
        let list = CpuList::of(&without);
        warnings.push(format!("CPUs {list} have no cpuidle: only the architecture's halt is described"));
    }
    let names: Vec<String> = distinct.iter().map(|(clock, _)| clocks[*clock].name.clone()).collect();
    let entries = distinct.iter().zip(number_repeated(&names, "-"));
    let tables = entries.map(|((clock, states), name)| table(states, name, clocks[*clock].busy_watts().0, warnings));
    (tables.collect(), table_of)
}

/// sysfs does not say what a state stops; its name often does. What follows a cluster state is deeper still.
fn is_cluster_state(state: &reading::IdleState, shallower: Option<&IdleState>) -> bool {
    state.name.to_lowercase().contains("cluster") || shallower.is_some_and(|state| state.stops_cluster)
}

fn table(states: &[reading::IdleState], name: String, lowest_watts: f64, warnings: &mut Vec<String>) -> IdleTable {
    // POLL spins: power of a busy core, and menu and teo leave it within microseconds.
    let real: Vec<&reading::IdleState> = states.iter().filter(|state| state.name != "POLL").collect();
    if real.is_empty() {
        let watts = assumed::idle_watts(0, lowest_watts);
        let exit_us = assumed::HALT_EXIT_US;
        let halt = IdleState { name: "halt".to_owned(), stops_cluster: false, exit_us, residency_us: exit_us, watts };
        return IdleTable { name, states: vec![halt], source: assumed::HALT_SOURCE.to_owned(), watts_source: None };
    }
    let mut table: Vec<IdleState> = Vec::new();
    for (depth, state) in real.into_iter().enumerate() {
        let least = table.last().map_or(0, |shallower| shallower.residency_us);
        let residency_us = state.residency_us.unwrap_or(state.latency_us).max(state.latency_us);
        if residency_us < least {
            warnings.push(format!("idle state {} pays earlier than a shallower one: raised to {least} us", state.name));
        }
        table.push(IdleState {
            name: state.name.clone(),
            // The shallowest state is what a core enters alone, whatever its name.
            stops_cluster: depth > 0 && is_cluster_state(state, table.last()),
            exit_us: state.latency_us,
            residency_us: residency_us.max(least),
            watts: assumed::idle_watts(depth, lowest_watts),
        });
    }
    warnings.dedup();
    IdleTable { name, states: table, source: "sysfs cpuidle".to_owned(), watts_source: None }
}
