// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `tandem` object of a task or a phase: what rt-app cannot say.

use super::super::json::{Kind, Value};
use super::super::{LoopSchedule, Spread};
use super::fields::{Fields, Source, mismatch, number, string};
use super::syntax::{ParallelFor, Tandem};
use crate::input::InputError;
use crate::units::{Nanos, USEC};

/// Where a `tandem` object stands, which decides the keys that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// A task that has phases.
    Task,
    /// A phase.
    Phase,
    /// A task that is its own only phase.
    Both,
}

const KEYS: [&str; 21] = [
    "memory_bound",
    "bytes_per_work",
    "footprint",
    "activity",
    "spin",
    "run_spread",
    "sleep_spread",
    "application",
    "system",
    "relative_length",
    "process",
    "kernel_thread",
    "disturbs",
    "deadline",
    "timer_slack_us",
    "frame",
    "memory",
    "parallel_for",
    "join",
    "migration_disabled",
    "same_round",
];
const OF_TASKS: [&str; 10] = [
    "application",
    "system",
    "relative_length",
    "process",
    "kernel_thread",
    "disturbs",
    "deadline",
    "timer_slack_us",
    "frame",
    "memory",
];
const OF_PHASES: [&str; 4] = ["parallel_for", "join", "migration_disabled", "same_round"];

/// Largest `bytes_per_work`, in bytes per microsecond: a terabyte per second.
const MAX_BYTES_PER_WORK: f64 = 1e6;
/// Largest count that a JSON reader with doubles keeps exact.
const MAX_COUNT: i64 = 1 << 53;

/// Reads a `tandem` object, and the parallel loop in it.
pub(super) fn read(
    source: &Source,
    what: &str,
    value: &Value,
    level: Level,
) -> Result<(Tandem, Option<ParallelFor>), InputError> {
    let fields = Fields::of(source, format!("`tandem` of {what}"), value)?;
    reject_misplaced(&fields, level)?;
    let bytes = |key| fields.value(key).map(|value| size(source, key, value)).transpose();
    let spread = |key| fields.value(key).map(|value| spread(source, key, value)).transpose();
    let tandem = Tandem {
        memory_bound: fields.number("memory_bound", 0.0..=1.0)?,
        bytes_per_work: fields.number("bytes_per_work", 0.0..=MAX_BYTES_PER_WORK)?.map(|bytes| bytes / USEC as f64),
        footprint: bytes("footprint")?,
        activity: fields.number("activity", 0.0..=10.0)?,
        spin: fields.usec("spin")?,
        run_spread: spread("run_spread")?,
        sleep_spread: spread("sleep_spread")?,
        application: fields.string("application")?.map(str::to_owned),
        system: fields.boolean("system")?.unwrap_or(false),
        relative_length: fields.integer("relative_length", 0..=MAX_COUNT)?.map(i64::unsigned_abs),
        process: fields.boolean("process")?.unwrap_or(false),
        kernel_thread: fields.boolean("kernel_thread")?.unwrap_or(false),
        disturbs: bytes("disturbs")?,
        join: fields.boolean("join")?.unwrap_or(false),
        migration_disabled: fields.boolean("migration_disabled")?.unwrap_or(false),
        same_round: fields.boolean("same_round")?.unwrap_or(false),
        deadline: fields.usec("deadline")?,
        timer_slack: fields.usec("timer_slack_us")?,
        frame: fields.boolean("frame")?.unwrap_or(false),
        interleave: fields.choice("memory", &["local", "interleave"])? == Some(1),
    };
    if tandem.kernel_thread && !tandem.system {
        return Err(fields
            .error(value.offset, format!("{what} is a kernel thread, so it must be a system task, too"))
            .help("`\"system\" : true`"));
    }
    if tandem.system && tandem.application.is_some() {
        source.warn(value.offset, format!("{what} is a system task, so it belongs to no application"));
    }
    let parallel_for = fields.value("parallel_for").map(|value| parallel_for(source, value)).transpose()?;
    fields.reject_unknown(&KEYS)?;
    Ok((tandem, parallel_for))
}

fn reject_misplaced(fields: &Fields, level: Level) -> Result<(), InputError> {
    let (keys, place): (&[&str], _) = match level {
        Level::Task => (&OF_PHASES, "a phase"),
        Level::Phase => (&OF_TASKS, "the task"),
        Level::Both => return Ok(()),
    };
    match keys.iter().find_map(|key| fields.member(key)) {
        None => Ok(()),
        Some(member) => Err(fields.error(member.offset, format!("`{}` belongs in {place}'s `tandem`", member.key))),
    }
}

/// A size in bytes: an integer, or a string with a unit.
fn size(source: &Source, key: &str, value: &Value) -> Result<u64, InputError> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let bytes = match &value.kind {
        Kind::Number(digits) => digits.parse::<u64>().ok(),
        Kind::String(text) => UNITS
            .iter()
            .find_map(|(unit, factor)| text.strip_suffix(unit)?.trim_end().parse::<u64>().ok()?.checked_mul(*factor)),
        _ => None,
    };
    bytes
        .filter(|bytes| *bytes <= MAX_COUNT.unsigned_abs())
        .ok_or_else(|| mismatch(source, key, value, "bytes, or a string such as \"512KiB\", \"4MiB\", \"1GiB\""))
}

pub(super) fn spread(source: &Source, key: &str, value: &Value) -> Result<Spread, InputError> {
    const EXPECTED: &str = "\"exponential\", { \"uniform\" : 0 to 1 } or { \"log_normal\" : SIGMA }";
    match &value.kind {
        Kind::String(name) if name == "exponential" => return Ok(Spread::Exponential),
        Kind::Object(members) if members.len() == 1 => {
            let member = &members[0];
            match member.key.as_str() {
                "uniform" => return number(source, "uniform", &member.value, 0.0..=1.0).map(Spread::Uniform),
                "log_normal" => return number(source, "log_normal", &member.value, 0.0..=3.0).map(Spread::LogNormal),
                _ => {}
            }
        }
        _ => {}
    }
    Err(mismatch(source, key, value, EXPECTED))
}

fn parallel_for(source: &Source, value: &Value) -> Result<ParallelFor, InputError> {
    const KEYS: [&str; 5] = ["name", "iterations", "work", "schedule", "chunk"];
    const SCHEDULES: [&str; 3] = ["static", "dynamic", "guided"];
    let fields = Fields::of(source, "`parallel_for`", value)?;
    let missing = |key: &str| fields.error(value.offset, format!("`parallel_for` has no `{key}`"));
    let name = match fields.value("name") {
        None => return Err(missing("name")),
        Some(value) => string(source, "name", value)?.to_owned(),
    };
    let iterations = fields.integer("iterations", 1..=MAX_COUNT)?.ok_or_else(|| missing("iterations"))?.unsigned_abs();
    let usec = fields.number("work", 0.001..=INT_USEC)?.ok_or_else(|| missing("work"))?;
    let work = (usec * USEC as f64).round() as Nanos;
    if iterations.checked_mul(work).is_none_or(|total| total > i64::MAX.unsigned_abs()) {
        return Err(fields.error(value.offset, "`iterations` times `work` is more than 292 years"));
    }
    let chunk = fields.integer("chunk", 1..=MAX_COUNT)?.map(i64::unsigned_abs);
    let schedule = match (fields.choice("schedule", &SCHEDULES)?, chunk) {
        (Some(1), chunk) => LoopSchedule::Dynamic { chunk: chunk.unwrap_or(1) },
        (Some(2), chunk) => LoopSchedule::Guided { chunk: chunk.unwrap_or(1) },
        (_, None) => LoopSchedule::Static,
        (_, Some(_)) => {
            return Err(fields
                .error(value.offset, "a static schedule deals equal shares: it takes no `chunk`")
                .help("`schedule` may be \"dynamic\" or \"guided\""));
        }
    };
    fields.reject_unknown(&KEYS)?;
    Ok(ParallelFor { name, iterations, work, schedule })
}

/// Longest work of an iteration, in microseconds: rt-app's longest event.
const INT_USEC: f64 = i32::MAX as f64;
