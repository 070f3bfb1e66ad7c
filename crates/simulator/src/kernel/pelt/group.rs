// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task groups: the record of a group on one CPU, and how what its queue gains or loses shows in the queue above
//! (`propagate_entity_load_avg` and what it calls in `kernel/sched/fair.c`).

use super::{PELT_MIN_DIVIDER, SchedAvg, entity};
use crate::units::{CAPACITY_SCALE, Nanos};

impl SchedAvg {
    /// Updates a group's own record (`__update_load_avg_se`), of which `runnable` tasks could run; returns whether the averages
    /// changed.
    pub fn update_load_avg_group_se(
        &mut self,
        now: Nanos,
        weight: u64,
        on_rq: bool,
        runnable: u64,
        running: bool,
    ) -> bool {
        let due = self.update_load_sum(now, u64::from(on_rq), runnable, running);
        if due {
            self.update_averages(weight);
        }
        due
    }

    /// What leaves with a sleeping task of a queue with this record, as time on the queue: what `update_cfs_rq_load_avg` makes of
    /// `removed_runnable`.
    pub fn removed_runnable_sum(&self, task: &Self) -> i64 {
        -((task.runnable_avg * self.divider()) as i64 >> CAPACITY_SCALE.ilog2())
    }

    /// A group's utilisation and runnable time become those of its queue `group`, and this queue's, which has the group's entity
    /// `se`, change by as much (`update_tg_cfs_util`, `update_tg_cfs_runnable`).
    pub fn update_tg_cfs_util_and_runnable(&mut self, se: &mut Self, group: &Self) {
        let divider = self.divider();
        if group.util_avg != se.util_avg {
            self.util_avg = changed(self.util_avg, se.util_avg, group.util_avg);
            se.util_avg = group.util_avg;
            let sum = entity::saturate(se.util_avg * divider);
            let changed = changed(u64::from(self.util_sum), u64::from(se.util_sum), u64::from(sum));
            (se.util_sum, self.util_sum) = (sum, entity::saturate(changed));
        }
        if group.runnable_avg != se.runnable_avg {
            self.runnable_avg = changed(self.runnable_avg, se.runnable_avg, group.runnable_avg);
            se.runnable_avg = group.runnable_avg;
            let sum = se.runnable_avg * divider;
            self.runnable_sum = changed(self.runnable_sum, se.runnable_sum, sum);
            se.runnable_sum = sum;
        }
        self.keep_sums_above_averages();
    }

    /// A group's load follows what its queue, with the record `group` and entities of `group_weight` in all, gained or lost
    /// (`update_tg_cfs_load`): `runnable_sum`, as time on the queue. `weight` is that of the group's entity `se` in this queue.
    pub fn update_tg_cfs_load(
        &mut self,
        se: &mut Self,
        weight: u64,
        (group, group_weight): (&Self, u64),
        runnable_sum: i64,
    ) {
        if runnable_sum == 0 {
            return;
        }
        let divider = self.divider();
        let estimated = match u64::try_from(runnable_sum) {
            // Clipped: until the CPU is saturated, what is runnable runs.
            Ok(gained) => (gained + se.load_sum).min(divider),
            // As if all its tasks were equally runnable, and not more than before.
            Err(_) => group.load_sum.checked_div(group_weight).unwrap_or(0).min(se.load_sum),
        };
        let load_sum = estimated.max(u64::from(se.util_sum) >> CAPACITY_SCALE.ilog2());
        let load_avg = weight * load_sum / divider;
        if load_avg == se.load_avg {
            return;
        }
        self.load_avg = changed(self.load_avg, se.load_avg, load_avg);
        self.load_sum = changed(self.load_sum, weight * se.load_sum, weight * load_sum);
        self.load_sum = self.load_sum.max(self.load_avg * PELT_MIN_DIVIDER);
        (se.load_sum, se.load_avg) = (load_sum, load_avg);
    }

    /// Whether nothing is left in it (`load_avg_is_decayed`).
    pub fn is_decayed(&self) -> bool {
        self.load_sum == 0 && self.util_sum == 0 && self.runnable_sum == 0
    }
}

/// `sum` with its part `old` become `new` (`add_positive`).
fn changed(sum: u64, old: u64, new: u64) -> u64 {
    (sum + new).saturating_sub(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_shows_what_its_queue_gained() {
        // A task of half a CPU came to the group's queue, which had nothing; the queue above has something of its own.
        let mut above = SchedAvg { util_avg: 100, util_sum: 100 * PELT_MIN_DIVIDER as u32, ..SchedAvg::default() };
        let mut se = SchedAvg::default();
        let group = SchedAvg { util_avg: 512, runnable_avg: 600, load_sum: 0, ..SchedAvg::default() };
        above.update_tg_cfs_util_and_runnable(&mut se, &group);
        assert_eq!((above.util_avg, above.runnable_avg, se.util_avg, se.runnable_avg), (612, 600, 512, 600));
        assert_eq!(u64::from(above.util_sum), 612 * PELT_MIN_DIVIDER);
        // On the queue half of the time, with half of the weight of nice 0.
        above.update_tg_cfs_load(&mut se, 512, (&group, 1024), (PELT_MIN_DIVIDER / 2) as i64);
        assert_eq!((se.load_avg, above.load_avg), (256, 256));
    }

    #[test]
    fn a_group_that_lost_a_task_has_what_its_queue_has_left() {
        let mut above = SchedAvg { load_avg: 1024, load_sum: 1024 * PELT_MIN_DIVIDER, ..SchedAvg::default() };
        let mut se = SchedAvg { load_avg: 1024, load_sum: PELT_MIN_DIVIDER, ..SchedAvg::default() };
        // One task of nice 0 is left, a quarter of the time.
        let group = SchedAvg { load_sum: 1024 * PELT_MIN_DIVIDER / 4, ..SchedAvg::default() };
        above.update_tg_cfs_load(&mut se, 1024, (&group, 1024), -1);
        assert_eq!((se.load_avg, above.load_avg), (256 - 1, 256 - 1), "rounded down: {}", PELT_MIN_DIVIDER / 4);
    }
}
