// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a CPU can do without its tick (`sched_can_stop_tick`), and what is done for it then (`sched_tick_remote`).

use super::core::{Sched, class_of};
use super::ext::loaded;
use crate::kernel::class::SchedClass;
use crate::kernel::task::ClassId;
use crate::units::CpuId;
use crate::workload::Policy;

impl Sched {
    /// `sched_can_stop_tick`: whether nothing on `cpu` needs a tick.
    pub fn sched_can_stop_tick(&mut self, cpu: CpuId) -> bool {
        if self.kernel.rq(cpu).dl_nr_running > 0 {
            return false;
        }
        if self.kernel.rq(cpu).rt_nr_running > 0 {
            let round_robin = |policy| matches!(policy, Policy::RoundRobin { .. });
            let queued = self.rt.queued_on(cpu).filter(|task| round_robin(self.kernel.task(*task).scheduling.policy));
            return queued.count() <= 1;
        }
        if self.kernel.scx_enabled() && !loaded(&mut self.ext).with(&mut self.kernel).scx_can_stop_tick(cpu) {
            return false;
        }
        if self.fair.queue(cpu).h_nr_queued > 1 {
            return false;
        }
        self.kernel.rq(cpu).curr.is_none_or(|curr| !self.fair.cfs_task_bw_constrained(curr))
    }

    /// `sched_tick_remote`: another CPU does what the tick of `cpu` would, but for balancing.
    pub fn tick_remote(&mut self, cpu: CpuId) {
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        self.kernel.update_rq_clock(cpu);
        class_of!(self, curr, task_tick, cpu, curr);
    }
}
