// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cgroups` of a file's `tandem` object: weights, idleness, clamps, and when groups come and go.

use std::ops::RangeInclusive;

use super::super::json::{Kind, Value};
use super::super::{CgroupSpec, CpuMax};
use super::fields::{Fields, Source, mismatch};
use crate::input::InputError;
use crate::units::{CAPACITY_SCALE, MSEC, Nanos, USEC};

/// What `cpu.max` takes as its quota, in µs: from `min_cfs_quota_period` on, and no longer than a day here.
const QUOTA_US: RangeInclusive<i64> = 1_000..=86_400_000_000;
/// What it takes as its period, in µs (`min_cfs_quota_period`, `max_cfs_quota_period`).
const PERIOD_US: RangeInclusive<i64> = 1_000..=1_000_000;
/// The period unless one is given (`default_cfs_period`).
const DEFAULT_PERIOD: Nanos = 100 * MSEC;

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
    let mut weights: Vec<_> = weight(&fields)?.map(|weight| (0, weight)).into_iter().collect();
    if let Some(changes) = fields.value("changes") {
        let Kind::Array(changes) = &changes.kind else {
            return Err(mismatch(source, "changes", changes, "a list of { \"at\" : TIME, \"weight\" : WEIGHT }"));
        };
        for change in changes {
            weights.push(self::change(source, path, change)?);
        }
    }
    // The sort is stable: of two weights at the same time the later one in the file counts.
    weights.sort_by_key(|(at, _)| *at);
    let (util_min, util_max) = (clamp(&fields, "util_min")?, clamp(&fields, "util_max")?);
    let idle = fields.boolean("idle")?.unwrap_or(false);
    let max = max(&fields, value.offset)?;
    fields.reject_unknown(&[
        "weight", "idle", "max", "period", "burst", "made", "removed", "changes", "util_min", "util_max",
    ])?;
    Ok(CgroupSpec { path: path.to_owned(), made, removed, weights, idle, max, util_min, util_max })
}

fn change(source: &Source, path: &str, value: &Value) -> Result<(u64, u32), InputError> {
    let fields = Fields::of(source, format!("a change of cgroup {path}"), value)?;
    let missing = |key| fields.error(value.offset, format!("a change of cgroup {path} has no `{key}`"));
    let at = fields.usec("at")?.ok_or_else(|| missing("at"))?;
    let weight = weight(&fields)?.ok_or_else(|| missing("weight"))?;
    fields.reject_unknown(&["at", "weight"])?;
    Ok((at, weight))
}

/// `cpu.weight`.
fn weight(fields: &Fields) -> Result<Option<u32>, InputError> {
    Ok(fields.integer("weight", 1..=10_000)?.map(|weight| weight as u32))
}

/// `cpu.max` and `cpu.max.burst`, within the kernel's limits (`tg_set_cfs_bandwidth`).
fn max(fields: &Fields, offset: usize) -> Result<Option<CpuMax>, InputError> {
    let micros = |key, range| Ok(fields.integer(key, range)?.map(|micros| micros as Nanos * USEC));
    let quota = micros("max", QUOTA_US)?;
    let (period, burst) = (micros("period", PERIOD_US)?, micros("burst", 0..=*QUOTA_US.end())?);
    let Some(quota) = quota else {
        let lost = [("period", period), ("burst", burst)].into_iter().find(|(_, value)| value.is_some());
        let Some((key, _)) = lost else { return Ok(None) };
        return Err(
            fields.error(fields.member(key).map_or(offset, |member| member.offset), format!("`{key}` needs `max`"))
        );
    };
    let (period, burst) = (period.unwrap_or(DEFAULT_PERIOD), burst.unwrap_or(0));
    if burst > quota {
        let offset = fields.member("burst").map_or(offset, |member| member.offset);
        return Err(fields.error(offset, "`burst` must not be above `max`".to_owned()));
    }
    Ok(Some(CpuMax { quota, period, burst }))
}

/// `cpu.uclamp.min` or `cpu.uclamp.max`, in the unit of a thread's clamps.
fn clamp(fields: &Fields, key: &str) -> Result<Option<u32>, InputError> {
    Ok(fields.integer(key, 0..=CAPACITY_SCALE as i64)?.map(|clamp| clamp as u32))
}
