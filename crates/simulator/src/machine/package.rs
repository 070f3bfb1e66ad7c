// SPDX-License-Identifier: MIT OR Apache-2.0
//! A package (socket): what lies between its cores and memory, and what it may draw.

use super::Boost;
use crate::units::Nanos;

/// A package (socket).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Package {
    /// Uncore watts while any of its cores is awake; with an [`UncoreClock`], at its highest clock.
    pub uncore_watts: f64,
    /// Uncore watts while all its cores idle, and no [`PackageIdleState`] is reached.
    pub uncore_idle_watts: f64,
    /// The clock of the uncore; `None`: `uncore_watts` whatever the cores ask for.
    pub uncore_clock: Option<UncoreClock>,
    /// Idle states of the package, shallow to deep.
    pub idle_states: Vec<PackageIdleState>,
    /// Highest clock by number of active cores of the package; empty: no limit.
    pub boost: Vec<Boost>,
    /// What the package may draw; `None`: no limit.
    pub power_limit: Option<PowerLimit>,
    /// How the package, or the skin of the device around it, heats up; `None`: it does not.
    pub thermal: Option<Thermal>,
    /// How the kernel learns of a clock that `power_limit` or `thermal` lowers.
    pub throttle_seen_as: ThrottleSeen,
}

/// The clock of an uncore, which follows the fastest of the cores that run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UncoreClock {
    /// Lowest clock in kHz.
    pub min_khz: u32,
    /// Highest clock in kHz, not below the lowest.
    pub max_khz: u32,
    /// Supply in microvolts at the lowest clock.
    pub min_microvolts: u32,
    /// Supply in microvolts at the highest clock, not below that at the lowest.
    pub max_microvolts: u32,
}

impl UncoreClock {
    /// The switching power while the fastest core runs at `khz`, relative to that at the highest clock: f · V², with V
    /// linear in f between the two ends.
    pub fn switching(&self, khz: u32) -> f64 {
        let khz = khz.clamp(self.min_khz, self.max_khz);
        let span = f64::from(self.max_khz - self.min_khz);
        let above = if span > 0.0 { f64::from(khz - self.min_khz) / span } else { 1.0 };
        let lowest = f64::from(self.min_microvolts);
        let highest = f64::from(self.max_microvolts);
        let voltage = (lowest + above * (highest - lowest)) / highest;
        f64::from(khz) / f64::from(self.max_khz) * voltage * voltage
    }
}

/// An idle state of a whole package.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageIdleState {
    /// `PC6`.
    pub name: String,
    /// Name of the shallowest core idle state that each core must be in, offline ones too.
    pub core_state: String,
    /// Time to enter, at the power of the idle uncore.
    pub entry: Nanos,
    /// Time that it adds to the wakeup of the first core.
    pub exit: Nanos,
    /// Uncore watts in it.
    pub watts: f64,
}

/// A limit on the power of a package's cores, clusters and uncore (Intel: PL1, tau and PL2; AMD: sPPT and fPPT).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerLimit {
    /// Watts that the running average may reach (PL1).
    pub long_watts: f64,
    /// Time constant of the exponentially weighted average in seconds (tau), more than 0.
    pub long_tau_s: f64,
    /// Watts that the average over some 80 ms may reach (PL2), at least `long_watts`.
    pub short_watts: f64,
}

/// One thermal resistance and one heat capacity, from the package to the air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thermal {
    /// Thermal resistance, K/W, more than 0.
    pub kelvin_per_watt: f64,
    /// Heat capacity, J/K, more than 0.
    pub joules_per_kelvin: f64,
    /// Temperature of the air, in °C.
    pub ambient_celsius: f64,
    /// Temperature that is never exceeded while clocks can be lowered, in °C, above that of the air.
    pub limit_celsius: f64,
}

impl Thermal {
    /// Watts that lead to the limit in the end.
    pub fn limit_watts(&self) -> f64 {
        (self.limit_celsius - self.ambient_celsius) / self.kelvin_per_watt
    }

    /// Time constant in seconds: R · C.
    pub fn tau_s(&self) -> f64 {
        self.kelvin_per_watt * self.joules_per_kelvin
    }
}

/// How the kernel learns of a clock that hardware or a cooling device lowers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThrottleSeen {
    /// Not at all: Intel's RAPL and AMD's SMU lower clocks by themselves.
    #[default]
    Nothing,
    /// A cooling device lowers the policy's maximum (`cpufreq_cooling.c`, then `cpufreq_update_pressure`).
    CpufreqPressure,
    /// Firmware lowers the clock and its driver tells the scheduler (`arch_update_hw_pressure`, as in
    /// `qcom-cpufreq-hw.c`), which averages what it is told.
    HwPressure,
}

impl ThrottleSeen {
    /// All of them, as descriptions name them.
    pub const NAMES: [(&str, Self); 3] =
        [("nothing", Self::Nothing), ("cpufreq_pressure", Self::CpufreqPressure), ("hw_pressure", Self::HwPressure)];
}

impl Package {
    /// Whether clocks may have to be lowered because of power or heat.
    pub fn is_limited(&self) -> bool {
        self.power_limit.is_some() || self.thermal.is_some()
    }

    /// Watts of the uncore while a core runs, the fastest of which at `khz`.
    pub fn uncore_awake_watts(&self, khz: u32) -> f64 {
        match &self.uncore_clock {
            None => self.uncore_watts,
            Some(clock) => self.uncore_idle_watts + (self.uncore_watts - self.uncore_idle_watts) * clock.switching(khz),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uncore_draws_f_v_squared_between_its_ends() {
        let clock =
            UncoreClock { min_khz: 800_000, max_khz: 4_000_000, min_microvolts: 600_000, max_microvolts: 1_000_000 };
        let package =
            Package { uncore_watts: 22.0, uncore_idle_watts: 2.0, uncore_clock: Some(clock), ..Package::default() };
        // 2.4 GHz is halfway: 0.8 V. 0.6 · 0.8² = 0.384; 2 W + 20 W · 0.384 = 9.68 W.
        assert!((package.uncore_awake_watts(2_400_000) - 9.68).abs() < 1e-9);
        // Beyond the ends it stays there: 0.2 · 0.6² = 0.072.
        assert!((package.uncore_awake_watts(400_000) - 3.44).abs() < 1e-9);
        assert_eq!(package.uncore_awake_watts(5_200_000), 22.0);
    }

    #[test]
    fn a_resistance_and_a_capacity_make_a_limit_and_a_time() {
        let thermal =
            Thermal { kelvin_per_watt: 0.5, joules_per_kelvin: 40.0, ambient_celsius: 25.0, limit_celsius: 100.0 };
        assert_eq!((thermal.limit_watts(), thermal.tau_s()), (150.0, 20.0));
    }
}
