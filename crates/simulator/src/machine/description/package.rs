// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[package.NAME]`, `[platform]`, `[scheduling]`.

use super::boost;
use super::range::{MICROSECONDS, PART, WATTS, nanos};
use super::reader::{Placed, Table};
use crate::input::InputError;
use crate::machine::{Boost, CpufreqDriver, Package, Platform, SchedulingCosts};

/// A package, and where each of its boost limits is written.
#[derive(Debug, Clone)]
pub(super) struct PackageRow {
    pub(super) package: Package,
    pub(super) boost: Vec<Placed<Boost>>,
}

pub(super) fn read(table: &Table<'_>) -> Result<PackageRow, InputError> {
    let uncore = table.number("uncore_watts", WATTS)?;
    let idle = table.number("uncore_idle_watts", WATTS)?;
    if idle.value > uncore.value {
        return Err(table
            .file
            .error(idle.at, format!("the idle uncore draws more than the busy one: {} > {}", idle.value, uncore.value))
            .help(format!("expected at most `uncore_watts`, {}", uncore.value)));
    }
    let boost = boost::read(table)?;
    let limits = boost.iter().map(|limit| limit.value).collect();
    let package = Package { uncore_watts: uncore.value, uncore_idle_watts: idle.value, boost: limits };
    Ok(PackageRow { package, boost })
}

pub(super) fn read_platform(table: &Table<'_>) -> Result<Platform, InputError> {
    Ok(Platform {
        watts: table.number("watts", WATTS)?.value,
        supply_efficiency: table.number("supply_efficiency", PART)?.value,
        cpufreq_driver: table.word_if("cpufreq_driver", &CpufreqDriver::NAMES)?.map(|driver| driver.value),
    })
}

pub(super) fn read_scheduling(table: &Table<'_>) -> Result<SchedulingCosts, InputError> {
    let time = |key| table.number(key, MICROSECONDS).map(|time| nanos(time.value));
    Ok(SchedulingCosts {
        context_switch: time("context_switch_us")?,
        migration: time("migration_us")?,
        migration_llc: time("migration_llc_us")?,
        tick: time("tick_us")?,
    })
}
