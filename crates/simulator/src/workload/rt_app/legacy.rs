// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks of rt-app before it had events: `exec` microseconds of CPU time in every `period`.

use super::fields::Fields;
use super::syntax::{Event, Step};
use crate::input::InputError;

/// Whether a task is written in the form from before events.
pub(super) fn is_legacy(fields: &Fields) -> bool {
    fields.member("exec").is_some() && fields.member("period").is_some()
}

/// The events that an old task stands for. Its `lock_order` and `resources` are left out: the versions of rt-app that
/// used them are gone, and so is their exact meaning.
pub(super) fn steps(fields: &Fields) -> Result<Vec<Step>, InputError> {
    let exec = fields.usec("exec")?.unwrap_or(0);
    let period = fields.usec("period")?.unwrap_or(0);
    let offset = fields.member("exec").map_or(fields.offset, |member| member.offset);
    fields.source.warn(
        offset,
        format!("{} is in rt-app's grammar before events: taken as a `runtime` of `exec` and a `timer`", fields.what),
    );
    for key in ["lock_order", "resources"] {
        if let Some(member) = fields.member(key) {
            fields.source.warn(member.offset, format!("`{key}` of rt-app's grammar before events is left out"));
        }
    }
    let timer = Event::Timer { timer: "unique".into(), period, absolute: true };
    Ok(vec![Step { offset, event: Event::Runtime(exec) }, Step { offset, event: timer }])
}
