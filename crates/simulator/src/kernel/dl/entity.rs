// SPDX-License-Identifier: MIT OR Apache-2.0
//! A deadline task's reservation and what is left of it: the constant bandwidth server (`struct sched_dl_entity`).
//!
//! Only arithmetic: no queues, no timers.

use crate::units::Nanos;

/// Binary digits after the point of a bandwidth (`BW_SHIFT`).
pub(super) const BW_SHIFT: u32 = 20;
/// Times are compared in units of 2^10 ns (`DL_SCALE`).
const DL_SCALE: u32 = 10;
/// What a CPU of full capacity can give (`BW_UNIT`).
pub(super) const BW_UNIT: u64 = 1 << BW_SHIFT;

/// `runtime / period` in units of [`BW_UNIT`] (`to_ratio`); 0 without a period.
pub(super) fn to_ratio(period: Nanos, runtime: Nanos) -> u64 {
    if period == 0 {
        return 0;
    }
    ((u128::from(runtime) << BW_SHIFT) / u128::from(period)) as u64
}

/// What a task has reserved: `runtime` within `deadline` of the beginning of every `period`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DlParams {
    pub runtime: Nanos,
    pub deadline: Nanos,
    pub period: Nanos,
}

/// A task as the deadline class sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DlEntity {
    /// Its own reservation; nothing for a task that only inherits.
    pub own: DlParams,
    /// The reservation of the task it inherits from (`pi_se`).
    pub boost: Option<DlParams>,
    /// Bandwidth of its own reservation (`dl_bw`).
    pub bandwidth: u64,
    /// Budget of its own reservation over the deadline instead of the period (`dl_density`).
    pub density: u64,
    /// Budget left; negative after an overrun.
    pub runtime: i64,
    /// Absolute deadline.
    pub deadline: Nanos,
    /// Out of budget: it waits for its timer.
    pub throttled: bool,
    /// It gave up the rest of its budget.
    pub yielded: bool,
    /// It sleeps, but its bandwidth still counts as active (`dl_non_contending`).
    pub non_contending: bool,
    /// It was boosted since: its next enqueue renews its budget (`ENQUEUE_REPLENISH`).
    pub renew: bool,
    /// Place among equal deadlines, while queued.
    pub queued: Option<u64>,
    /// Its use of the CPU is booked up to here.
    pub exec_start: Nanos,
    /// When it gets new budget, while throttled (`dl_timer`).
    pub timer: Option<Nanos>,
    /// When its bandwidth stops to count (`inactive_timer`).
    pub inactive_timer: Option<Nanos>,
}

impl DlEntity {
    /// Takes over a reservation (`__setparam_dl`); budget and deadline stay.
    pub fn set_params(&mut self, own: DlParams) {
        self.own = own;
        self.bandwidth = to_ratio(own.period, own.runtime);
        self.density = to_ratio(own.deadline, own.runtime);
    }

    /// Has no reservation any more (`__dl_clear_params`).
    pub fn clear_params(&mut self) {
        let (boost, queued, exec_start) = (self.boost, self.queued, self.exec_start);
        *self = Self { boost, queued, exec_start, ..Self::default() };
    }

    /// The reservation in force (`pi_of`).
    pub fn params(&self) -> DlParams {
        self.boost.unwrap_or(self.own)
    }

    /// `dl_is_implicit`.
    pub fn is_implicit(&self) -> bool {
        self.own.deadline == self.own.period
    }

    /// `dl_next_period`: when its next period begins.
    pub fn next_period(&self) -> Nanos {
        self.deadline - self.own.deadline.min(self.deadline) + self.own.period
    }

    /// `replenish_dl_new_period`: full budget, a deadline from now on.
    pub fn replenish_new_period(&mut self, now: Nanos) {
        let params = self.params();
        self.deadline = now.saturating_add(params.deadline);
        self.runtime = params.runtime as i64;
    }

    /// `replenish_dl_entity`: budget of the next period, less what was overrun.
    pub fn replenish(&mut self, now: Nanos) {
        let params = self.params();
        if self.own.deadline == 0 {
            self.replenish_new_period(now);
        }
        if self.yielded && self.runtime > 0 {
            self.runtime = 0;
        }
        if self.runtime <= 0 && params.runtime > 0 {
            let periods = self.runtime.unsigned_abs() / params.runtime + 1;
            self.deadline = self.deadline.saturating_add(periods.saturating_mul(params.period));
            self.runtime += (periods * params.runtime) as i64;
        }
        if self.deadline < now {
            self.replenish_new_period(now);
        }
        (self.yielded, self.throttled) = (false, false);
    }

    /// `dl_entity_overflow`: whether what is left of the budget, used up to the deadline, is more than was reserved.
    fn overflows(&self, now: Nanos) -> bool {
        let params = self.params();
        let scaled = |time: Nanos| u128::from(time >> DL_SCALE);
        let left = scaled(params.deadline) * scaled(self.runtime.max(0) as Nanos);
        let right = scaled(self.deadline - now) * scaled(params.runtime);
        right < left
    }

    /// `update_dl_entity`: the rule at a wakeup. Budget and deadline stay if they fit the reservation; else both are
    /// new, or, where the deadline is shorter than the period, the budget shrinks (`update_dl_revised_wakeup`).
    pub fn update_at_wakeup(&mut self, now: Nanos) {
        // The kernel compares with `<`, but never wakes a task at the very instant of its timer, as happens here.
        let past = self.deadline <= now;
        if !past && !self.overflows(now) {
            return;
        }
        if past || self.is_implicit() || self.boost.is_some() {
            self.replenish_new_period(now);
            return;
        }
        let laxity = u128::from(self.deadline - now);
        self.runtime = ((u128::from(self.density) * laxity) >> BW_SHIFT) as i64;
    }

    /// When a task that sleeps has used up what it would have been due by then: the 0-lag time, possibly long past.
    pub fn zero_lag(&self) -> i128 {
        let left = i128::from(self.runtime) * i128::from(self.own.period);
        i128::from(self.deadline) - left / i128::from(self.own.runtime.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MSEC;

    /// 4 ms within `deadline` of every 20 ms, full budget at 0.
    fn entity(deadline: Nanos) -> DlEntity {
        let mut entity = DlEntity::default();
        entity.set_params(DlParams { runtime: 4 * MSEC, deadline, period: 20 * MSEC });
        entity.replenish_new_period(0);
        entity
    }

    #[test]
    fn a_wakeup_keeps_budget_and_deadline_if_they_fit() {
        // 1 ms of 10 left is half of what 4 of 20 would be; 3 ms of 10 is too much.
        for (left, expected) in [(1, (MSEC, 20 * MSEC)), (3, (4 * MSEC, 30 * MSEC))] {
            let mut entity = DlEntity { runtime: left * MSEC as i64, ..entity(20 * MSEC) };
            entity.update_at_wakeup(10 * MSEC);
            assert_eq!((entity.runtime as Nanos, entity.deadline), expected);
        }
    }

    #[test]
    fn a_wakeup_at_the_deadline_begins_a_new_period() {
        // Less than the kernel's unit of 1024 ns is left, which alone would not count.
        let mut entity = DlEntity { runtime: 1000, ..entity(20 * MSEC) };
        entity.update_at_wakeup(20 * MSEC);
        assert_eq!((entity.runtime, entity.deadline), (4 * MSEC as i64, 40 * MSEC));
    }

    #[test]
    fn a_constrained_task_gets_less_budget_instead_of_a_later_deadline() {
        // 4 ms within 10 ms: with 5 ms to go 2 ms are left of the density, whatever the budget was.
        let mut entity = entity(10 * MSEC);
        entity.update_at_wakeup(5 * MSEC);
        assert_eq!((entity.runtime, entity.deadline), (1_999_998, 10 * MSEC));
    }

    #[test]
    fn an_overrun_is_paid_back_and_a_yield_gives_up_the_rest() {
        let mut overrun = DlEntity { runtime: -5 * MSEC as i64, ..entity(20 * MSEC) };
        overrun.replenish(20 * MSEC);
        assert_eq!((overrun.runtime, overrun.deadline), (3 * MSEC as i64, 60 * MSEC));
        let mut yielded = DlEntity { runtime: MSEC as i64, yielded: true, ..entity(20 * MSEC) };
        yielded.replenish(20 * MSEC);
        assert_eq!((yielded.runtime, yielded.deadline), (4 * MSEC as i64, 40 * MSEC));
    }

    #[test]
    fn the_bandwidth_of_a_sleeper_counts_up_to_its_zero_lag_time() {
        let entity = DlEntity { runtime: MSEC as i64, ..entity(20 * MSEC) };
        assert_eq!(entity.zero_lag(), i128::from(15 * MSEC));
    }
}
