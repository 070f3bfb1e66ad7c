// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[idle_table.NAME]`.

use super::range::{MICROSECONDS, WATTS, nanos};
use super::reader::Table;
use super::schema;
use crate::input::InputError;
use crate::machine::{Coordination, IdleScope, IdleState};
use crate::units::Nanos;

const SCOPES: &[(&str, IdleScope)] = &[("core", IdleScope::Core), ("cluster", IdleScope::Cluster)];

const COORDINATIONS: &[(&str, Coordination)] = &[("platform", Coordination::Platform), ("os", Coordination::Os)];

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
    let (entry, exit, residency) = (time("entry_us")?, time("exit_us")?, time("residency_us")?);
    let (typical_entry, typical_exit) = typical(row, entry, exit)?;
    let told = row.number_if("told_residency_us", MICROSECONDS)?;
    Ok(IdleState {
        name: row.text("name")?.value.to_owned(),
        scope,
        entry,
        exit,
        typical_entry,
        typical_exit,
        residency,
        told_residency: told.map_or(residency, |told| nanos(told.value)),
        coordination: coordination(row, scope)?,
        watts: row.number("watts", WATTS)?.value,
        cluster_watts: cluster_watts(row, scope)?,
    })
}

/// What entering and leaving usually take; the longest, where the row says nothing. Drivers that count entering as part of leaving
/// give 0 for it, so the two are compared together.
fn typical(row: &Table<'_>, entry: Nanos, exit: Nanos) -> Result<(Nanos, Nanos), InputError> {
    let time = |key| row.number_if(key, MICROSECONDS);
    let (into, out) = (time("typical_entry_us")?, time("typical_exit_us")?);
    let typical =
        (into.as_ref().map_or(entry, |time| nanos(time.value)), out.as_ref().map_or(exit, |time| nanos(time.value)));
    let Some(at) = out.or(into).map(|time| time.at) else { return Ok(typical) };
    if typical.0 + typical.1 > entry + exit {
        let longer = "in and out usually take longer than `entry_us` and `exit_us`, the longest times, together";
        return Err(row.file.error(at, longer).help("expected at most what these say"));
    }
    Ok(typical)
}

fn coordination(row: &Table<'_>, scope: IdleScope) -> Result<Coordination, InputError> {
    let Some(word) = row.word_if("coordination", COORDINATIONS)? else { return Ok(Coordination::Platform) };
    if scope == IdleScope::Core {
        let alone = row.file.error(word.at, "`coordination` in a state that stops only the core");
        return Err(alone.help("expected `scope = \"cluster\"` with it"));
    }
    Ok(word.value)
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
    if state.told_residency < shallower.told_residency {
        let at = row.number_if("told_residency_us", MICROSECONDS)?.map_or(at, |told| told.at);
        let message = format!(
            "the kernel is told of a shorter residency for `{}` than for `{}` before it",
            state.name, shallower.name
        );
        let ascend =
            "expected what the kernel is told to ascend: `told_residency_us`, or `residency_us` without it, ascends";
        return Err(row.file.error(at, message).help(ascend));
    }
    if (shallower.coordination, state.coordination) == (Coordination::Os, Coordination::Platform) {
        return Err(row
            .error(format!("`{}` is for CPUs to ask for, but `{}` before it is not", state.name, shallower.name))
            .help("expected `coordination = \"os\"` here, too"));
    }
    Ok(())
}
