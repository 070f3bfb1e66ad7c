// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[package.NAME]`, `[platform]`, `[scheduling]`.

use super::range::{CELSIUS, MHZ, MICROSECONDS, MILLIVOLTS, PART, POSITIVE, SOME_WATTS, WATTS, khz, microvolts, nanos};
use super::reader::{Placed, Table};
use super::{boost, schema};
use crate::input::InputError;
use crate::machine::{
    Boost, CpufreqDriver, EnergyPreference, Package, PackageIdleState, Platform, PowerLimit, SchedulingCosts, Thermal,
    ThrottleSeen, UncoreClock, UsualGovernor,
};
use crate::units::Nanos;

/// A package, and where each of its boost limits, and the core state of each of its idle states, is written.
#[derive(Debug, Clone)]
pub(super) struct PackageRow {
    pub(super) package: Package,
    pub(super) boost: Vec<Placed<Boost>>,
    pub(super) core_states: Vec<Placed<String>>,
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
    let idle_states = read_idle_states(table, idle)?;
    let package = Package {
        uncore_watts: uncore.value,
        uncore_idle_watts: idle.value,
        uncore_clock: table.table_if("uncore_clock", &schema::UNCORE_CLOCK)?.map(read_uncore_clock).transpose()?,
        idle_states: idle_states.iter().map(|(state, _)| state.clone()).collect(),
        boost: boost.iter().map(|limit| limit.value).collect(),
        power_limit: table.table_if("power_limit", &schema::POWER_LIMIT)?.map(read_power_limit).transpose()?,
        thermal: table.table_if("thermal", &schema::THERMAL)?.map(read_thermal).transpose()?,
        throttle_seen_as: table
            .word_if("throttle_seen_as", &ThrottleSeen::NAMES)?
            .map_or(ThrottleSeen::default(), |seen| seen.value),
    };
    let core_states = idle_states.into_iter().map(|(state, at)| Placed { value: state.core_state, at }).collect();
    Ok(PackageRow { package, boost, core_states })
}

fn read_uncore_clock(table: Table<'_>) -> Result<UncoreClock, InputError> {
    let min = table.number("min_mhz", MHZ)?;
    let max = table.number("max_mhz", MHZ)?;
    at_least(&table, "min_mhz", min.value, max)?;
    let min_mv = table.number("min_mv", MILLIVOLTS)?;
    let max_mv = table.number("max_mv", MILLIVOLTS)?;
    at_least(&table, "min_mv", min_mv.value, max_mv)?;
    Ok(UncoreClock {
        min_khz: khz(min.value),
        max_khz: khz(max.value),
        min_microvolts: microvolts(min_mv.value),
        max_microvolts: microvolts(max_mv.value),
    })
}

/// Complains of a value that is below that of the key `lower`.
fn at_least(table: &Table<'_>, lower: &str, low: f64, value: Placed<f64>) -> Result<(), InputError> {
    if value.value >= low {
        return Ok(());
    }
    let Placed { value, at } = value;
    Err(table.file.error(at, format!("{value} is below `{lower}`, {low}")).help(format!("expected at least {low}")))
}

/// The idle states of a package, each with the place of its `core_state`.
fn read_idle_states(table: &Table<'_>, uncore_idle: Placed<f64>) -> Result<Vec<(PackageIdleState, usize)>, InputError> {
    let mut states: Vec<(PackageIdleState, usize)> = Vec::new();
    for row in table.rows("idle_states", &schema::PACKAGE_IDLE_STATE)? {
        let core_state = row.text("core_state")?;
        let watts = row.number("watts", WATTS)?;
        let most = states.last().map_or(uncore_idle.value, |(state, _)| state.watts);
        if watts.value > most {
            return Err(row
                .file
                .error(watts.at, "a package's idle state draws more than what is shallower")
                .help(format!("expected at most {most}")));
        }
        let state = PackageIdleState {
            name: row.text("name")?.value.to_owned(),
            core_state: core_state.value.to_owned(),
            entry: nanos(row.number("entry_us", MICROSECONDS)?.value),
            exit: nanos(row.number("exit_us", MICROSECONDS)?.value),
            watts: watts.value,
        };
        states.push((state, core_state.at));
    }
    Ok(states)
}

fn read_power_limit(table: Table<'_>) -> Result<PowerLimit, InputError> {
    let long = table.number("long_watts", SOME_WATTS)?;
    let short = table.number("short_watts", SOME_WATTS)?;
    at_least(&table, "long_watts", long.value, short)?;
    let long_tau_s = table.number("long_tau_s", POSITIVE)?.value;
    Ok(PowerLimit { long_watts: long.value, long_tau_s, short_watts: short.value })
}

fn read_thermal(table: Table<'_>) -> Result<Thermal, InputError> {
    let ambient = table.number("ambient_celsius", CELSIUS)?;
    let limit = table.number("limit_celsius", CELSIUS)?;
    if limit.value <= ambient.value {
        return Err(table
            .file
            .error(limit.at, "the air is as hot as the package may become")
            .help(format!("expected more than `ambient_celsius`, {}", ambient.value)));
    }
    Ok(Thermal {
        kelvin_per_watt: table.number("kelvin_per_watt", POSITIVE)?.value,
        joules_per_kelvin: table.number("joules_per_kelvin", POSITIVE)?.value,
        ambient_celsius: ambient.value,
        limit_celsius: limit.value,
    })
}

pub(super) fn read_platform(table: &Table<'_>) -> Result<Platform, InputError> {
    let cpufreq_driver = table.word_if("cpufreq_driver", &CpufreqDriver::NAMES)?.map(|driver| driver.value);
    let active = cpufreq_driver.filter(|driver| driver.is_active());
    Ok(Platform {
        watts: table.number("watts", WATTS)?.value,
        supply_efficiency: table.number("supply_efficiency", PART)?.value,
        cpufreq_driver,
        governor: read_governor(table, active)?,
        epp: read_epp(table, active)?,
    })
}

/// `scaling_governor` as the distribution leaves it.
fn read_governor(table: &Table<'_>, active: Option<CpufreqDriver>) -> Result<Option<UsualGovernor>, InputError> {
    let Some(governor) = table.word_if("governor", &UsualGovernor::NAMES)? else { return Ok(None) };
    let own = matches!(governor.value, UsualGovernor::Performance | UsualGovernor::Powersave);
    match active {
        Some(driver) if !own => Err(table
            .file
            .error(governor.at, format!("{} has no such governor in active mode", driver.name()))
            .help("expected \"powersave\" or \"performance\"")),
        _ => Ok(Some(governor.value)),
    }
}

/// `energy_performance_preference` as the distribution leaves it.
fn read_epp(table: &Table<'_>, active: Option<CpufreqDriver>) -> Result<EnergyPreference, InputError> {
    match table.word_if("epp", &EnergyPreference::NAMES)? {
        Some(epp) if active.is_none() => Err(table
            .file
            .error(epp.at, "`epp` without a driver in active mode")
            .help("expected `cpufreq_driver` = \"intel_pstate\" or \"amd-pstate-epp\" beside it")),
        epp => Ok(epp.map(|epp| epp.value).unwrap_or_default()),
    }
}

/// What a cache line takes from another core where the description does not say, in nanoseconds: assumed, of the order that
/// measurements between cores of server and desktop processors give, under a cache,
const LINE: Nanos = 20;
/// from another last-level cache,
const LINE_LLC: Nanos = 100;
/// from another node.
const LINE_NODE: Nanos = 200;

pub(super) fn read_scheduling(table: &Table<'_>) -> Result<SchedulingCosts, InputError> {
    let time = |key| table.number(key, MICROSECONDS).map(|time| nanos(time.value));
    let line =
        |key, assumed| table.number_if(key, MICROSECONDS).map(|time| time.map_or(assumed, |time| nanos(time.value)));
    Ok(SchedulingCosts {
        context_switch: time("context_switch_us")?,
        migration: time("migration_us")?,
        migration_llc: time("migration_llc_us")?,
        tick: time("tick_us")?,
        line: line("line_transfer_us", LINE)?,
        line_llc: line("line_transfer_llc_us", LINE_LLC)?,
        line_node: line("line_transfer_node_us", LINE_NODE)?,
    })
}
