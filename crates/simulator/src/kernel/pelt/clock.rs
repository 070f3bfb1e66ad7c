// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock that PELT counts by: it advances with the work done rather than with time (`rq_clock_pelt`).

use super::{LOAD_AVG_MAX, PELT_MIN_DIVIDER};
use crate::units::{CAPACITY_SCALE, Nanos};

/// The clocks of one CPU. All start at the same time, usually 0.
///
/// A busy CPU at half capacity advances `pelt` at half speed, so the same work gives the same utilisation on any CPU
/// at any clock. What this loses against `task` is caught up with when the CPU goes idle, unless the CPU was so busy
/// that there would have been no idle time at full capacity either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeltClock {
    /// `clock_pelt`: scaled time in ns.
    pub pelt: Nanos,
    /// `clock_task`: unscaled time in ns (here without interrupt or steal time taken out).
    pub task: Nanos,
    /// `lost_idle_time`: idle time that full capacity would not have had either, in ns.
    pub lost_idle: Nanos,
}

/// Present clock relative to the highest (`arch_scale_freq_capacity`), 0..=1024.
#[inline]
pub fn freq_scale(khz: u32, max_khz: u32) -> u64 {
    u64::from(khz) * CAPACITY_SCALE / u64::from(max_khz.max(1))
}

impl PeltClock {
    /// The time to update records with (`rq_clock_pelt`).
    #[inline]
    pub fn now(&self) -> Nanos {
        self.pelt - self.lost_idle
    }

    /// Lets `delta` ns pass on a CPU of `capacity` (0..=1024, its highest clock) whose clock stood at `freq_scale`
    /// (see [`freq_scale`]) and that was `idle` all the while or not at all (`update_rq_clock_pelt`).
    #[inline]
    pub fn update(&mut self, delta: Nanos, capacity: u64, freq_scale: u64, idle: bool) {
        self.task += delta;
        if idle {
            self.pelt = self.task;
            return;
        }
        let by_capacity = (delta * capacity) / CAPACITY_SCALE;
        self.pelt += (by_capacity * freq_scale) / CAPACITY_SCALE;
    }

    /// The CPU goes idle (`update_idle_rq_clock_pelt`). `util_sum` is the sum over its classes' run queues; call after
    /// those are up to date.
    #[inline]
    pub fn enter_idle(&mut self, util_sum: u64) {
        const ALWAYS_BUSY: u64 = PELT_MIN_DIVIDER * CAPACITY_SCALE - LOAD_AVG_MAX;
        if util_sum >= ALWAYS_BUSY {
            self.lost_idle += self.task - self.pelt;
        }
        self.pelt = self.task;
    }
}
