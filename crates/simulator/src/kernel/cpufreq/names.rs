// SPDX-License-Identifier: MIT OR Apache-2.0
//! Governors as a user writes them: `name[=setting,...]`.
//!
//! `performance`, `powersave`, `userspace`, `userspace=1400MHz`, `ondemand`, `ondemand=10ms,up_threshold=80`,
//! `conservative=20ms,freq_step=10`, `schedutil=500us`. A clock is in kHz unless it has a unit. A time is the sampling
//! period or, for schedutil, the rate limit. All other settings are the kernel's sysfs names with a number.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{ConservativeTunables, Governor, OndemandTunables, PstateTunables, SchedutilTunables, pstate_names};
use crate::input::valid_names;
use crate::machine::CpufreqDriver;
use crate::units::{MSEC, Nanos, SEC, USEC};

const TIME_UNITS: [(&str, u64); 4] = [("ns", 1), ("us", USEC), ("ms", MSEC), ("s", SEC)];
const CLOCK_UNITS: [(&str, u64); 3] = [("khz", 1), ("mhz", 1_000), ("ghz", 1_000_000)];

/// What is wrong with a governor as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GovernorError {
    /// No governor has this name.
    #[error("unknown governor `{written}`; {help}")]
    Unknown {
        /// As written.
        written: String,
        /// The nearest name, and all.
        help: String,
    },
    /// The governor has no such setting.
    #[error("governor `{governor}` has no setting `{written}`; {help}")]
    UnknownSetting {
        /// The governor.
        governor: String,
        /// As written.
        written: String,
        /// The nearest setting, and all.
        help: String,
    },
    /// The governor takes no settings.
    #[error("governor `{0}` takes no settings")]
    NoSettings(String),
    /// A setting that is not in its form or range.
    #[error("governor `{governor}`: `{written}` is not {expected}")]
    BadValue {
        /// The governor.
        governor: String,
        /// As written.
        written: String,
        /// For example "a time such as `10ms`".
        expected: String,
    },
}

impl FromStr for Governor {
    type Err = GovernorError;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let (name, settings) = match written.split_once('=') {
            Some((name, settings)) => (name, settings.split(',').map(str::trim).collect()),
            None => (written, Vec::new()),
        };
        match name {
            "default" | "performance" | "powersave" | "passive:performance" | "passive:powersave"
                if !settings.is_empty() =>
            {
                Err(GovernorError::NoSettings(name.to_owned()))
            }
            "default" => Ok(Self::Default),
            "performance" => Ok(Self::Performance),
            "powersave" => Ok(Self::Powersave),
            "passive:performance" => Ok(Self::PassivePerformance),
            "passive:powersave" => Ok(Self::PassivePowersave),
            "intel_pstate" => pstate_names::read(CpufreqDriver::IntelPstate, &settings).map(Self::Pstate),
            "amd-pstate" => pstate_names::read(CpufreqDriver::AmdPstateEpp, &settings).map(Self::Pstate),
            "userspace" => userspace(&settings),
            "ondemand" => ondemand(&settings).map(Self::Ondemand),
            "conservative" => conservative(&settings).map(Self::Conservative),
            "schedutil" => schedutil(&settings).map(Self::Schedutil),
            _ => Err(GovernorError::Unknown { written: name.to_owned(), help: valid_names(name, &Governor::NAMES) }),
        }
    }
}

fn userspace(settings: &[&str]) -> Result<Governor, GovernorError> {
    let [clock] = settings else {
        return match settings {
            [] => Ok(Governor::Userspace { khz: None }),
            _ => Err(bad("userspace", &settings.join(","), "one clock")),
        };
    };
    let khz = quantity(clock, &CLOCK_UNITS, Some(1)).and_then(|khz| u32::try_from(khz).ok());
    match khz {
        Some(khz) => Ok(Governor::Userspace { khz: Some(khz) }),
        None => Err(bad("userspace", clock, "a clock such as `1400MHz` or `1400000` (kHz)")),
    }
}

fn ondemand(settings: &[&str]) -> Result<OndemandTunables, GovernorError> {
    const KEYS: [&str; 5] =
        ["up_threshold", "sampling_down_factor", "powersave_bias", "ignore_nice_load", "io_is_busy"];
    let mut tunables = OndemandTunables::default();
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            tunables.sampling_rate = Some(time("ondemand", setting)?);
            continue;
        };
        let number = |range| number("ondemand", setting, value, range);
        match key {
            "up_threshold" => tunables.up_threshold = number(1..=100)?,
            "sampling_down_factor" => tunables.sampling_down_factor = number(1..=100_000)?,
            "powersave_bias" => tunables.powersave_bias = number(0..=1_000)?,
            "ignore_nice_load" => tunables.ignore_nice_load = number(0..=1)? == 1,
            "io_is_busy" => tunables.io_is_busy = number(0..=1)? == 1,
            _ => return Err(unknown_setting("ondemand", key, &KEYS)),
        }
    }
    Ok(tunables)
}

fn conservative(settings: &[&str]) -> Result<ConservativeTunables, GovernorError> {
    const KEYS: [&str; 5] = ["up_threshold", "down_threshold", "freq_step", "sampling_down_factor", "ignore_nice_load"];
    let mut tunables = ConservativeTunables::default();
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            tunables.sampling_rate = Some(time("conservative", setting)?);
            continue;
        };
        let number = |range| number("conservative", setting, value, range);
        match key {
            "up_threshold" => tunables.up_threshold = number(2..=100)?,
            "down_threshold" => tunables.down_threshold = number(1..=99)?,
            "freq_step" => tunables.freq_step = number(0..=100)?,
            "sampling_down_factor" => tunables.sampling_down_factor = number(1..=10)?,
            "ignore_nice_load" => tunables.ignore_nice_load = number(0..=1)? == 1,
            _ => return Err(unknown_setting("conservative", key, &KEYS)),
        }
    }
    if tunables.down_threshold >= tunables.up_threshold {
        let written = format!("down_threshold={}", tunables.down_threshold);
        return Err(bad("conservative", &written, &format!("below up_threshold ({})", tunables.up_threshold)));
    }
    Ok(tunables)
}

fn schedutil(settings: &[&str]) -> Result<SchedutilTunables, GovernorError> {
    match settings {
        [] => Ok(SchedutilTunables::default()),
        [rate_limit] => Ok(SchedutilTunables { rate_limit: Some(time("schedutil", rate_limit)?) }),
        _ => Err(bad("schedutil", &settings.join(","), "one time, the rate limit")),
    }
}

fn bad(governor: &str, written: &str, expected: &str) -> GovernorError {
    GovernorError::BadValue {
        governor: governor.to_owned(),
        written: written.to_owned(),
        expected: expected.to_owned(),
    }
}

fn unknown_setting(governor: &str, key: &str, keys: &[&str]) -> GovernorError {
    GovernorError::UnknownSetting {
        governor: governor.to_owned(),
        written: key.to_owned(),
        help: valid_names(key, keys),
    }
}

fn time(governor: &str, written: &str) -> Result<Nanos, GovernorError> {
    quantity(written, &TIME_UNITS, None)
        .filter(|time| (USEC..=3600 * SEC).contains(time))
        .ok_or_else(|| bad(governor, written, "a time from 1us to an hour, such as `10ms`"))
}

fn number(governor: &str, setting: &str, value: &str, range: RangeInclusive<u32>) -> Result<u32, GovernorError> {
    let expected = || format!("a number from {} to {}", range.start(), range.end());
    let number = value.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| bad(governor, setting, &expected()))
}

/// A positive decimal number and a unit (whatever its case), in whole units of factor 1; `bare` is the factor of a
/// number without unit.
fn quantity(written: &str, units: &[(&str, u64)], bare: Option<u64>) -> Option<u64> {
    let digits = written.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(written.len());
    let (number, unit) = (&written[..digits], written[digits..].trim().to_lowercase());
    let factor = match unit.as_str() {
        "" => bare?,
        unit => units.iter().find(|(name, _)| *name == unit)?.1,
    };
    let value = (number.parse::<f64>().ok()? * factor as f64).round();
    (value >= 1.0 && value <= u64::MAX as f64 / 2.0).then_some(value as u64)
}

/// Displays a quantity in the largest of `units` that leaves it whole.
fn display_quantity(f: &mut fmt::Formatter<'_>, value: u64, units: [(&str, u64); 3]) -> fmt::Result {
    let (name, factor) = units.into_iter().find(|(_, factor)| value.is_multiple_of(*factor)).unwrap_or(units[2]);
    write!(f, "{}{name}", value / factor)
}

/// Writes `=` before the first setting and `,` before the others.
struct Settings<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    first: bool,
}

impl Settings<'_, '_> {
    fn separate(&mut self) -> fmt::Result {
        let separator = if self.first { "=" } else { "," };
        self.first = false;
        self.f.write_str(separator)
    }

    fn time(&mut self, time: Option<Nanos>) -> fmt::Result {
        let Some(time) = time else { return Ok(()) };
        self.separate()?;
        display_quantity(self.f, time, [("ms", MSEC), ("us", USEC), ("ns", 1)])
    }

    fn number(&mut self, key: &str, value: u32, default: u32) -> fmt::Result {
        if value == default {
            return Ok(());
        }
        self.separate()?;
        write!(self.f, "{key}={value}")
    }
}

impl Governor {
    /// The names of all governors.
    pub const NAMES: [&str; 11] = [
        "performance",
        "powersave",
        "userspace",
        "ondemand",
        "conservative",
        "schedutil",
        "intel_pstate",
        "amd-pstate",
        "passive:performance",
        "passive:powersave",
        "default",
    ];

    /// The name alone, as in `scaling_governor`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::PassivePerformance => "passive:performance",
            Self::PassivePowersave => "passive:powersave",
            Self::Pstate(PstateTunables { driver, .. }) => driver.governor(),
            Self::Performance => "performance",
            Self::Powersave => "powersave",
            Self::Userspace { .. } => "userspace",
            Self::Ondemand(_) => "ondemand",
            Self::Conservative(_) => "conservative",
            Self::Schedutil(_) => "schedutil",
        }
    }
}

impl fmt::Display for Governor {
    /// The name and every setting that is not the default; parses to the same governor.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let mut settings = Settings { f, first: true };
        match self {
            Self::Default | Self::Performance | Self::Powersave | Self::Userspace { khz: None } => Ok(()),
            Self::PassivePerformance | Self::PassivePowersave => Ok(()),
            Self::Pstate(tunables) => pstate_names::display(settings.f, tunables),
            Self::Userspace { khz: Some(khz) } => {
                settings.separate()?;
                display_quantity(settings.f, u64::from(*khz), [("GHz", 1_000_000), ("MHz", 1_000), ("kHz", 1)])
            }
            Self::Ondemand(tunables) => display_ondemand(&mut settings, tunables),
            Self::Conservative(tunables) => display_conservative(&mut settings, tunables),
            Self::Schedutil(tunables) => settings.time(tunables.rate_limit),
        }
    }
}

fn display_ondemand(settings: &mut Settings<'_, '_>, tunables: &OndemandTunables) -> fmt::Result {
    let default = OndemandTunables::default();
    settings.time(tunables.sampling_rate)?;
    settings.number("up_threshold", tunables.up_threshold, default.up_threshold)?;
    settings.number("sampling_down_factor", tunables.sampling_down_factor, default.sampling_down_factor)?;
    settings.number("powersave_bias", tunables.powersave_bias, default.powersave_bias)?;
    settings.number("ignore_nice_load", u32::from(tunables.ignore_nice_load), 0)?;
    settings.number("io_is_busy", u32::from(tunables.io_is_busy), 0)
}

fn display_conservative(settings: &mut Settings<'_, '_>, tunables: &ConservativeTunables) -> fmt::Result {
    let default = ConservativeTunables::default();
    settings.time(tunables.sampling_rate)?;
    settings.number("up_threshold", tunables.up_threshold, default.up_threshold)?;
    settings.number("down_threshold", tunables.down_threshold, default.down_threshold)?;
    settings.number("freq_step", tunables.freq_step, default.freq_step)?;
    settings.number("sampling_down_factor", tunables.sampling_down_factor, default.sampling_down_factor)?;
    settings.number("ignore_nice_load", u32::from(tunables.ignore_nice_load), 0)
}
