// SPDX-License-Identifier: MIT OR Apache-2.0
//! conservative: one step up when the load is high, one down when it is low
//! (`drivers/cpufreq/cpufreq_conservative.c`).
//!
//! A step is `freq_step` percent of the highest allowed clock. The requested clock moves by steps and is rounded to
//! an operating point, down on the way up and up on the way down, so that several steps may be needed for one change.
//! For each sampling period slept through, a step down is made up for at the next sample. Nothing is left out.

use super::{CpuTimes, Dbs, Policy, Relation};
use crate::units::Nanos;

/// What one can set of conservative, with the kernel's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConservativeTunables {
    /// Least time between two samples, in ns; `None`: two ticks or the policy's transition delay, the longer one.
    pub sampling_rate: Option<Nanos>,
    /// Load in percent above which the clock steps up, at most 100.
    pub up_threshold: u32,
    /// Load in percent below which it steps down, 1.. and below `up_threshold`.
    pub down_threshold: u32,
    /// Percent of the highest clock, 0..=100; 0 freezes the clock.
    pub freq_step: u32,
    /// Samples from one step down to the next, 1..=10.
    pub sampling_down_factor: u32,
    /// Whether time of tasks with a nice value above 0 counts as idle.
    pub ignore_nice_load: bool,
}

impl Default for ConservativeTunables {
    fn default() -> Self {
        Self {
            sampling_rate: None,
            up_threshold: 80,
            down_threshold: 20,
            freq_step: 5,
            sampling_down_factor: 1,
            ignore_nice_load: false,
        }
    }
}

/// A started conservative governor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conservative {
    tunables: ConservativeTunables,
    dbs: Dbs,
    down_skip: u32,
    requested_khz: u32,
}

impl Conservative {
    pub(super) fn new(
        tunables: ConservativeTunables,
        policy: &Policy,
        period: Nanos,
        times: &[CpuTimes],
        now: Nanos,
    ) -> Self {
        let dbs = Dbs::new(period, tunables.ignore_nice_load, false, times, now);
        Self { tunables, dbs, down_skip: 0, requested_khz: policy.current_khz() }
    }

    /// When it samples.
    pub fn dbs(&self) -> &Dbs {
        &self.dbs
    }

    /// A sample at `now` (`cs_dbs_update`): the operating point to change to. `times` gives the times of the policy's
    /// n-th CPU. Call when [`Dbs::due`].
    pub fn sample(&mut self, policy: &Policy, now: Nanos, times: impl Fn(usize) -> CpuTimes) -> Option<usize> {
        self.dbs.sampled_at(now);
        self.dbs.sample_delay = self.dbs.sampling_period();
        let load = self.dbs.update(now, times);
        if self.tunables.freq_step == 0 {
            return None;
        }
        let (min, max) = (policy.min_khz(), policy.max_khz());
        if !(min..=max).contains(&self.requested_khz) {
            self.requested_khz = policy.current_khz();
        }
        let step = self.freq_step(policy);
        let requested = self.after_idle_periods(step, min);
        if load > self.tunables.up_threshold {
            self.down_skip = 0;
            self.requested_khz = requested.saturating_add(step).min(max);
            return policy.driver_target(self.requested_khz, Relation::High);
        }
        self.down_skip += 1;
        if self.down_skip < self.tunables.sampling_down_factor {
            return None;
        }
        self.down_skip = 0;
        if load >= self.tunables.down_threshold {
            return None;
        }
        self.requested_khz = requested.saturating_sub(step).max(min);
        policy.driver_target(self.requested_khz, Relation::Low)
    }

    /// The requested clock, less a step for each sampling period slept through. It only counts if this sample goes on
    /// to change the clock.
    fn after_idle_periods(&mut self, step: u32, min: u32) -> u32 {
        if self.dbs.max_sample_load >= self.tunables.down_threshold {
            return self.requested_khz;
        }
        let periods = self.dbs.idle_periods.take().unwrap_or(0);
        self.requested_khz.saturating_sub(periods.saturating_mul(step)).max(min)
    }

    /// A step in kHz (`get_freq_step`).
    fn freq_step(&self, policy: &Policy) -> u32 {
        let step = u64::from(self.tunables.freq_step) * u64::from(policy.max_khz()) / 100;
        if step == 0 { ConservativeTunables::default().freq_step } else { step as u32 }
    }
}
