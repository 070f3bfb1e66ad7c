// SPDX-License-Identifier: MIT OR Apache-2.0
//! Estimated utilisation: what a task needed at the end of its activations, remembered while it sleeps (`util_est`).

use super::SchedAvg;
use crate::units::CAPACITY_SCALE;

/// Changes below this (about 1 %) are noise (`UTIL_EST_MARGIN`).
const UTIL_EST_MARGIN: u32 = (CAPACITY_SCALE / 100) as u32;

/// A new sample weighs 1/4 (`UTIL_EST_WEIGHT_SHIFT`).
const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

impl SchedAvg {
    /// What placement and frequency choice take a task to need (`task_util_est`).
    #[inline]
    pub fn task_util_est(&self) -> u64 {
        self.util_avg.max(u64::from(self.util_est))
    }

    /// What the fair tasks of a CPU of `capacity` use, sleepers that will be back included, 0..=`capacity`; for a run
    /// queue (`cpu_util_cfs`).
    #[inline]
    pub fn cpu_util_cfs(&self, capacity: u64) -> u64 {
        self.task_util_est().min(capacity)
    }

    /// What the fair tasks of a CPU of `capacity` use, for the choice of a clock: tasks that wait for each other count too,
    /// 0..=`capacity` (`cpu_util_cfs_boost`).
    #[inline]
    pub fn cpu_util_cfs_boost(&self, capacity: u64) -> u64 {
        self.task_util_est().max(self.runnable_avg).min(capacity)
    }

    /// Adds the estimate of `task` to that of this run queue, at enqueue (`util_est_enqueue`).
    #[inline]
    pub fn util_est_enqueue(&mut self, task: &SchedAvg) {
        self.util_est = self.util_est.saturating_add(task.util_est);
    }

    /// Takes the estimate of `task` off that of this run queue, at dequeue and before
    /// [`SchedAvg::util_est_update`] changes it (`util_est_dequeue`).
    #[inline]
    pub fn util_est_dequeue(&mut self, task: &SchedAvg) {
        self.util_est = self.util_est.saturating_sub(task.util_est);
    }

    /// Takes the end of an activation into the task's estimate (`util_est_update`). Call when it goes to sleep, with
    /// its record up to date, and not when it migrates.
    ///
    /// An increase counts at once, a decrease by a quarter. A task that got less CPU time than it wanted
    /// (`runnable_avg` well above `util_avg`) keeps its estimate.
    #[inline]
    pub fn util_est_update(&mut self, cpu_capacity: u64) {
        if self.util_unchanged {
            return;
        }
        let dequeued = self.util_avg as u32;
        if self.util_est > dequeued && u64::from(dequeued) > cpu_capacity && self.util_est - dequeued >= UTIL_EST_MARGIN
        {
            // Too big for this CPU: what it would have used cannot be known.
            return;
        }
        self.util_est = self.next_estimate(dequeued);
        self.util_unchanged = true;
    }

    fn next_estimate(&self, dequeued: u32) -> u32 {
        let ewma = self.util_est;
        if ewma <= dequeued {
            return dequeued;
        }
        let diff = ewma - dequeued;
        if diff < UTIL_EST_MARGIN || u64::from(dequeued + UTIL_EST_MARGIN) < self.runnable_avg {
            return ewma;
        }
        ((ewma << UTIL_EST_WEIGHT_SHIFT) - diff) >> UTIL_EST_WEIGHT_SHIFT
    }
}
