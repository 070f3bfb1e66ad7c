// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `global` and `resources` objects.

use super::super::Objects;
use super::super::json::{Kind, Value};
use super::fields::{Fields, INT, Source, mismatch};
use super::scheduling::POLICIES;
use super::syntax::{Global, PolicyKind};
use crate::input::InputError;
use crate::units::SEC;

/// rt-app's default for `mem_buffer_size`.
const MEMORY_BUFFER: u64 = 4 << 20;

/// Keys of `global` that only concern how rt-app itself runs and what it writes.
const MEANINGLESS: [(&str, &str); 10] = [
    ("calibration", "work is given as time on the machine's reference CPU, so there is nothing to calibrate"),
    ("lock_pages", "pages are never swapped out"),
    ("logdir", "rt-app's logs are not written"),
    ("log_basename", "rt-app's logs are not written"),
    ("log_size", "rt-app's logs are not written"),
    ("ftrace", "rt-app's trace markers are not written"),
    ("gnuplot", "rt-app's plots are not written"),
    ("io_device", "devices are not modelled"),
    ("cumulative_slack", "rt-app's logs are not written"),
    ("frag", "rt-app no longer reads it"),
];

const KEYS: [&str; 14] = [
    "duration",
    "default_policy",
    "pi_enabled",
    "mem_buffer_size",
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "cumulative_slack",
    "frag",
];

impl Default for Global {
    fn default() -> Self {
        Self {
            duration: None,
            default_policy: PolicyKind::Other,
            priority_inheritance: false,
            cgroups: Vec::new(),
            interrupts: Vec::new(),
            memory_buffer: MEMORY_BUFFER,
        }
    }
}

/// Reads `global`.
pub(super) fn global(source: &Source, value: &Value) -> Result<Global, InputError> {
    let fields = Fields::of(source, "`global`", value)?;
    let mut global = Global::default();
    // As in rt-app, any duration below one second means "until the threads end".
    if let Some(duration) = fields.integer("duration", -1..=*INT.end())?.filter(|duration| *duration > 0) {
        global.duration = Some(duration.unsigned_abs() * SEC);
    }
    if let Some(kind) = fields.choice("default_policy", &POLICIES.map(|(name, _)| name))? {
        global.default_policy = POLICIES[kind].1;
    }
    global.priority_inheritance = fields.boolean("pi_enabled")?.unwrap_or(false);
    if let Some(bytes) = fields.integer("mem_buffer_size", 1..=*INT.end())? {
        global.memory_buffer = bytes.unsigned_abs();
    }
    check_types(&fields)?;
    for (key, why) in MEANINGLESS {
        fields.meaningless(key, why);
    }
    fields.warn_unknown(&KEYS);
    Ok(global)
}

/// Checks the types of values that mean nothing here: rt-app would refuse the file.
fn check_types(fields: &Fields) -> Result<(), InputError> {
    for key in ["logdir", "log_basename", "io_device"] {
        fields.string(key)?;
    }
    for key in ["lock_pages", "gnuplot", "cumulative_slack"] {
        fields.boolean(key)?;
    }
    for (key, other) in [("calibration", "a CPU such as \"CPU0\""), ("log_size", "\"file\", \"auto\", \"disable\"")] {
        match fields.value(key) {
            Some(value) if !matches!(value.kind, Kind::Number(_) | Kind::String(_)) => {
                return Err(mismatch(fields.source, key, value, &format!("an integer or {other}")));
            }
            _ => {}
        }
    }
    match fields.value("ftrace") {
        Some(value) if !matches!(value.kind, Kind::Bool(_) | Kind::String(_)) => {
            Err(mismatch(fields.source, "ftrace", value, "a list of categories such as \"main,task\""))
        }
        _ => Ok(()),
    }
}

/// Reads `resources`, which older versions of rt-app needed: the objects it declares.
pub(super) fn resources(source: &Source, value: &Value, objects: &mut Objects) -> Result<(), InputError> {
    const TYPES: [&str; 8] = ["mutex", "signal", "wait", "broadcast", "sync", "sleep", "run", "timer"];
    let fields = Fields::of(source, "`resources`", value)?;
    for member in fields.take_all(|_| true) {
        let resource = Fields::of(source, format!("resource `{}`", member.key), &member.value)?;
        let kind = resource.choice("type", &TYPES)?.map_or("mutex", |place| TYPES[place]);
        let list = match kind {
            "mutex" => Some(&mut objects.mutexes),
            "wait" => Some(&mut objects.conditions),
            "timer" => Some(&mut objects.timers),
            _ => None,
        };
        match list {
            Some(names) if names.contains(&member.key) => {
                source.warn(member.offset, format!("resource `{}` is declared twice", member.key));
            }
            Some(names) => names.push(member.key.clone()),
            None => source.warn(
                member.offset,
                format!("resource `{}` of type `{kind}` has no meaning: the tasks' events say it all", member.key),
            ),
        }
        resource.meaningless("target", "rt-app no longer reads it");
        resource.warn_unknown(&["type", "target"]);
    }
    Ok(())
}
