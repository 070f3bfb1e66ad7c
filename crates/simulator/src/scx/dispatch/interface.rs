// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel functions of programs come down to; whether they may be called there is checked before.

use super::super::Ctx;
use super::super::abi::profile::{SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_CPU_MASK, SCX_DSQ_LOCAL_ON};
use super::super::dsq::iter::DsqIter;
use super::super::errno::ENOENT;
use crate::units::{CpuId, TaskId};

impl Ctx<'_> {
    /// `scx_bpf_consume`, later `scx_bpf_dsq_move_to_local`: carries out the buffer, then takes a task from the scheduler's
    /// queue `dsq_id`.
    pub fn scx_bpf_consume(&mut self, dsq_id: u64, enq_flags: u64) -> bool {
        let Some(enq_flags) = self.accept(self.scx.vet_enq_flags(SCX_DSQ_LOCAL, enq_flags)) else { return false };
        let this_cpu = self.scx.calls.this_cpu();
        let rq = self.scx.buffers.rq(this_cpu);
        self.flush_dispatch_buf(rq);
        let Some(dsq) = self.scx.dsqs.find_user_dsq(dsq_id) else {
            self.ops_error(format!("invalid DSQ ID 0x{dsq_id:016x}"));
            return false;
        };
        let consumed = self.consume_dispatch_q(rq, dsq, enq_flags);
        *self.scx.buffers.nr_tasks_mut(this_cpu) += u32::from(consumed);
        consumed
    }

    /// `scx_bpf_dsq_nr_queued`: tasks in a queue, or a negative errno.
    pub fn dsq_nr_queued(&mut self, dsq_id: u64) -> i64 {
        let dsqs = &self.scx.dsqs;
        let dsq = if dsq_id == SCX_DSQ_LOCAL {
            Some(dsqs.local(self.scx.calls.this_cpu()))
        } else if dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let cpu = self.ops_cpu_valid((dsq_id & SCX_DSQ_LOCAL_CPU_MASK) as i32, None);
            cpu.map(|cpu: CpuId| self.scx.dsqs.local(cpu))
        } else {
            dsqs.find_user_dsq(dsq_id)
        };
        dsq.map_or(-ENOENT, |dsq| i64::from(self.scx.dsqs.nr(dsq)))
    }

    /// `scx_dispatch_from_dsq`: moves `task` from the queue that `iter` walks to another at once, with a new slice and
    /// virtual time if there are any; whether it was still there. (What was set before is to be forgotten either way.)
    pub fn dispatch_from_dsq(
        &mut self,
        iter: DsqIter,
        task: TaskId,
        dsq_id: u64,
        enq_flags: u64,
        (slice, vtime): (Option<u64>, Option<u64>),
    ) -> bool {
        let Some(enq_flags) = self.accept(self.scx.vet_enq_flags(dsq_id, enq_flags)) else { return false };
        if !self.scx.dsqs.iter_sees(iter, task) {
            return false;
        }
        let dst = self.find_dsq_for_dispatch(self.scx.calls.this_cpu(), dsq_id, task);
        if let Some(vtime) = vtime {
            self.scx.guest.set_dsq_vtime(&mut self.vm.memory, task, vtime);
        }
        if let Some(slice) = slice {
            self.task(task).set_slice(slice);
        }
        self.move_task_between_dsqs(task, enq_flags, dst);
        true
    }
}
