// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cgroups` of a file's `tandem` object: weights, and when groups come and go.

use super::super::CgroupSpec;
use super::super::json::{Kind, Value};
use super::fields::{Fields, Source, mismatch};
use crate::input::InputError;

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
    fields.reject_unknown(&["weight", "made", "removed", "changes"])?;
    Ok(CgroupSpec { path: path.to_owned(), made, removed, weights })
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
