// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies, priorities and clamps: what a file says, and the parameters of a thread that follow.

use super::super::{Policy, Scheduling};
use super::fields::{Fields, Source};
use super::syntax::{PolicyKind, SchedulingChange};
use crate::input::InputError;
use crate::units::{CAPACITY_SCALE, Nanos, USEC};

/// rt-app's names of the policies; Tandem adds `SCHED_EXT`.
pub(super) const POLICIES: [(&str, PolicyKind); 7] = [
    ("SCHED_OTHER", PolicyKind::Other),
    ("SCHED_BATCH", PolicyKind::Batch),
    ("SCHED_IDLE", PolicyKind::Idle),
    ("SCHED_RR", PolicyKind::RoundRobin),
    ("SCHED_FIFO", PolicyKind::Fifo),
    ("SCHED_DEADLINE", PolicyKind::Deadline),
    ("SCHED_EXT", PolicyKind::Ext),
];

/// The scheduling keys of tasks and phases.
const KEYS: [&str; 7] = ["policy", "priority", "dl-runtime", "dl-period", "dl-deadline", "util_min", "util_max"];

/// rt-app's default priority of real-time threads.
const RT_PRIORITY: i32 = 10;
/// The kernel takes no shorter budget for SCHED_DEADLINE (`DL_SCALE`).
const DEADLINE_MIN_RUNTIME: Nanos = 1 << 10;

/// Reads the scheduling keys of a phase; `None` if it has none.
pub(super) fn of_phase(fields: &Fields) -> Result<Option<SchedulingChange>, InputError> {
    let change = read(fields, None)?;
    let given = change.policy.is_some()
        || change.priority.is_some()
        || change.runtime + change.period + change.deadline > 0
        || change.util_min.is_some()
        || change.util_max.is_some();
    Ok(given.then_some(change))
}

/// Reads the scheduling keys of a task, which also has them by the names that old files use.
pub(super) fn of_task(fields: &Fields, default: PolicyKind) -> Result<SchedulingChange, InputError> {
    let mut change = read(fields, Some(default))?;
    if change.runtime == 0 {
        change.runtime = fields.usec("runtime")?.unwrap_or(0);
    }
    if change.period == 0 {
        change.period = fields.usec("period")?.unwrap_or(change.runtime);
    }
    if change.deadline == 0 {
        change.deadline = fields.usec("deadline")?.unwrap_or(change.period);
    }
    for (old, new) in [("runtime", "dl-runtime"), ("period", "dl-period"), ("deadline", "dl-deadline")] {
        warn_old_key(fields, old, new, change.policy);
    }
    Ok(change)
}

/// Warns about an old name of a deadline parameter that has no effect, or more effect than it seems to have.
fn warn_old_key(fields: &Fields, old: &str, new: &str, policy: Option<PolicyKind>) {
    let Some(member) = fields.member(old) else { return };
    let effect = match (policy, old) {
        (Some(PolicyKind::Deadline), _) => return,
        // A task in the form from before events has a period of its own.
        (_, "period") if fields.member("exec").is_some() => return,
        (Some(PolicyKind::Other), "runtime") => {
            "is also the thread's requested slice, as rt-app reads it: use another key such as `runtime0` for the event"
        }
        // In a task without phases `runtime` is an event, and read as one.
        (_, "runtime") if fields.member("phases").is_none() => return,
        _ => "only counts for SCHED_DEADLINE",
    };
    fields.source.warn(member.offset, format!("`{old}`, an old name of `{new}`, {effect}"));
}

fn read(fields: &Fields, default: Option<PolicyKind>) -> Result<SchedulingChange, InputError> {
    let policy = fields.choice("policy", &POLICIES.map(|(name, _)| name))?.map(|place| POLICIES[place].1);
    let priority = fields.integer("priority", -20..=99)?;
    let runtime = fields.usec("dl-runtime")?.unwrap_or(0);
    let period = fields.usec("dl-period")?.unwrap_or(runtime);
    let deadline = fields.usec("dl-deadline")?.unwrap_or(period);
    let (util_min, util_max) = (clamp(fields, "util_min")?, clamp(fields, "util_max")?);
    let given: Vec<_> = KEYS.iter().filter_map(|key| Some((*key, fields.member(key)?.offset))).collect();
    Ok(SchedulingChange {
        offset: given.first().map_or(fields.offset, |(_, offset)| *offset),
        given,
        policy: policy.or(default),
        priority: priority.and_then(|priority| i32::try_from(priority).ok()),
        runtime,
        period,
        deadline,
        util_min,
        util_max,
    })
}

/// A utilisation clamp; −1 leaves it as it is.
fn clamp(fields: &Fields, key: &str) -> Result<Option<u32>, InputError> {
    let value = fields.integer(key, -1..=CAPACITY_SCALE as i64)?;
    Ok(value.and_then(|value| u32::try_from(value).ok()))
}

/// The policy of `scheduling` without its parameters.
pub(super) fn kind_of(scheduling: &Scheduling) -> PolicyKind {
    match scheduling.policy {
        Policy::Other { .. } => PolicyKind::Other,
        Policy::Batch { .. } => PolicyKind::Batch,
        Policy::Idle => PolicyKind::Idle,
        Policy::Ext { .. } => PolicyKind::Ext,
        Policy::Fifo { .. } => PolicyKind::Fifo,
        Policy::RoundRobin { .. } => PolicyKind::RoundRobin,
        Policy::Deadline { .. } => PolicyKind::Deadline,
    }
}

/// The parameters of a thread with `state` after `change`, whose policy is `kind`: rt-app's `set_thread_param`.
///
/// # Errors
/// Values that the kernel would refuse for that policy.
pub(super) fn apply(
    source: &Source,
    state: &Scheduling,
    change: &SchedulingChange,
    kind: PolicyKind,
) -> Result<Scheduling, InputError> {
    let mut next = *state;
    // A deadline thread always gets new parameters.
    if kind == PolicyKind::Deadline {
        next.policy = deadline(source, change)?;
        return Ok(next);
    }
    if sets_policy(change) {
        next.policy = policy(source, state, change, kind)?;
    }
    next.util_min = change.util_min.or(state.util_min);
    next.util_max = change.util_max.or(state.util_max);
    match (next.util_min, next.util_max) {
        (Some(min), Some(max)) if min > max => {
            Err(source.error(change.offset, format!("util_min {min} is above util_max {max}")))
        }
        _ => Ok(next),
    }
}

/// Warns about the keys of `change` that `kind` does not use.
pub(super) fn warn_unused(source: &Source, change: &SchedulingChange, kind: PolicyKind) {
    let name = POLICIES.iter().find(|(_, other)| *other == kind).map_or("", |(name, _)| name);
    let used = |key: &str| match key {
        "priority" => !matches!(kind, PolicyKind::Deadline | PolicyKind::Idle),
        "dl-runtime" => matches!(kind, PolicyKind::Deadline | PolicyKind::Other),
        "dl-period" | "dl-deadline" => kind == PolicyKind::Deadline,
        "util_min" | "util_max" => kind != PolicyKind::Deadline,
        _ => true,
    };
    for (key, offset) in &change.given {
        if !used(key) {
            source.warn(*offset, format!("`{key}` has no effect under {name}"));
        } else if *key == "dl-runtime" && kind == PolicyKind::Other && !sets_policy(change) {
            source.warn(*offset, "`dl-runtime` has no effect in a phase without `policy` or `priority`");
        }
    }
}

/// Whether `change` also changes the policy. For rt-app, a change with neither policy nor priority changes the clamps
/// only.
fn sets_policy(change: &SchedulingChange) -> bool {
    change.policy.is_some() || change.priority.is_some()
}

fn policy(
    source: &Source,
    state: &Scheduling,
    change: &SchedulingChange,
    kind: PolicyKind,
) -> Result<Policy, InputError> {
    let nice = || in_range(source, change, change.priority.unwrap_or(0), -20..=19, "nice value");
    let priority = || in_range(source, change, change.priority.unwrap_or(RT_PRIORITY), 1..=99, "real-time priority");
    Ok(match kind {
        PolicyKind::Other => Policy::Other { nice: nice()?, slice: slice(state, change) },
        PolicyKind::Batch => Policy::Batch { nice: nice()? },
        PolicyKind::Idle => Policy::Idle,
        PolicyKind::Ext => Policy::Ext { nice: nice()? },
        PolicyKind::Fifo => Policy::Fifo { priority: priority()?.unsigned_abs() },
        PolicyKind::RoundRobin => Policy::RoundRobin { priority: priority()?.unsigned_abs() },
        PolicyKind::Deadline => deadline(source, change)?,
    })
}

/// The requested slice: the change's, or else the thread's present one.
fn slice(state: &Scheduling, change: &SchedulingChange) -> Option<Nanos> {
    match state.policy {
        _ if change.runtime > 0 => Some(change.runtime),
        Policy::Other { slice, .. } => slice,
        _ => None,
    }
}

fn in_range(
    source: &Source,
    change: &SchedulingChange,
    priority: i32,
    range: std::ops::RangeInclusive<i32>,
    what: &str,
) -> Result<i8, InputError> {
    match i8::try_from(priority) {
        Ok(value) if range.contains(&priority) => Ok(value),
        _ => Err(source.error(
            change.offset,
            format!("`priority` {priority} is no {what}: expected {} to {}", range.start(), range.end()),
        )),
    }
}

fn deadline(source: &Source, change: &SchedulingChange) -> Result<Policy, InputError> {
    let SchedulingChange { runtime, period, deadline, .. } = *change;
    let period = if period == 0 { deadline } else { period };
    if runtime < DEADLINE_MIN_RUNTIME || runtime > deadline || deadline > period {
        let usec = |nanos| nanos / USEC;
        return Err(source
            .error(
                change.offset,
                format!(
                    "SCHED_DEADLINE needs 2 ≤ runtime ≤ deadline ≤ period, not {}, {}, {} microseconds",
                    usec(runtime),
                    usec(deadline),
                    usec(period)
                ),
            )
            .help("give `dl-runtime`; `dl-period` defaults to it, and `dl-deadline` to `dl-period`"));
    }
    Ok(Policy::Deadline { runtime, deadline, period })
}
