// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[core_type.NAME]`.

use super::range::{FACTOR, KNEE_MHZ, OVERLAP, PART, RATIO, SHARE};
use super::reader::{Placed, Table};
use crate::input::InputError;
use crate::machine::CoreType;

/// A kind of core, and what its users check.
#[derive(Debug, Clone)]
pub(super) struct CoreTypeRow {
    pub(super) core_type: CoreType,
    pub(super) memory_speed: Placed<f64>,
    /// The first SMT key that the table leaves out.
    pub(super) lacks: Option<&'static str>,
}

pub(super) fn read(name: &str, table: &Table<'_>) -> Result<CoreTypeRow, InputError> {
    let memory_speed = table.number("memory_speed", RATIO)?;
    let smt_speed = table.number_if("smt_speed", PART)?;
    let smt_activity = table.number_if("smt_activity", FACTOR)?;
    let ipc = table.number("ipc", RATIO)?.value;
    let core_type = CoreType {
        name: name.to_owned(),
        ipc,
        capacity_dmips_mhz: table.number_if("capacity_dmips_mhz", RATIO)?.map_or(ipc, |believed| believed.value),
        memory_speed: memory_speed.value,
        memory_knee_khz: table.number_if("memory_knee_mhz", KNEE_MHZ)?.map_or(0.0, |knee| knee.value * 1e3),
        memory_overlap: table.number_if("memory_overlap", OVERLAP)?.map_or(1.0, |overlap| overlap.value),
        stall_activity: table.number("stall_activity", SHARE)?.value,
        smt_speed: smt_speed.map_or(1.0, |speed| speed.value),
        smt_activity: smt_activity.map_or(1.0, |activity| activity.value),
    };
    let lacks = match (smt_speed, smt_activity) {
        (None, _) => Some("smt_speed"),
        (_, None) => Some("smt_activity"),
        _ => None,
    };
    Ok(CoreTypeRow { core_type, memory_speed, lacks })
}
