// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which governors a machine's cpufreq driver offers, and what a name means there.
//!
//! A driver in active mode has governors of its own that are called `performance` and `powersave`; there the names mean those, as
//! in sysfs. The generic governors are those of its passive mode, `passive:powersave` where a name alone would mean the other.

use super::{ConservativeTunables, Epp, Governor, OndemandTunables, PstateTunables, SchedutilTunables};
use crate::machine::{CpufreqDriver, Machine, UsualGovernor};

/// A governor that the machine's driver does not offer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("governor `{governor}`: {machine} has {}; it offers {}", self.driver(), self.offered())]
pub struct NotOffered {
    /// The governor.
    pub governor: String,
    /// The machine's name.
    pub machine: String,
    /// The machine's driver, if it is one with governors of its own.
    pub driver: Option<CpufreqDriver>,
}

/// The governors that any driver works with.
const GENERIC: &str = "`userspace`, `ondemand`, `conservative`, `schedutil`";

impl NotOffered {
    fn driver(&self) -> String {
        self.driver.map_or_else(
            || "no driver with governors of its own".to_owned(),
            |driver| format!("the driver {}", driver.name()),
        )
    }

    fn offered(&self) -> String {
        match self.driver {
            Some(driver) => format!(
                "`powersave` and `performance` (`{name}=powersave,epp=NAME`, `{name}=performance`), and in passive mode \
                 `passive:performance`, `passive:powersave`, {GENERIC}",
                name = driver.governor()
            ),
            None => format!("`performance`, `powersave`, {GENERIC}"),
        }
    }
}

impl Governor {
    /// What the machine's own Linux runs with, unless somebody changes it.
    pub fn default_of(machine: &Machine) -> Self {
        let active = machine.platform.cpufreq_driver.filter(|driver| driver.is_active());
        if let Some(driver) = active {
            let performance = machine.platform.governor == Some(UsualGovernor::Performance);
            let epp = Epp::of(machine.platform.epp, driver);
            return Self::Pstate(PstateTunables { performance, epp, ..PstateTunables::new(driver) });
        }
        match machine.platform.governor.unwrap_or(UsualGovernor::Schedutil) {
            UsualGovernor::Performance => Self::Performance,
            UsualGovernor::Powersave => Self::Powersave,
            UsualGovernor::Ondemand => Self::Ondemand(OndemandTunables::default()),
            UsualGovernor::Conservative => Self::Conservative(ConservativeTunables::default()),
            UsualGovernor::Schedutil => Self::Schedutil(SchedutilTunables::default()),
        }
    }

    /// What this governor is on `machine`: the default gets its name, and `performance` and `powersave` are those of a driver
    /// that has its own. Asked again, the answer stays the same.
    ///
    /// # Errors
    /// [`NotOffered`].
    pub fn on(&self, machine: &Machine) -> Result<Self, NotOffered> {
        let driver = machine.platform.cpufreq_driver.filter(|driver| driver.is_active());
        let tunables = |driver| match Self::default_of(machine) {
            Self::Pstate(tunables) => tunables,
            _ => PstateTunables::new(driver),
        };
        match (*self, driver) {
            (Self::Default, _) => Ok(Self::default_of(machine)),
            (Self::Performance, Some(driver)) => {
                Ok(Self::Pstate(PstateTunables { performance: true, ..tunables(driver) }))
            }
            (Self::Powersave, Some(driver)) => {
                Ok(Self::Pstate(PstateTunables { performance: false, ..tunables(driver) }))
            }
            (Self::PassivePerformance, None) => Ok(Self::Performance),
            (Self::PassivePowersave, None) => Ok(Self::Powersave),
            (Self::Pstate(tunables), _) if Some(tunables.driver) != driver => {
                Err(NotOffered { governor: self.to_string(), machine: machine.name.clone(), driver })
            }
            (governor, _) => Ok(governor),
        }
    }
}
