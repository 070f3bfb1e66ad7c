// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cgroups` of a file's `tandem` object: what is written to groups' files and when, clamps, and when groups come and go.

use std::ops::RangeInclusive;

use super::super::json::{Kind, Value};
use super::super::{CgroupSpec, CgroupWrite, CpuMax};
use super::fields::{Fields, Source, mismatch};
use super::task::cpu_list;
use crate::input::InputError;
use crate::units::{CAPACITY_SCALE, MSEC, Nanos, USEC};

/// What `cpu.max` takes as its quota, in µs: from `min_cfs_quota_period` on, and no longer than a day here.
const QUOTA_US: RangeInclusive<i64> = 1_000..=86_400_000_000;
/// What it takes as its period, in µs (`min_cfs_quota_period`, `max_cfs_quota_period`).
const PERIOD_US: RangeInclusive<i64> = 1_000..=1_000_000;
/// The period unless one is given (`default_cfs_period`).
const DEFAULT_PERIOD: Nanos = 100 * MSEC;

/// What may be written to a group's files, at the start or later.
const WRITTEN: [&str; 7] = ["weight", "weight_nice", "idle", "max", "period", "burst", "cpus"];

/// Reads all groups.
pub(super) fn read(source: &Source, value: &Value) -> Result<Vec<CgroupSpec>, InputError> {
    let fields = Fields::of(source, "`cgroups`", value)?;
    let mut groups = Vec::new();
    for member in fields.take_all(|_| true) {
        if !member.key.starts_with('/') || member.key.ends_with('/') {
            let message = format!("cgroup \"{}\" must begin with `/` and end with a name", member.key);
            return Err(source.error(member.offset, message));
        }
        groups.push(group(source, &member.key, &member.value)?);
    }
    Ok(groups)
}

fn group(source: &Source, path: &str, value: &Value) -> Result<CgroupSpec, InputError> {
    let fields = Fields::of(source, format!("cgroup {path}"), value)?;
    let made = fields.usec("made")?.unwrap_or(0);
    let removed = fields.usec("removed")?;
    if removed.is_some_and(|removed| removed <= made) {
        let offset = fields.member("removed").map_or(value.offset, |member| member.offset);
        return Err(fields.error(offset, format!("cgroup {path} is removed before it is made")));
    }
    let mut writes: Vec<_> = self::writes(&fields, value.offset)?.into_iter().map(|write| (0, write)).collect();
    if let Some(changes) = fields.value("changes") {
        let Kind::Array(changes) = &changes.kind else {
            return Err(mismatch(source, "changes", changes, "a list of { \"at\" : TIME, \"weight\" : WEIGHT }"));
        };
        for change in changes {
            writes.extend(self::change(source, path, change)?);
        }
    }
    // The sort is stable: of two writes at the same time the later one in the file comes last.
    writes.sort_by_key(|(at, _)| *at);
    let (util_min, util_max) = (clamp(&fields, "util_min")?, clamp(&fields, "util_max")?);
    fields.reject_unknown(&[&WRITTEN[..], &["made", "removed", "changes", "util_min", "util_max"]].concat())?;
    Ok(CgroupSpec { path: path.to_owned(), made, removed, writes, util_min, util_max })
}

fn change(source: &Source, path: &str, value: &Value) -> Result<Vec<(Nanos, CgroupWrite)>, InputError> {
    let fields = Fields::of(source, format!("a change of cgroup {path}"), value)?;
    let missing = |what: &str| fields.error(value.offset, format!("a change of cgroup {path} has no {what}"));
    let at = fields.usec("at")?.ok_or_else(|| missing("`at`"))?;
    let writes = writes(&fields, value.offset)?;
    if writes.is_empty() {
        return Err(missing("`weight`, `weight_nice`, `idle`, `max` or `cpus`"));
    }
    fields.reject_unknown(&[&["at"], &WRITTEN[..]].concat())?;
    Ok(writes.into_iter().map(|write| (at, write)).collect())
}

/// What is written at one time, in an order in which the kernel takes all of it.
fn writes(fields: &Fields, offset: usize) -> Result<Vec<CgroupWrite>, InputError> {
    let weight = fields.integer("weight", 1..=10_000)?.map(|weight| CgroupWrite::Weight(weight as u32));
    let nice = fields.integer("weight_nice", -20..=19)?.map(|nice| CgroupWrite::WeightNice(nice as i8));
    if weight.is_some() && nice.is_some() {
        let offset = fields.member("weight_nice").map_or(offset, |member| member.offset);
        return Err(fields.error(offset, "`weight` and `weight_nice` are two names of one thing: give one"));
    }
    let idle = fields.boolean("idle")?.map(CgroupWrite::Idle);
    let max = max(fields, offset)?.map(CgroupWrite::Max);
    let cpus = cpu_list(fields)?.map(CgroupWrite::Cpus);
    // A group that is idle refuses a weight.
    Ok([weight, nice, idle, max, cpus].into_iter().flatten().collect())
}

/// `cpu.max` and `cpu.max.burst`, within the kernel's limits (`tg_set_cfs_bandwidth`); `"max"` is no limit, as in the kernel's file.
fn max(fields: &Fields, offset: usize) -> Result<Option<Option<CpuMax>>, InputError> {
    let micros = |key, range| Ok(fields.integer(key, range)?.map(|micros| micros as Nanos * USEC));
    let place = |key| fields.member(key).map_or(offset, |member| member.offset);
    let unlimited = fields.value("max").is_some_and(|value| matches!(&value.kind, Kind::String(text) if text == "max"));
    let quota = if unlimited {
        None
    } else {
        micros("max", QUOTA_US).map_err(|error: InputError| error.help("or `\"max\"`: no limit"))?
    };
    let (period, burst) = (micros("period", PERIOD_US)?, micros("burst", 0..=*QUOTA_US.end())?);
    let Some(quota) = quota else {
        return match [("period", period), ("burst", burst)].into_iter().find(|(_, value)| value.is_some()) {
            Some((key, _)) => Err(fields.error(place(key), format!("`{key}` needs `max`"))),
            None => Ok(unlimited.then_some(None)),
        };
    };
    let (period, burst) = (period.unwrap_or(DEFAULT_PERIOD), burst.unwrap_or(0));
    if burst > quota {
        return Err(fields.error(place("burst"), "`burst` must not be above `max`".to_owned()));
    }
    Ok(Some(Some(CpuMax { quota, period, burst })))
}

/// `cpu.uclamp.min` or `cpu.uclamp.max`, in the unit of a thread's clamps.
fn clamp(fields: &Fields, key: &str) -> Result<Option<u32>, InputError> {
    Ok(fields.integer(key, 0..=CAPACITY_SCALE as i64)?.map(|clamp| clamp as u32))
}
