// SPDX-License-Identifier: MIT OR Apache-2.0
//! ondemand: to the top when the load is high, in proportion to it otherwise (`drivers/cpufreq/cpufreq_ondemand.c`).
//!
//! `f = f_min + load · (f_max - f_min) / 100`, rounded to the closest operating point; above `up_threshold`, the
//! highest. Loads are sampled by [`Dbs`]. Left out: the AMD frequency-sensitivity variant.

use super::{CpuTimes, Dbs, Policy, Relation};
use crate::units::{Nanos, USEC};

/// What one can set of ondemand, with the kernel's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OndemandTunables {
    /// Least time between two samples, in ns; `None`: two ticks or the policy's transition delay, the longer one.
    /// Linux accepts no less than two ticks.
    pub sampling_rate: Option<Nanos>,
    /// Load in percent, 1..=100, above which the clock goes to the top. 95 where the kernel measures idle time in
    /// microseconds (every tickless kernel), 80 where it counts jiffies.
    pub up_threshold: u32,
    /// How much longer to wait for the next sample at the top, 1..=100,000.
    pub sampling_down_factor: u32,
    /// Permille to take off each clock, 0..=1000, by switching between two operating points.
    pub powersave_bias: u32,
    /// Whether time of tasks with a nice value above 0 counts as idle.
    pub ignore_nice_load: bool,
    /// Whether idle time with tasks waiting for I/O counts as busy; Linux says so on Intel's CPUs.
    pub io_is_busy: bool,
}

impl Default for OndemandTunables {
    fn default() -> Self {
        Self {
            sampling_rate: None,
            up_threshold: 95,
            sampling_down_factor: 1,
            powersave_bias: 0,
            ignore_nice_load: false,
            io_is_busy: false,
        }
    }
}

/// The lower clock that follows the higher one within a sampling period, under a powersave bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LowPhase {
    khz: u32,
    high_delay: Nanos,
    low_delay: Nanos,
}

/// A started ondemand governor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ondemand {
    tunables: OndemandTunables,
    dbs: Dbs,
    low_phase: Option<LowPhase>,
}

impl Ondemand {
    pub(super) fn new(tunables: OndemandTunables, period: Nanos, times: &[CpuTimes], now: Nanos) -> Self {
        let dbs = Dbs::new(period, tunables.ignore_nice_load, tunables.io_is_busy, times, now);
        Self { tunables, dbs, low_phase: None }
    }

    /// When it samples.
    pub fn dbs(&self) -> &Dbs {
        &self.dbs
    }

    /// A sample at `now` (`od_dbs_update`): the operating point to change to. `times` gives the times of the policy's
    /// n-th CPU. Call when [`Dbs::due`].
    pub fn sample(&mut self, policy: &Policy, now: Nanos, times: impl Fn(usize) -> CpuTimes) -> Option<usize> {
        self.dbs.sampled_at(now);
        if let Some(low) = self.low_phase.take() {
            self.dbs.sample_delay = low.low_delay;
            return policy.driver_target(low.khz, Relation::High);
        }
        let load = self.dbs.update(now, times);
        let target = self.od_update(policy, load);
        self.dbs.sample_delay = match self.low_phase {
            Some(low) => low.high_delay,
            None => self.dbs.sampling_period() * u64::from(self.dbs.rate_mult),
        };
        target
    }

    fn od_update(&mut self, policy: &Policy, load: u32) -> Option<usize> {
        if load > self.tunables.up_threshold {
            if policy.current_khz() < policy.max_khz() {
                self.dbs.rate_mult = self.tunables.sampling_down_factor;
            }
            return self.dbs_freq_increase(policy);
        }
        self.dbs.rate_mult = 1;
        let (min, max) = (policy.hardware_min_khz(), policy.hardware_max_khz());
        let mut next = min + (u64::from(load) * u64::from(max - min) / 100) as u32;
        if self.tunables.powersave_bias > 0 {
            next = self.powersave_bias_target(policy, next, Relation::Low);
        }
        policy.driver_target(next, Relation::Closest)
    }

    fn dbs_freq_increase(&mut self, policy: &Policy) -> Option<usize> {
        if self.tunables.powersave_bias == 0 {
            return policy.driver_target(policy.max_khz(), Relation::High);
        }
        let khz = self.powersave_bias_target(policy, policy.max_khz(), Relation::High);
        policy.driver_target(khz, Relation::Low)
    }

    /// The higher of two clocks that average to `next` less the bias; plans the lower one
    /// (`generic_powersave_bias_target`).
    fn powersave_bias_target(&mut self, policy: &Policy, next: u32, relation: Relation) -> u32 {
        let asked = u64::from(policy.khz(policy.resolve(next, relation)));
        let average = asked - asked * u64::from(self.tunables.powersave_bias.min(1000)) / 1000;
        let low = policy.khz(policy.resolve(average as u32, Relation::High));
        let high = policy.khz(policy.resolve(average as u32, Relation::Low));
        if low == high {
            return low;
        }
        let (above_low, spread) = (average - u64::from(low), u64::from(high - low));
        let period_us = self.dbs.sampling_period() / USEC;
        let high_us = (above_low * period_us + spread / 2) / spread;
        self.low_phase =
            Some(LowPhase { khz: low, high_delay: high_us * USEC, low_delay: (period_us - high_us) * USEC });
        high
    }
}
