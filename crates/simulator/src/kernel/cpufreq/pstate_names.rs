// SPDX-License-Identifier: MIT OR Apache-2.0
//! Governors of drivers in active mode as a user writes them: `intel_pstate=powersave,epp=balance_power`.
//!
//! Settings: `powersave` (the default) or `performance`, what `scaling_governor` has; `epp=NAME` or a number from 0 to 255, what
//! `energy_performance_preference` has; `no_hwp`, as on Intel's command line.

use std::fmt;

use super::names::GovernorError;
use super::{Epp, PstateTunables};
use crate::input::valid_names;
use crate::machine::{CpufreqDriver, EnergyPreference};

const SETTINGS: [&str; 4] = ["powersave", "performance", "epp", "no_hwp"];

/// Reads the settings of `driver`.
pub(super) fn read(driver: CpufreqDriver, settings: &[&str]) -> Result<PstateTunables, GovernorError> {
    let mut tunables = PstateTunables::new(driver);
    let governor = || driver.governor().to_owned();
    for setting in settings {
        match setting.split_once('=') {
            None if *setting == "powersave" => tunables.performance = false,
            None if *setting == "performance" => tunables.performance = true,
            None if *setting == "no_hwp" && driver.is_intel() => tunables.no_hwp = true,
            Some(("epp", value)) => tunables.epp = epp(driver, setting, value)?,
            other => {
                let key = other.map_or(*setting, |(key, _)| key);
                let known = &SETTINGS[..if driver.is_intel() { 4 } else { 3 }];
                let help = valid_names(key, known);
                return Err(GovernorError::UnknownSetting { governor: governor(), written: key.to_owned(), help });
            }
        }
    }
    Ok(tunables)
}

fn epp(driver: CpufreqDriver, setting: &str, value: &str) -> Result<Epp, GovernorError> {
    let named = EnergyPreference::NAMES.iter().find(|(name, _)| *name == value);
    let named = named.map(|(_, preference)| Epp::of(*preference, driver));
    named.or_else(|| value.parse().ok().map(Epp)).ok_or_else(|| {
        let names: Vec<&str> = EnergyPreference::NAMES.iter().map(|(name, _)| *name).collect();
        GovernorError::BadValue {
            governor: driver.governor().to_owned(),
            written: setting.to_owned(),
            expected: format!("one of {}, or a number from 0 to 255", names.join(", ")),
        }
    })
}

/// Everything that is in force, so that reports say it.
pub(super) fn display(f: &mut fmt::Formatter<'_>, tunables: &PstateTunables) -> fmt::Result {
    if tunables.performance {
        return f.write_str("=performance");
    }
    f.write_str("=powersave")?;
    if tunables.no_hwp {
        return f.write_str(",no_hwp");
    }
    match tunables.epp.name(tunables.driver) {
        Some(name) => write!(f, ",epp={name}"),
        None => write!(f, ",epp={}", tunables.epp.0),
    }
}
