// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drivers of x86 in active mode: `intel_pstate` and `amd-pstate-epp`, which leave of the governors only two names.
//!
//! Under `performance` the driver asks for the highest clock. Under `powersave` something follows the load:
//!
//! - the processor's firmware, where it chooses clocks by itself (HWP, CPPC). The driver says which range it may use and how it
//!   shall weigh energy against speed (EPP, `energy_performance_preference`). How firmware decides is not published. Assumed is the
//!   rule that intel_pstate has for processors without HWP, with a gain that EPP sets; see [`Epp`];
//! - else intel_pstate itself (`no_hwp`): `get_target_pstate`, every 10 ms.
//!
//! `f = g · f_max · busy`, `busy` being the share of the time since the last sample that the busiest CPU of the clock was not
//! idle; where that is below the present clock, half of the way down. Published of firmware: the fields of the request and
//! that 0 is for performance, 255 for energy (Intel SDM volume 3, "Hardware-controlled performance states"; AMD's PPR for
//! family 19h), and that it looks about once in a millisecond (Skylake; Doweck et al., IEEE Micro 37(2), 2017).
//!
//! Left out: `hwp_dynamic_boost` and the I/O boost (no thread waits for I/O), the package's own balancing of
//! power, activity windows, EPP of each CPU apart, `energy_efficiency`, Thread Director's hints.

use super::{CpuTimes, Policy, Relation};
use crate::machine::{CpufreqDriver, EnergyPreference};
use crate::units::{MSEC, Nanos};

/// How often firmware looks at the load (assumed, of the published order): at half of it threads of 1 to 4 ms get their
/// clock half a millisecond earlier, longer ones gain nothing that can be seen.
const FIRMWARE_WINDOW: Nanos = MSEC;
/// `INTEL_PSTATE_SAMPLING_INTERVAL`.
const SAMPLING_INTERVAL: Nanos = 10 * MSEC;
/// The gain of `get_target_pstate`, 1.25, times the EPP that it is assumed to stand for: the middle of the range.
const GAIN: u128 = 160;

/// `energy_performance_preference`: 0 asks for performance, 255 for saving energy.
///
/// Assumed: the gain falls as 160 / EPP. At 128, the default of processors and drivers, it is the 1.25 that intel_pstate has
/// where it decides by itself. So a CPU that is always busy reaches the highest clock up to EPP 160, 0.83 of it at 192
/// (`balance_power`), 0.63 at 255 (`power`); one that is busy for a tenth gets there at EPP 16. Linux notes of Alder Lake's mobile
/// parts that one core gets its full turbo up to 102 (`intel_epp_default`): a machine like that has lower clocks at the default
/// than this model, by a fifth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epp(pub u8);

impl Epp {
    /// What processors begin with, and what `balance_performance` writes.
    pub const BALANCE_PERFORMANCE: Self = Self(0x80);

    /// What `driver` writes for a preference (`epp_values` of intel_pstate.c without the models of `intel_epp_default`,
    /// `AMD_CPPC_EPP_*`); what firmware has set is taken to be the middle (Intel's SDM: 80H; AMD's differs by board, assumed).
    pub fn of(preference: EnergyPreference, driver: CpufreqDriver) -> Self {
        match preference {
            EnergyPreference::Performance => Self(0),
            EnergyPreference::Default | EnergyPreference::BalancePerformance => Self::BALANCE_PERFORMANCE,
            EnergyPreference::BalancePower => Self(if driver.is_intel() { 0xc0 } else { 0xbf }),
            EnergyPreference::Power => Self(0xff),
        }
    }

    /// The name that `driver` has for the value, if it has one.
    pub fn name(self, driver: CpufreqDriver) -> Option<&'static str> {
        let mut names =
            EnergyPreference::NAMES.iter().filter(|(_, preference)| *preference != EnergyPreference::Default);
        names.find(|(_, preference)| Self::of(*preference, driver) == self).map(|(name, _)| *name)
    }
}

/// What the driver of a machine is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PstateTunables {
    /// Which driver.
    pub driver: CpufreqDriver,
    /// Whether `scaling_governor` is `performance`: the highest clock, whatever the load. Else it is `powersave`.
    pub performance: bool,
    /// How firmware weighs energy against speed under `powersave`.
    pub epp: Epp,
    /// Whether intel_pstate decides by itself (`intel_pstate=no_hwp`, and processors before Skylake).
    pub no_hwp: bool,
}

impl PstateTunables {
    /// The driver as it begins: `powersave`, in the middle.
    pub fn new(driver: CpufreqDriver) -> Self {
        Self { driver, performance: false, epp: Epp::BALANCE_PERFORMANCE, no_hwp: false }
    }

    /// What the kernel does about a preference that was asked for and counts for nothing; `None` if it counts, or is the default.
    pub fn unheard(&self) -> Option<String> {
        let Self { driver, performance, epp, no_hwp } = *self;
        if epp == Epp::BALANCE_PERFORMANCE {
            return None;
        }
        let name = epp.name(driver).map_or_else(|| epp.0.to_string(), str::to_owned);
        let governor = driver.governor();
        if no_hwp {
            return Some(format!(
                "{governor}=no_hwp,epp={name}: without HWP there is no energy_performance_preference to write; epp is left out"
            ));
        }
        // 0, the preference `performance`, is what the driver has under this governor anyway.
        (performance && epp.0 > 0).then(|| {
            format!(
                "{governor}=performance,epp={name}: under performance the kernel refuses to write energy_performance_preference (EBUSY), \
                 and takes 0; epp is left out ({governor}=powersave,epp={name} heeds it)"
            )
        })
    }

    fn window(&self) -> Nanos {
        if self.no_hwp { SAMPLING_INTERVAL } else { FIRMWARE_WINDOW }
    }
}

/// What follows the load of one clock's CPUs under `powersave`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pstate {
    tunables: PstateTunables,
    prev_idle: Box<[Nanos]>,
    last_sample: Nanos,
    /// The clock asked for last, in kHz. Processors have one for every 100 MHz or finer; the operating points of a description may
    /// be so far apart that half of the way down would round to where it began.
    asked_khz: u32,
}

impl Pstate {
    pub(super) fn new(tunables: PstateTunables, policy: &Policy, times: &[CpuTimes], now: Nanos) -> Self {
        let prev_idle = times.iter().map(idle).collect();
        Self { tunables, prev_idle, last_sample: now, asked_khz: policy.current_khz() }
    }

    /// When the load is looked at again, at the earliest.
    #[inline]
    pub fn next_sample(&self) -> Nanos {
        self.last_sample + self.tunables.window()
    }

    /// The driver.
    pub fn driver(&self) -> CpufreqDriver {
        self.tunables.driver
    }

    /// How energy is weighed against speed now.
    pub fn epp(&self) -> Epp {
        self.tunables.epp
    }

    /// Writes `energy_performance_preference`: it counts from the next look on.
    pub fn set_epp(&mut self, epp: Epp) {
        self.tunables.epp = epp;
    }

    /// Whether it looks by itself, not only when the scheduler has something to say.
    pub fn is_autonomous(&self) -> bool {
        !self.tunables.no_hwp
    }

    /// A sample at `now`: the operating point to change to. `times` gives the times of the policy's n-th CPU.
    pub fn sample(&mut self, policy: &Policy, now: Nanos, times: impl Fn(usize) -> CpuTimes) -> Option<usize> {
        let elapsed = now - self.last_sample;
        self.last_sample = now;
        let mut busy = 0;
        for (index, prev) in self.prev_idle.iter_mut().enumerate() {
            let idle = idle(&times(index));
            busy = busy.max(elapsed.saturating_sub(idle - *prev));
            *prev = idle;
        }
        self.asked_khz = self.target_khz(policy, busy, elapsed);
        policy.driver_target(self.asked_khz, Relation::Closest)
    }

    /// The clock for `busy` of `elapsed` nanoseconds.
    fn target_khz(&self, policy: &Policy, busy: Nanos, elapsed: Nanos) -> u32 {
        let epp = if self.tunables.no_hwp { Epp::BALANCE_PERFORMANCE.0 } else { self.tunables.epp.0 };
        let share = u128::from(policy.hardware_max_khz()) * u128::from(busy) * GAIN;
        let wanted = share / (u128::from(elapsed.max(1)) * u128::from(epp.max(1)));
        let target = wanted.min(u128::from(policy.max_khz())) as u32;
        let target = target.max(policy.min_khz());
        target + self.asked_khz.saturating_sub(target) / 2
    }

    /// Whether CPUs that stay busy would get another clock than the one asked for.
    pub fn is_settled(&self, policy: &Policy) -> bool {
        // Within a permille: the way down is halved each time.
        let there = self.target_khz(policy, self.tunables.window(), self.tunables.window());
        there.abs_diff(self.asked_khz) <= there / 1000
    }
}

fn idle(times: &CpuTimes) -> Nanos {
    times.idle + times.iowait
}
