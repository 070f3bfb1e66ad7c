// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which operating point the CPUs of a performance domain run at: Linux 6.12's six cpufreq governors, and the
//! drivers of x86 that have governors of their own.
//!
//! A [`Governor`] is what a user asks for. [`Governor::start`] makes the state that one [`Policy`] (a performance
//! domain's limits and present clock) needs, and that state answers "which operating point now?" with an index or
//! with `None` for "leave it". Applying the answer, after the transition latency, is the caller's part, and so is
//! telling the policy with [`Policy::set_current`].
//!
//! | governor | asked when | answers with |
//! |---|---|---|
//! | performance, powersave, userspace | started | the highest, the lowest, the given clock |
//! | [`Ondemand`], [`Conservative`] | a scheduler update of one of the CPUs, if [`Dbs::due`] | a clock by the share of time not idle since the last sample |
//! | [`Pstate`] | a scheduler update, and by itself, from [`Pstate::next_sample`] on | a clock by the share not idle |
//! | [`Schedutil`] | every scheduler update of one of the CPUs | a clock by tracked utilisation, if the rate limit allows |
//!
//! A scheduler update (`cpufreq_update_util`) is a tick, an enqueue or a dequeue that changed the CPU's utilisation,
//! or a wakeup from I/O. An idle domain has none, so its clock stays where it was, as on Linux since 4.7. Older
//! kernels sampled by a deferrable timer instead.
//!
//! Left out: frequencies marked inefficient (`CPUFREQ_RELATION_E`), a driver's own `transition_delay_us`,
//! `adjust_perf`, the time that the governors' kernel threads take on CPUs that cannot switch clocks from the scheduler, and
//! governors that are chosen during a run. The user of a machine with `cpufreq-dt` would see short runs of `sugov` threads in a trace.

mod conservative;
mod dbs;
mod governor;
mod names;
mod offered;
mod ondemand;
mod pstate;
mod pstate_names;
mod schedutil;

pub use conservative::{Conservative, ConservativeTunables};
pub use dbs::{CpuTimes, Dbs};
pub use governor::{Governor, GovernorState};
pub use names::GovernorError;
pub use offered::NotOffered;
pub use ondemand::{Ondemand, OndemandTunables};
pub use pstate::{Epp, Pstate, PstateTunables};
pub use schedutil::{CpuUtil, Schedutil, SchedutilTunables, uclamp_rq_is_capped};

use crate::machine::PerformanceDomain;
use crate::units::{MSEC, Nanos, USEC};

/// How to round a clock that is no operating point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The lowest operating point not below it (`CPUFREQ_RELATION_L`).
    Low,
    /// The highest not above it (`CPUFREQ_RELATION_H`).
    High,
    /// The closest, the lower one of two (`CPUFREQ_RELATION_C`).
    Closest,
}

/// A performance domain as a governor sees it (`struct cpufreq_policy`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Clocks in kHz, ascending, never empty.
    khz: Box<[u32]>,
    min: usize,
    max: usize,
    current: usize,
    transition_latency: Nanos,
}

impl Policy {
    /// The policy of `domain`, at the highest operating point that its limits allow, where firmware leaves it.
    pub fn new(domain: &PerformanceDomain) -> Self {
        Self {
            khz: domain.opps.iter().map(|opp| opp.khz).collect(),
            min: domain.min_opp,
            max: domain.max_opp,
            current: domain.max_opp,
            transition_latency: domain.transition_latency,
        }
    }

    /// The clock of operating point `opp`, in kHz.
    #[inline]
    pub fn khz(&self, opp: usize) -> u32 {
        self.khz[opp]
    }

    /// The lowest clock allowed now, in kHz (`scaling_min_freq`).
    #[inline]
    pub fn min_khz(&self) -> u32 {
        self.khz[self.min]
    }

    /// The highest clock allowed now, in kHz (`scaling_max_freq`).
    #[inline]
    pub fn max_khz(&self) -> u32 {
        self.khz[self.max]
    }

    /// The lowest clock there is, in kHz (`cpuinfo_min_freq`).
    #[inline]
    pub fn hardware_min_khz(&self) -> u32 {
        self.khz[0]
    }

    /// The highest clock there is, in kHz (`cpuinfo_max_freq`); CPU capacity refers to it (`arch_scale_freq_ref`).
    #[inline]
    pub fn hardware_max_khz(&self) -> u32 {
        self.khz[self.khz.len() - 1]
    }

    /// The present clock in kHz.
    #[inline]
    pub fn current_khz(&self) -> u32 {
        self.khz[self.current]
    }

    /// Sets `scaling_min_freq` and `scaling_max_freq`, in kHz: each becomes the closest operating point. A minimum above the maximum
    /// is the maximum, as in the kernel (`cpufreq_verify_within_limits`).
    pub fn set_limits(&mut self, min_khz: u32, max_khz: u32) {
        let closest = |khz: u32| {
            let above = self.khz.partition_point(|&k| k < khz).min(self.khz.len() - 1);
            let below = above.saturating_sub(usize::from(self.khz[above] > khz));
            if self.khz[above].abs_diff(khz) < self.khz[below].abs_diff(khz) { above } else { below }
        };
        self.max = closest(max_khz);
        self.min = closest(min_khz).min(self.max);
    }

    /// Notes that the domain now runs, or is about to run, at operating point `opp`.
    #[inline]
    pub fn set_current(&mut self, opp: usize) {
        self.current = opp;
    }

    /// The operating point for a clock of `khz`, within the limits (`cpufreq_driver_resolve_freq`, which rounds by
    /// [`Relation::Low`]).
    #[inline]
    pub fn resolve(&self, khz: u32, relation: Relation) -> usize {
        let target = khz.clamp(self.min_khz(), self.max_khz());
        // The limits are operating points, so there is one on either side of the target.
        let above = self.khz.partition_point(|&k| k < target).clamp(self.min, self.max);
        let exact = self.khz[above] == target;
        let below = if exact { above } else { above.saturating_sub(1).max(self.min) };
        match relation {
            Relation::Low => above,
            Relation::High => below,
            Relation::Closest if self.khz[above] - target < target - self.khz[below] => above,
            Relation::Closest => below,
        }
    }

    /// Where a request for `khz` moves the clock; `None` if it is there already (`__cpufreq_driver_target`).
    #[inline]
    pub fn driver_target(&self, khz: u32, relation: Relation) -> Option<usize> {
        let opp = self.resolve(khz, relation);
        (opp != self.current).then_some(opp)
    }

    /// The least time between two changes that makes sense: 1.5 transition latencies in whole microseconds, 1 ms where
    /// the latency is below 1 µs (`cpufreq_policy_transition_delay_us`).
    pub fn transition_delay(&self) -> Nanos {
        match self.transition_latency / USEC {
            0 => MSEC,
            latency => (latency + latency / 2) * USEC,
        }
    }
}

#[cfg(test)]
mod tests;
