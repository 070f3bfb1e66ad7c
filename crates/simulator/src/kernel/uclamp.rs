// SPDX-License-Identifier: MIT OR Apache-2.0
//! Utilisation clamps of all classes that have them: fair, real-time, and a loaded scheduler's (`uclamp_enabled`).
//!
//! Fair tasks are found in their queue when somebody asks; the others that are runnable are noted here, from the moment on
//! that some task asks for a clamp (`sched_uclamp_used`), as in the kernel.

use super::Kernel;
use super::task::Task;
use crate::units::{CAPACITY_SCALE, CpuId, TaskId};
use crate::workload::{Policy, Scheduling};

impl Scheduling {
    /// Whether it asks for a clamp.
    pub(crate) fn has_clamps(&self) -> bool {
        self.util_min.is_some() || self.util_max.is_some()
    }
}

impl Task {
    /// `uclamp_eff_value` of both clamps, 0..=1024. The lower one of a real-time task is the highest, unless it asks for
    /// another (`sched_util_clamp_min_rt_default`). The task's group bounds both.
    pub fn uclamp_eff_value(&self) -> (u64, u64) {
        let Scheduling { policy, util_min, util_max } = self.scheduling;
        let is_rt = matches!(policy, Policy::Fifo { .. } | Policy::RoundRobin { .. });
        let max = util_max.map_or(CAPACITY_SCALE, u64::from);
        let min = util_min.map_or(if is_rt { CAPACITY_SCALE } else { 0 }, u64::from);
        self.uclamp_tg_restrict((min.min(max), max))
    }
}

impl Kernel {
    /// `uclamp_rq_inc` of a task above or below fair: it is runnable on `cpu` now.
    #[inline]
    pub fn uclamp_rq_inc(&mut self, cpu: CpuId, task: TaskId) {
        if self.uclamp_used {
            self.rqs[cpu.index()].uclamp_others.push(task);
        }
    }

    /// `uclamp_rq_dec` of such a task. It may have been there before clamps were used.
    #[inline]
    pub fn uclamp_rq_dec(&mut self, cpu: CpuId, task: TaskId) {
        if self.uclamp_used {
            let others = &mut self.rqs[cpu.index()].uclamp_others;
            if let Some(place) = others.iter().position(|other| *other == task) {
                others.swap_remove(place);
            }
        }
    }
}
