// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU looks for work (`balance_scx`, `pick_task_scx`).

use super::Ctx;
use super::abi::profile::SCX_SLICE_DFL;
use super::enable::SCX_OPS_ENQ_LAST;
use super::kick::KICK_IDLE;
use super::ops::Op;
use crate::units::{CpuId, TaskId};

/// `SCX_DSP_MAX_LOOPS`: rounds of `ops.dispatch` before the CPU is left to others for a moment.
const SCX_DSP_MAX_LOOPS: u32 = 32;

impl Ctx<'_> {
    /// `balance_scx`: brings a task into the local queue of `cpu`, or says that `prev`, its current task of any class, is
    /// to be kept; whether there is one. (Siblings are looked after only with core scheduling, which is left out.)
    pub fn balance_scx(&mut self, cpu: CpuId, prev: Option<TaskId>) -> bool {
        self.scx.calls.set_this_cpu(cpu);
        self.scx.rqs[cpu].in_balance = true;
        let found = self.balance_one(cpu, prev);
        if found && self.scx.rqs[cpu].nr_immed > 0 && self.scx.dsqs.local_nr(cpu) > 1 {
            // While it looked for work, tasks that shall run at once were let in without knowing which others would come.
            self.scx.rqs.schedule_reenq_local(cpu, 0);
        }
        self.scx.rqs[cpu].in_balance = false;
        found
    }

    fn balance_one(&mut self, cpu: CpuId, prev: Option<TaskId>) -> bool {
        let rq = &mut self.scx.rqs[cpu];
        (rq.bal_pending, rq.bal_keep) = (false, false);
        if rq.cpu_released {
            self.call_op(Op::CpuAcquire, cpu, Some(cpu), [None; 2], &[u64::from(cpu.0), 0]);
            self.scx.rqs[cpu].cpu_released = false;
        }
        // `prev`, if it is of the class; and if it is still runnable, too.
        let prev = prev.filter(|prev| self.kernel.task(*prev).is_ext());
        let runnable = prev.filter(|prev| self.scx.tasks[*prev].queued());
        if prev.is_some() {
            self.update_curr_scx(cpu);
            if runnable.is_some_and(|prev| self.task(prev).slice() > 0) && !self.scx.rqs[cpu].bypassing {
                return self.scx.rqs[cpu].keep_prev();
            }
        }
        if self.scx.dsqs.local_nr(cpu) > 0 || self.consume_global_dsq(cpu) {
            return true;
        }
        let asks = self.scx.ops.has(Op::Dispatch) && !self.scx.rqs[cpu].bypassing && self.scx.rqs[cpu].online;
        if asks && self.dispatch_loop(cpu, prev, runnable) {
            return true;
        }
        let enq_last = self.scx.ops.flags & SCX_OPS_ENQ_LAST != 0;
        if runnable.is_some() && (!enq_last || self.scx.rqs[cpu].bypassing) {
            return self.scx.rqs[cpu].keep_prev();
        }
        false
    }

    /// Asks `ops.dispatch` until there is a task or it gives none; whether there is one.
    fn dispatch_loop(&mut self, cpu: CpuId, prev: Option<TaskId>, runnable: Option<TaskId>) -> bool {
        self.scx.buffers.set_rq(cpu, cpu);
        let prev = prev.map_or(0, |prev| self.scx.guest.task(prev));
        for round in 1.. {
            *self.scx.buffers.nr_tasks_mut(cpu) = 0;
            self.call_op(Op::Dispatch, cpu, Some(cpu), [None; 2], &[u64::from(cpu.0), prev]);
            self.flush_dispatch_buf(cpu);
            if runnable.is_some_and(|prev| self.task(prev).slice() > 0) {
                return self.scx.rqs[cpu].keep_prev();
            }
            if self.scx.dsqs.local_nr(cpu) > 0 || self.consume_global_dsq(cpu) {
                return true;
            }
            if round == SCX_DSP_MAX_LOOPS {
                // What it dispatches is never for this CPU: time must go on.
                self.scx_bpf_kick_cpu(cpu.0 as i32, 0);
                return false;
            }
            if *self.scx.buffers.nr_tasks_mut(cpu) == 0 {
                return false;
            }
        }
        false
    }

    /// `pick_task_scx`: the task that runs next on `cpu`, as [`Ctx::balance_scx`] found; it stays in the local queue
    /// until it does.
    ///
    /// The kernel warns once, in its log, of a task without slice; here there is no log.
    pub fn pick_task_scx(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.scx.calls.set_this_cpu(cpu);
        let prev = self.kernel.rq(cpu).curr;
        let mut keep = prev.filter(|prev| self.scx.rqs[cpu].bal_keep && self.kernel.task(*prev).is_ext());
        let mut kick_idle = false;
        if self.scx.rqs[cpu].bal_pending {
            // Another class said that it had a task, so that this one did not look, and then had none.
            keep = prev.filter(|prev| self.scx.tasks[*prev].queued());
            kick_idle = keep.is_none();
        }
        let Some(task) = keep.or_else(|| self.scx.dsqs.first(self.scx.dsqs.local(cpu))) else {
            if kick_idle {
                self.scx_bpf_kick_cpu(cpu.0 as i32, KICK_IDLE);
            }
            return None;
        };
        if self.task(task).slice() == 0 {
            self.task(task).set_slice(SCX_SLICE_DFL);
        }
        Some(task)
    }
}
