// SPDX-License-Identifier: MIT OR Apache-2.0
//! While a scheduler must not be asked (`scx_ops_bypass`).
//!
//! Bypassed, tasks make progress without their scheduler: the built-in choice of a CPU, one first-in first-out queue, a
//! turn that ends at every tick. The code that would ask the scheduler looks at
//! [`ScxRq::bypassing`](super::rq::ScxRq::bypassing). (7.x keeps the queue per CPU, moves tasks between the CPUs now and
//! then, and gives turns of 5 ms; here 6.12's way holds for both, which only the short time of loading and unloading
//! shows.)

use super::Ctx;
use super::abi::profile::{DEQUEUE_MOVE, DEQUEUE_SAVE};
use crate::units::{CpuId, TaskId};

/// Whether the scheduler is bypassed.
#[derive(Debug, Default)]
pub struct Bypass {
    /// How often it was asked for and not taken back (`scx_ops_bypass_depth`).
    depth: u32,
}

impl Bypass {
    /// Counts one more or one fewer wish to bypass; true if the bypass begins or ends with that.
    fn nest(&mut self, bypass: bool) -> bool {
        if bypass {
            self.depth += 1;
            return self.depth == 1;
        }
        debug_assert!(self.depth > 0, "a bypass ends that never began");
        self.depth = self.depth.saturating_sub(1);
        self.depth == 0
    }
}

impl Ctx<'_> {
    /// Begins or ends a bypass; calls nest (`scx_ops_bypass`). Every queued task goes through its queue once, so that it
    /// stands where the new state wants it, and every CPU reschedules.
    pub fn scx_ops_bypass(&mut self, bypass: bool) {
        if !self.scx.bypass.nest(bypass) {
            return;
        }
        for cpu in (0..self.kernel.topology.nr_cpus).map(CpuId::at) {
            self.scx.rqs[cpu].bypassing = bypass;
            if !self.scx.enable.enabled {
                continue;
            }
            // The last first, as each goes to the tail of the list.
            for task in self.scx.rqs[cpu].runnable_list(&self.scx.tasks).into_iter().rev() {
                self.cycle(task);
            }
            if self.kernel.topology.online.test(cpu) {
                self.kernel.resched_curr(cpu);
            }
        }
    }

    /// Takes a task off its queue and puts it back.
    pub(super) fn cycle(&mut self, task: TaskId) {
        let put = self.sched_deq_and_put_task(task, DEQUEUE_SAVE | DEQUEUE_MOVE);
        self.sched_enq_and_set_task(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_begin_and_end_count() {
        let mut bypass = Bypass::default();
        assert_eq!(
            [bypass.nest(true), bypass.nest(true), bypass.nest(false), bypass.nest(false)],
            [true, false, false, true]
        );
        assert!(bypass.nest(true), "it can begin again");
    }
}
