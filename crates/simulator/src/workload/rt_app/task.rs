// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `tasks` object: tasks and their phases.

use std::collections::BTreeSet;

use super::super::json::{Kind, Member, Value};
use super::fields::{Fields, INT, Source, integer};
use super::syntax::{Event, Global, ParallelFor, Phase, Repeat, Settings, Step, Tandem, Task};
use super::tandem::{self, Level};
use super::{event, legacy, scheduling};
use crate::input::{InputError, nearest, valid_names};

/// Most threads of one task: no Linux has more (`PID_MAX_LIMIT`).
const MAX_INSTANCES: i64 = 4 << 20;

/// Keys that tasks and phases share.
const SHARED_KEYS: [&str; 12] = [
    "loop",
    "cpus",
    "nodes_membind",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "taskgroup",
    "tandem",
];
/// Keys of tasks only; the last three are old names of the deadline parameters.
const TASK_KEYS: [&str; 6] = ["instance", "delay", "phases", "runtime", "period", "deadline"];

/// Reads `tasks`. A second task of the same name gets a number, as in workgen.
pub(super) fn tasks(source: &Source, global: &Global, value: &Value) -> Result<Vec<Task>, InputError> {
    let fields = Fields::of(source, "`tasks`", value)?;
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut tasks = Vec::new();
    for member in fields.take_all(|_| true) {
        let mut name = member.key.clone();
        let mut number = 1;
        while !names.insert(name.clone()) {
            name = format!("{}{number}", member.key);
            number += 1;
        }
        if name != member.key {
            source.warn(member.offset, format!("task `{}` is given twice: this one is called `{name}`", member.key));
        }
        tasks.extend(task(source, global, name, member)?);
    }
    Ok(tasks)
}

/// Reads one task; `None` if it has nothing that rt-app would run.
fn task(source: &Source, global: &Global, name: String, member: &Member) -> Result<Option<Task>, InputError> {
    let fields = Fields::of(source, format!("task `{name}`"), &member.value)?;
    let instances = fields.integer("instance", 0..=MAX_INSTANCES)?.unwrap_or(1);
    let delay = fields.usec("delay")?.unwrap_or(0);
    let settings = Settings {
        scheduling: Some(scheduling::of_task(&fields, global.default_policy)?),
        cpus: cpus(&fields)?,
        task_group: task_group(&fields)?,
    };
    let membind = membind(&fields)?;
    let (phases, repeat, tandem) = match fields.value("phases") {
        Some(phases) => with_phases(&fields, global, &name, phases)?,
        None => own_phase(&fields, global, member.offset)?,
    };
    if phases.is_empty() {
        source.warn(member.offset, format!("task `{name}` has no phases, left out"));
        return Ok(None);
    }
    let instances = u32::try_from(instances).unwrap_or(0);
    Ok(Some(Task { name, offset: member.offset, instances, delay, repeat, settings, membind, tandem, phases }))
}

type Body = (Vec<Phase>, Repeat, Tandem);

fn with_phases(fields: &Fields, global: &Global, name: &str, phases: &Value) -> Result<Body, InputError> {
    let source = fields.source;
    let repeat = fields.integer("loop", -1..=*INT.end())?.and_then(|count| u64::try_from(count).ok());
    let (tandem, _) = tandem_of(fields, Level::Task)?;
    for event in fields.take_all(|key| event::kind_of(key).is_some() && key != "runtime") {
        source.warn(event.offset, format!("`{}` beside `phases` is no event: rt-app ignores it", event.key));
    }
    fields.warn_unknown(&known_keys(Level::Task));
    let list = Fields::of(source, format!("`phases` of task `{name}`"), phases)?;
    let mut read = Vec::new();
    for member in list.take_all(|_| true) {
        let what = format!("phase `{}` of task `{name}`", member.key);
        let fields = Fields::of(source, what, &member.value)?;
        fields.meaningless("nodes_membind", "memory stays where a task's first work puts it");
        let (tandem, parallel_for) = tandem_of(&fields, Level::Phase)?;
        let mut phase = phase(&fields, global, parallel_for, tandem.join, Level::Phase)?;
        phase.name = member.key.clone();
        phase.offset = member.offset;
        phase.tandem = tandem;
        phase.settings = Settings {
            scheduling: scheduling::of_phase(&fields)?,
            cpus: cpus(&fields)?,
            task_group: task_group(&fields)?,
        };
        fields.warn_unknown(&known_keys(Level::Phase));
        read.push(phase);
    }
    Ok((read, repeat, tandem))
}

/// The phase of a task without `phases`. The task's `loop` is the phase's; without it the task never ends.
fn own_phase(fields: &Fields, global: &Global, offset: usize) -> Result<Body, InputError> {
    let (tandem, parallel_for) = tandem_of(fields, Level::Both)?;
    let (join, migration_disabled, same_round) = (tandem.join, tandem.migration_disabled, tandem.same_round);
    let mut phase = phase(fields, global, parallel_for, join, Level::Both)?;
    phase.offset = offset;
    let own = &mut phase.tandem;
    (own.join, own.migration_disabled, own.same_round) = (join, migration_disabled, same_round);
    let repeat = fields.value("loop").map(|_| 1);
    fields.warn_unknown(&known_keys(Level::Both));
    Ok((vec![phase], repeat, tandem))
}

fn known_keys(level: Level) -> Vec<&'static str> {
    match level {
        Level::Task => [&SHARED_KEYS[..], &TASK_KEYS].concat(),
        Level::Phase => [&SHARED_KEYS[..], &event::EVENTS].concat(),
        Level::Both => [&SHARED_KEYS[..], &TASK_KEYS, &event::EVENTS].concat(),
    }
}

/// Reads the steps of a phase, and how often they are repeated.
fn phase(
    fields: &Fields,
    global: &Global,
    parallel_for: Option<ParallelFor>,
    joins: bool,
    level: Level,
) -> Result<Phase, InputError> {
    let repeat = match fields.integer("loop", -1..=*INT.end())? {
        None => Some(1),
        Some(0) => {
            let message = format!("`loop` 0 of {} never ends: rt-app counts up to the number given", fields.what);
            fields.source.warn(fields.offset, message);
            None
        }
        Some(count) => u64::try_from(count).ok(),
    };
    let mut steps = Vec::new();
    if level == Level::Both && legacy::is_legacy(fields) {
        steps = legacy::steps(fields)?;
    }
    let wanted = |key: &str| event::kind_of(key).is_some() && (steps.is_empty() || key != "lock_order");
    for member in fields.take_all(|key| wanted(key) || key == "tandem") {
        if member.key == "tandem" {
            let offset = member.offset;
            steps.extend(parallel_for.clone().map(|it| Step { offset, event: Event::ParallelFor(it) }));
        } else if let Some(event) = event::read(fields.source, global, member)? {
            steps.push(Step { offset: member.offset, event });
        }
    }
    if steps.is_empty() && !joins {
        return Err(no_events(fields, level));
    }
    Ok(Phase {
        name: String::new(),
        offset: fields.offset,
        repeat,
        settings: Settings::default(),
        tandem: Tandem::default(),
        steps,
    })
}

/// The error for a phase that does nothing. If an unknown key is near to a missing one, the message names it.
fn no_events(fields: &Fields, level: Level) -> InputError {
    let message = format!("{} has no events", fields.what);
    let known = known_keys(level);
    let missing: Vec<&str> = event::EVENTS.into_iter().chain((level == Level::Both).then_some("phases")).collect();
    let is_slip = |key: &str| !known.contains(&key) && nearest(key, missing.iter().copied()).is_some();
    match fields.take_all(is_slip).first() {
        Some(slip) => fields
            .error(slip.offset, format!("{message}, and `{}` is no key of it", slip.key))
            .help(valid_names(&slip.key, &missing)),
        None => fields
            .error(fields.offset, message)
            .help(format!("events are {}", event::EVENTS.map(|name| format!("`{name}`")).join(", "))),
    }
}

fn tandem_of(fields: &Fields, level: Level) -> Result<(Tandem, Option<ParallelFor>), InputError> {
    match fields.value("tandem") {
        None => Ok((Tandem::default(), None)),
        Some(value) => tandem::read(fields.source, &fields.what, value, level),
    }
}

fn cpus(fields: &Fields) -> Result<Option<Vec<u32>>, InputError> {
    cpu_list(fields)
}

/// `cpus` of a task, a phase or a group: at least one, in order.
pub(super) fn cpu_list(fields: &Fields) -> Result<Option<Vec<u32>>, InputError> {
    numbers(fields, "cpus", "CPU")
}

/// `nodes_membind` of a task: at least one node, in order.
fn membind(fields: &Fields) -> Result<Option<Vec<u32>>, InputError> {
    numbers(fields, "nodes_membind", "node")
}

/// The array `key` with numbers of `what`: at least one, in order.
fn numbers(fields: &Fields, key: &str, what: &str) -> Result<Option<Vec<u32>>, InputError> {
    let Some(value) = fields.value(key) else { return Ok(None) };
    let Kind::Array(items) = &value.kind else {
        return Err(super::fields::mismatch(fields.source, key, value, &format!("an array of {what} numbers")));
    };
    if items.is_empty() {
        return Err(fields.error(value.offset, format!("`{key}` names no {what}")));
    }
    let mut numbers = BTreeSet::new();
    for item in items {
        let number = integer(fields.source, key, item, INT)?;
        numbers.extend(u32::try_from(number).ok());
    }
    Ok(Some(numbers.into_iter().collect()))
}

fn task_group(fields: &Fields) -> Result<Option<(String, usize)>, InputError> {
    let Some(value) = fields.value("taskgroup") else { return Ok(None) };
    match fields.string("taskgroup")? {
        None | Some("") => Ok(None),
        Some(name) if name.starts_with('/') => Ok(Some((name.to_owned(), value.offset))),
        Some(name) => Err(fields.error(value.offset, format!("`taskgroup` \"{name}\" must begin with `/`"))),
    }
}
