// SPDX-License-Identifier: MIT OR Apache-2.0
//! Per-entity load tracking: how much a task or a run queue has been running, waiting and weighing lately.
//!
//! The integer arithmetic of Linux 6.12's `kernel/sched/pelt.c`, step by step: time counts in units of 1024 ns, a
//! period is 1024 of them, and what happened `n` periods ago weighs `y^n` with `y^32 = 1/2`. A sum of all ones is
//! `LOAD_AVG_MAX`; an average is its sum divided by what a sum could be at this place in the period.
//!
//! - [`SchedAvg`]: the state of one task or one run queue, and its updates.
//! - [`PeltClock`]: the clock they are fed with, slowed by CPU capacity and frequency.
//! - [`SchedAvg::util_est_update`]: the estimate that outlives a sleep.
//!
//! - `group`: task groups, whose load shows in the queues above.
//!
//! Left out: interrupt time, and `migrate_se_pelt_lag` (an idle CPU's clock can always be read exactly here). A machine with heavy
//! interrupt load could tell.
//! Where the kernel's 32-bit sums would wrap (88 or more fully busy tasks attached to one run queue), ours saturate,
//! and `load_sum` is never cut to 32 bits.

mod clock;
mod entity;
mod group;
mod util_est;

pub use clock::{PeltClock, freq_scale};
pub use entity::{Activity, post_init_entity_util_avg};

use crate::units::{CAPACITY_SCALE, Nanos};

/// Periods after which a contribution counts half (`LOAD_AVG_PERIOD`).
pub const LOAD_AVG_PERIOD: u64 = 32;

/// The largest sum, in units of 1024 ns: all periods busy for ever, rounded as the kernel rounds (`LOAD_AVG_MAX`).
pub const LOAD_AVG_MAX: u64 = 47_742;

/// What an always busy entity's sum is at the very start of a period (`PELT_MIN_DIVIDER`).
pub const PELT_MIN_DIVIDER: u64 = LOAD_AVG_MAX - PERIOD;

/// Units of 1024 ns in a period.
const PERIOD: u64 = 1024;

/// `(2^32 - 1) · y^n`, rounded down, for `n` in 0..32 (`runnable_avg_yN_inv` of `kernel/sched/sched-pelt.h`).
#[rustfmt::skip]
const RUNNABLE_AVG_YN_INV: [u32; LOAD_AVG_PERIOD as usize] = [
    0xffff_ffff, 0xfa83_b2da, 0xf525_7d14, 0xefe4_b99a, 0xeac0_c6e6, 0xe5b9_06e6, 0xe0cc_deeb, 0xdbfb_b796,
    0xd744_fcc9, 0xd2a8_1d91, 0xce24_8c14, 0xc9b9_bd85, 0xc567_2a10, 0xc12c_4cc9, 0xbd08_a39e, 0xb8fb_af46,
    0xb504_f333, 0xb123_f581, 0xad58_3ee9, 0xa9a1_5ab4, 0xa5fe_d6a9, 0xa270_4302, 0x9ef5_325f, 0x9b8d_39b9,
    0x9837_f050, 0x94f4_efa8, 0x91c3_d373, 0x8ea4_398a, 0x8b95_c1e3, 0x8898_0e80, 0x85aa_c367, 0x82cd_8698,
];

/// What PELT knows of one task or one run queue (`struct sched_avg`): 64 bytes, one cache line.
///
/// The averages are 0..=1024 for `util_avg` of a task, and in units of weight for `load_avg`. For a run queue they
/// are sums over its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[repr(align(64))]
pub struct SchedAvg {
    /// PELT time of the last update that counted, in ns.
    pub last_update_time: Nanos,
    /// Time on the run queue (a task), or weight × that time (a run queue).
    pub load_sum: u64,
    /// Tasks runnable × time × 1024.
    pub runnable_sum: u64,
    /// Weight × share of time on the run queue.
    pub load_avg: u64,
    /// Like `util_avg`, waiting included; a run queue's exceeds its capacity when tasks compete.
    pub runnable_avg: u64,
    /// Share of a fully capable CPU at full clock that it ran, 0..=1024.
    pub util_avg: u64,
    /// Time running × 1024.
    pub util_sum: u32,
    /// Units of 1024 ns into the current period, below 1024.
    pub period_contrib: u32,
    /// A task: smoothed utilisation at the end of its activations. A run queue: their sum over its queued tasks.
    pub util_est: u32,
    /// Whether `util_avg` stayed as it was since the last [`SchedAvg::util_est_update`] (`UTIL_AVG_UNCHANGED`).
    util_unchanged: bool,
    /// Whether a run queue includes this task. The kernel writes `last_update_time = 0` for "no", which a simulation
    /// that begins at 0 could not tell from a time.
    attached: bool,
}

/// `val · y^n`, in constant time.
#[inline]
pub fn decay_load(val: u64, n: u64) -> u64 {
    if n > LOAD_AVG_PERIOD * 63 {
        return 0;
    }
    let halved = val >> (n / LOAD_AVG_PERIOD);
    let factor = RUNNABLE_AVG_YN_INV[(n % LOAD_AVG_PERIOD) as usize];
    ((u128::from(halved) * u128::from(factor)) >> 32) as u64
}

/// What a busy span adds: `d1` units that end the old period, all of `periods - 1` whole ones, `d3` of the new one
/// (`__accumulate_pelt_segments`).
#[inline]
fn accumulate_pelt_segments(periods: u64, d1: u64, d3: u64) -> u64 {
    let old = decay_load(d1, periods);
    let whole = LOAD_AVG_MAX - decay_load(LOAD_AVG_MAX, periods) - PERIOD;
    old + whole + d3
}

impl SchedAvg {
    /// What a sum would be, had the entity always been busy (`get_pelt_divider`).
    #[inline]
    pub fn divider(&self) -> u64 {
        PELT_MIN_DIVIDER + u64::from(self.period_contrib)
    }

    /// Ages the sums by `delta` units and adds what was done meanwhile; returns whether a period ended.
    #[inline]
    fn accumulate_sum(&mut self, delta: u64, load: u64, runnable: u64, running: bool) -> bool {
        let span = delta + u64::from(self.period_contrib);
        let periods = span / PERIOD;
        let mut contrib = delta;
        if periods > 0 {
            self.load_sum = decay_load(self.load_sum, periods);
            self.runnable_sum = decay_load(self.runnable_sum, periods);
            self.util_sum = decay_load(u64::from(self.util_sum), periods) as u32;
            if load > 0 {
                contrib = accumulate_pelt_segments(periods, PERIOD - u64::from(self.period_contrib), span % PERIOD);
            }
        }
        self.period_contrib = (span % PERIOD) as u32;
        if load > 0 {
            self.load_sum += load * contrib;
            self.runnable_sum += (runnable * contrib) * CAPACITY_SCALE;
        }
        if running {
            self.util_sum = self.util_sum.saturating_add((contrib * CAPACITY_SCALE) as u32);
        }
        periods > 0
    }

    /// Brings the sums to `now`; returns whether a period ended, so that the averages are due.
    ///
    /// An entity without `load` neither waits nor runs. Time that goes backwards only resets the clock.
    #[inline]
    fn update_load_sum(&mut self, now: Nanos, load: u64, runnable: u64, running: bool) -> bool {
        if now < self.last_update_time {
            self.last_update_time = now;
            return false;
        }
        let delta = (now - self.last_update_time) >> 10;
        if delta == 0 {
            return false;
        }
        self.last_update_time += delta << 10;
        self.accumulate_sum(delta, load, runnable, running && load > 0)
    }

    /// Brings the averages in line with the sums (`___update_load_avg`).
    #[inline]
    fn update_averages(&mut self, weight: u64) {
        let divider = self.divider();
        self.load_avg = weight * self.load_sum / divider;
        self.runnable_avg = self.runnable_sum / divider;
        self.util_avg = u64::from(self.util_sum) / divider;
    }

    /// Updates a run queue of the fair class; returns whether the averages changed.
    ///
    /// `weight` is the sum of its queued tasks' weights (nice 0: 1024), `nr_runnable` their number less those whose
    /// dequeue is delayed, `running` whether the CPU runs one of them.
    #[inline]
    pub fn update_load_avg_cfs_rq(&mut self, now: Nanos, weight: u64, nr_runnable: u64, running: bool) -> bool {
        let due = self.update_load_sum(now, weight, nr_runnable, running);
        if due {
            self.update_averages(1);
        }
        due
    }

    /// Updates the record of one whole class on a CPU (`update_rt_rq_load_avg`, `update_dl_rq_load_avg`): only
    /// `util_avg` has a meaning.
    #[inline]
    pub fn update_class_load_avg(&mut self, now: Nanos, running: bool) -> bool {
        let one = u64::from(running);
        let due = self.update_load_sum(now, one, one, running);
        if due {
            self.update_averages(1);
        }
        due
    }

    /// Updates the record of the capacity that firmware takes from a CPU (`update_hw_load_avg`), in real time: only
    /// `load_avg` has a meaning. Returns whether it changed.
    #[inline]
    pub fn update_hw_load_avg(&mut self, now: Nanos, capacity: u64) -> bool {
        let due = self.update_load_sum(now, capacity, capacity, capacity > 0);
        if due {
            self.update_averages(1);
        }
        due
    }
}

#[cfg(test)]
mod tests;
