// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[idle_table.NAME]`.

use super::range::{MICROSECONDS, WATTS, nanos};
use super::reader::Table;
use super::schema;
use crate::input::InputError;
use crate::machine::{IdleScope, IdleState};

const SCOPES: &[(&str, IdleScope)] = &[("core", IdleScope::Core), ("cluster", IdleScope::Cluster)];

/// The states of the table, shallow to deep; never empty, and the first stops the core alone.
pub(super) fn read(table: &Table<'_>) -> Result<Vec<IdleState>, InputError> {
    let mut states: Vec<IdleState> = Vec::new();
    for row in table.rows("states", &schema::IDLE_STATE)? {
        let state = read_state(&row)?;
        check_order(&row, states.last(), &state)?;
        states.push(state);
    }
    if states.is_empty() {
        return Err(table.missing("states", "an array of at least one idle state"));
    }
    Ok(states)
}

fn read_state(row: &Table<'_>) -> Result<IdleState, InputError> {
    let scope = row.word_if("scope", SCOPES)?.map_or(IdleScope::Core, |scope| scope.value);
    let time = |key| row.number(key, MICROSECONDS).map(|time| nanos(time.value));
    Ok(IdleState {
        name: row.text("name")?.value.to_owned(),
        scope,
        entry: time("entry_us")?,
        exit: time("exit_us")?,
        residency: time("residency_us")?,
        watts: row.number("watts", WATTS)?.value,
        cluster_watts: cluster_watts(row, scope)?,
    })
}

fn cluster_watts(row: &Table<'_>, scope: IdleScope) -> Result<f64, InputError> {
    match (scope, row.number_if("cluster_watts", WATTS)?) {
        (IdleScope::Core, None) => Ok(0.0),
        (IdleScope::Cluster, Some(watts)) => Ok(watts.value),
        (IdleScope::Cluster, None) => {
            Err(row.missing("cluster_watts", "watts that replace the cluster's `static_watts`, for scope \"cluster\""))
        }
        (IdleScope::Core, Some(watts)) => Err(row
            .file
            .error(watts.at, "`cluster_watts` in a state that stops only the core")
            .help("expected `scope = \"cluster\"` with it")),
    }
}

/// Depth is target residency, as cpuidle has it; what stops a cluster is deeper than what stops a core.
fn check_order(row: &Table<'_>, shallower: Option<&IdleState>, state: &IdleState) -> Result<(), InputError> {
    let Some(shallower) = shallower else {
        return match state.scope {
            IdleScope::Core => Ok(()),
            IdleScope::Cluster => Err(row
                .error("the shallowest idle state stops the cluster")
                .help("expected a state of scope \"core\" first: the one a core enters at once")),
        };
    };
    let at = row.number("residency_us", MICROSECONDS)?.at;
    if state.residency < shallower.residency {
        return Err(row
            .file
            .error(at, format!("`{}` has a shorter residency than `{}` before it", state.name, shallower.name))
            .help("expected states from shallow to deep: `residency_us` ascends"));
    }
    if (shallower.scope, state.scope) == (IdleScope::Cluster, IdleScope::Core) {
        return Err(row
            .error(format!("`{}` stops a core, but `{}` before it stops the cluster", state.name, shallower.name))
            .help("expected states of scope \"core\" before those of scope \"cluster\""));
    }
    Ok(())
}
