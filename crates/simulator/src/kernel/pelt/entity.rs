// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks: their own record, and how it enters and leaves that of a run queue (the PELT part of
//! `kernel/sched/fair.c`).

use super::{PELT_MIN_DIVIDER, SchedAvg};
use crate::units::Nanos;

/// What a task did since its last update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Slept: off the run queue.
    Blocked,
    /// Waited for the CPU.
    Queued,
    /// Slept, but stayed on the run queue until its lag is paid (`sched_delayed`): weighs, is not runnable.
    Delayed,
    /// Ran.
    Running,
}

/// The utilisation a new task starts with (`post_init_entity_util_avg`), 0..=`cpu_capacity`/2.
///
/// In proportion to its weight if others are on the queue, at most half of what the CPU has left, and `inherited`
/// (0 for a fork) where nothing is left.
pub fn post_init_entity_util_avg(queue: &SchedAvg, weight: u64, cpu_capacity: u64, inherited: u64) -> u64 {
    let cap = cpu_capacity.saturating_sub(queue.util_avg) / 2;
    if cap == 0 {
        return inherited;
    }
    if queue.util_avg == 0 {
        return cap;
    }
    (queue.util_avg * weight / (queue.load_avg + 1)).min(cap)
}

impl SchedAvg {
    /// The record of a new task, heavy until it has shown what it is (`init_entity_runnable_average`).
    pub fn of_new_task(weight: u64) -> Self {
        Self { load_avg: weight, ..Self::default() }
    }

    /// Gives a new task its first utilisation; to be attached next.
    pub fn start_with_util(&mut self, util: u64) {
        self.util_avg = util;
        self.runnable_avg = util;
    }

    /// Updates a task's own record (`__update_load_avg_se`); returns whether the averages changed.
    ///
    /// With [`Activity::Blocked`] it is what an enqueue does about the sleep that ends: an activation has begun.
    #[inline]
    pub fn update_load_avg_se(&mut self, now: Nanos, weight: u64, activity: Activity) -> bool {
        let on_rq = activity != Activity::Blocked;
        let runnable = on_rq && activity != Activity::Delayed;
        let running = activity == Activity::Running;
        if !self.update_load_sum(now, u64::from(on_rq), u64::from(runnable), running) {
            return false;
        }
        self.update_averages(weight);
        self.util_unchanged = false;
        true
    }

    /// Ages the record of a task that goes on sleeping (`__update_load_avg_blocked_se`); returns whether the averages
    /// changed. Unlike an enqueue it says nothing to [`SchedAvg::util_est_update`].
    #[inline]
    pub fn update_load_avg_blocked_se(&mut self, now: Nanos, weight: u64) -> bool {
        let due = self.update_load_sum(now, 0, 0, false);
        if due {
            self.update_averages(weight);
        }
        due
    }

    /// Whether some run queue's record includes this task.
    #[inline]
    pub fn is_attached(&self) -> bool {
        self.attached
    }

    /// Adds `task` to this run queue's record (`attach_entity_load_avg`). Update the run queue first.
    pub fn attach_entity(&mut self, task: &mut SchedAvg, weight: u64) {
        // Both must decay in step from here on, so the task's sums are made anew for the queue's place in the period.
        task.last_update_time = self.last_update_time;
        task.period_contrib = self.period_contrib;
        let divider = self.divider();
        task.util_sum = saturate(task.util_avg * divider);
        task.runnable_sum = task.runnable_avg * divider;
        let load = task.load_avg * divider;
        task.load_sum = if weight < load { load / weight } else { 1 };
        task.attached = true;

        self.enqueue_load_avg(task, weight);
        self.util_avg += task.util_avg;
        self.util_sum = self.util_sum.saturating_add(task.util_sum);
        self.runnable_avg += task.runnable_avg;
        self.runnable_sum += task.runnable_sum;
    }

    /// Takes `task` out of this run queue's record (`detach_entity_load_avg`). Update both first.
    pub fn detach_entity(&mut self, task: &mut SchedAvg, weight: u64) {
        self.dequeue_load_avg(task, weight);
        self.util_avg = self.util_avg.saturating_sub(task.util_avg);
        self.util_sum = self.util_sum.saturating_sub(task.util_sum);
        self.runnable_avg = self.runnable_avg.saturating_sub(task.runnable_avg);
        self.runnable_sum = self.runnable_sum.saturating_sub(task.runnable_sum);
        self.keep_sums_above_averages();
        task.attached = false;
    }

    /// Takes a sleeping `task` out of this run queue's record, as its wakeup on another CPU or its exit does
    /// (`remove_entity_load_avg` and what `update_cfs_rq_load_avg` then makes of it).
    ///
    /// The kernel defers the subtraction to the run queue's next update; here it happens at once.
    pub fn remove_entity(&mut self, task: &mut SchedAvg, weight: u64) {
        task.update_load_avg_blocked_se(self.last_update_time, weight);
        let divider = self.divider();
        self.load_avg = self.load_avg.saturating_sub(task.load_avg);
        self.load_sum = self.load_sum.saturating_sub(task.load_avg * divider);
        self.load_sum = self.load_sum.max(self.load_avg * PELT_MIN_DIVIDER);
        self.util_avg = self.util_avg.saturating_sub(task.util_avg);
        self.util_sum = self.util_sum.saturating_sub(saturate(task.util_avg * divider));
        self.runnable_avg = self.runnable_avg.saturating_sub(task.runnable_avg);
        self.runnable_sum = self.runnable_sum.saturating_sub(task.runnable_avg * divider);
        self.keep_sums_above_averages();
        task.attached = false;
    }

    /// Changes the weight of `task`, which this run queue's record includes (the PELT part of `reweight_entity`).
    pub fn reweight_entity(&mut self, task: &mut SchedAvg, old_weight: u64, new_weight: u64) {
        self.dequeue_load_avg(task, old_weight);
        task.load_avg = new_weight * task.load_sum / task.divider();
        self.enqueue_load_avg(task, new_weight);
    }

    /// Changes the weight of a task that no run queue's record includes: its load follows, or it would be attached with a
    /// load that its weight cannot have.
    pub fn reweight_detached(&mut self, new_weight: u64) {
        self.load_avg = new_weight * self.load_sum / self.divider();
    }

    fn enqueue_load_avg(&mut self, task: &SchedAvg, weight: u64) {
        self.load_avg += task.load_avg;
        self.load_sum += weight * task.load_sum;
    }

    fn dequeue_load_avg(&mut self, task: &SchedAvg, weight: u64) {
        self.load_avg = self.load_avg.saturating_sub(task.load_avg);
        self.load_sum = self.load_sum.saturating_sub(weight * task.load_sum);
        self.load_sum = self.load_sum.max(self.load_avg * PELT_MIN_DIVIDER);
    }

    /// Rounding can leave a sum below what its average needs; many detached tasks would then empty it.
    pub(super) fn keep_sums_above_averages(&mut self) {
        self.util_sum = self.util_sum.max(saturate(self.util_avg * PELT_MIN_DIVIDER));
        self.runnable_sum = self.runnable_sum.max(self.runnable_avg * PELT_MIN_DIVIDER);
    }
}

pub(super) fn saturate(sum: u64) -> u32 {
    u32::try_from(sum).unwrap_or(u32::MAX)
}
