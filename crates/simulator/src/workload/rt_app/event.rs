// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: keys that begin with an event's name, in the order in which a thread performs them.

use super::super::json::{Kind, Member, Value};
use super::fields::{Fields, INT, Source, integer, mismatch, string, usec};
use super::memory;
use super::syntax::{Event, Global};
use crate::input::InputError;

/// Names of events. A key is the first event in this list whose name it begins with. Therefore `runtime` stands before
/// `run` and `memrun` before `mem`, as in rt-app.
pub(super) const EVENTS: [&str; 20] = [
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer", "suspend", "resume",
    "memrun", "mem", "iorun", "yield", "barrier", "fork", "sem_post", "sem_wait",
];

/// The event that `key` stands for.
pub(super) fn kind_of(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| key.starts_with(event))
}

/// Reads the event `member`; `None` if it does nothing.
pub(super) fn read(source: &Source, global: &Global, member: &Member) -> Result<Option<Event>, InputError> {
    let Member { key, value, offset } = member;
    let text = || string(source, key, value).and_then(|name| named(source, key, value, name)).map(str::to_owned);
    Ok(Some(match kind_of(key) {
        Some("run") => Event::Run(usec(source, key, value)?),
        Some("runtime") => Event::Runtime(usec(source, key, value)?),
        Some("sleep") if value.kind == Kind::Bool(false) => {
            source.warn(*offset, "`sleep` is `false`: no event");
            return Ok(None);
        }
        Some("sleep") => Event::Sleep(usec(source, key, value)?),
        Some("timer") => timer(source, key, value)?,
        Some("lock") => Event::Lock(text()?),
        Some("unlock") => Event::Unlock(text()?),
        Some("wait") => {
            let (condition, mutex) = condition_and_mutex(source, key, value)?;
            Event::Wait { condition, mutex }
        }
        Some("sync") => {
            let (condition, mutex) = condition_and_mutex(source, key, value)?;
            Event::Sync { condition, mutex }
        }
        Some("signal") => Event::Signal(text()?),
        Some("broad") => Event::Broadcast(text()?),
        Some("barrier") => Event::Barrier(text()?),
        Some("suspend") => suspend(source, member)?,
        Some("resume") => Event::Resume(text()?),
        Some("sem_post") => Event::SemPost(text()?),
        Some("sem_wait") => Event::SemWait(text()?),
        Some("yield") => yield_event(source, member)?,
        Some("fork") => Event::Fork(text()?),
        Some("memrun") => memory::memrun(source, key, value)?,
        Some("mem") => Event::Memory { bytes: bytes(source, key, value)?, buffer: global.memory_buffer },
        Some("iorun") => {
            source.warn(*offset, "`iorun` is taken as moving its bytes through memory: devices are not modelled");
            Event::Memory { bytes: bytes(source, key, value)?, buffer: global.memory_buffer }
        }
        _ => return Ok(None),
    }))
}

fn named<'a>(source: &Source, key: &str, value: &Value, name: &'a str) -> Result<&'a str, InputError> {
    if name.is_empty() { Err(mismatch(source, key, value, "a name")) } else { Ok(name) }
}

fn bytes(source: &Source, key: &str, value: &Value) -> Result<u64, InputError> {
    let bytes = integer(source, key, value, INT).map_err(|error| error.help("the unit is bytes"))?;
    Ok(bytes.unsigned_abs())
}

fn suspend(source: &Source, member: &Member) -> Result<Event, InputError> {
    match &member.value.kind {
        Kind::Null => Ok(Event::Suspend(String::new())),
        Kind::String(name) => Ok(Event::Suspend(name.clone())),
        _ => Err(mismatch(source, &member.key, &member.value, "a string or nothing")),
    }
}

fn yield_event(source: &Source, member: &Member) -> Result<Event, InputError> {
    match &member.value.kind {
        Kind::Null | Kind::String(_) => Ok(Event::Yield),
        _ => Err(mismatch(source, &member.key, &member.value, "a string or nothing")),
    }
}

fn timer(source: &Source, key: &str, value: &Value) -> Result<Event, InputError> {
    let fields = Fields::of(source, format!("`{key}`"), value)?;
    let timer = fields.string("ref")?.map(str::to_owned);
    if timer.is_none() {
        source.warn(value.offset, format!("`{key}` names no timer in `ref`: it shares the one called `unknown`"));
    }
    let period = fields.usec("period")?;
    if period.is_none() {
        source.warn(value.offset, format!("`{key}` has no `period`: 0 is assumed"));
    }
    let absolute = fields.choice("mode", &["relative", "absolute"])? == Some(1);
    fields.warn_unknown(&["ref", "period", "mode"]);
    Ok(Event::Timer { timer: timer.unwrap_or_else(|| "unknown".into()), period: period.unwrap_or(0), absolute })
}

fn condition_and_mutex(source: &Source, key: &str, value: &Value) -> Result<(String, String), InputError> {
    let fields = Fields::of(source, format!("`{key}`"), value)?;
    let name = |what: &str, meaning: &str| match fields.string(what)? {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(source
            .error(value.offset, format!("`{key}` has no `{what}`, {meaning}"))
            .help(format!("write \"{key}\" : {{ \"ref\" : \"CONDITION\", \"mutex\" : \"MUTEX\" }}"))),
    };
    let condition = name("ref", "the condition to wait for")?;
    let mutex = name("mutex", "the mutex to release while it waits")?;
    fields.warn_unknown(&["ref", "mutex"]);
    Ok((condition, mutex))
}
