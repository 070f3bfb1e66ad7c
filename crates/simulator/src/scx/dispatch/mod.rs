// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks go into and between dispatch queues (`scx_dispatch_commit`, `finish_dispatch`).
//!
//! - [`queues`]: into and out of one queue. This file: what follows from that. [`direct`]: dispatched while being enqueued.
//!   [`buffer`]: dispatched by `ops.dispatch`, carried out later. `transfer`: from queue to queue, and between CPUs.
//!   [`interface`]: what the kernel functions of programs come down to.

pub mod buffer;
pub mod direct;
pub mod interface;
pub mod queues;
mod transfer;

pub use buffer::DispatchBuffers;

use super::Ctx;
use super::abi::profile::{
    SCX_DSQ_FLAG_BUILTIN, SCX_DSQ_GLOBAL, SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_CPU_MASK, SCX_DSQ_LOCAL_ON, SCX_ENQ_CLEAR_OPSS,
    SCX_ENQ_DSQ_PRIQ, SCX_ENQ_PREEMPT, SCX_TASK_IMMED, SCX_TASK_IN_CUSTODY,
};
use super::dsq::{DsqRef, Mixed};
use super::entity::OpsState;
use crate::kernel::paths::{DSQ_INSERT, DSQ_INSERT_PER_LEVEL, DSQ_INSERT_VTIME};
use crate::units::{CpuId, TaskId};

impl Ctx<'_> {
    /// `find_dsq_for_dispatch`: the queue `id` for `task`, with `cpu` as the one whose local queue is meant by
    /// `SCX_DSQ_LOCAL`. If there is none it is an error, and the global queue.
    pub(super) fn find_dsq_for_dispatch(&mut self, cpu: CpuId, id: u64, task: TaskId) -> DsqRef {
        if id == SCX_DSQ_LOCAL {
            return self.scx.dsqs.local(cpu);
        }
        if id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let number = (id & SCX_DSQ_LOCAL_CPU_MASK) as i32;
            return match self.ops_cpu_valid(number, Some("in SCX_DSQ_LOCAL_ON dispatch verdict")) {
                Some(cpu) => self.scx.dsqs.local(cpu),
                None => self.scx.dsqs.global_of(self.kernel, task),
            };
        }
        if id == SCX_DSQ_GLOBAL {
            return self.scx.dsqs.global_of(self.kernel, task);
        }
        if let Some(dsq) = self.scx.dsqs.find_user_dsq(id) {
            return dsq;
        }
        let name = self.task(task).comm_pid();
        self.ops_error(format!("non-existent DSQ {id:#x} for {name}"));
        self.scx.dsqs.global_of(self.kernel, task)
    }

    /// `local_dsq_post_enq`, and `dsq_inc_nr` before it: `task` came into the local queue of `cpu`, which may have to
    /// reschedule for it. If the task shall run at once and cannot, it is given back.
    fn local_dsq_post_enq(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64) {
        if enq_flags & self.scx.profile.enq_immed() != 0 {
            self.task(task).change_flags(0, SCX_TASK_IMMED);
        }
        if self.scx.tasks[task].flags & SCX_TASK_IMMED != 0 {
            self.queues().count_immed(cpu, enq_flags);
        }
        self.call_task_dequeue(task, 0);
        if self.scx.rqs[cpu].in_balance {
            // It is about to look there.
            return;
        }
        match self.kernel.rq(cpu).curr {
            None => self.kernel.resched_curr(cpu),
            Some(curr) if enq_flags & SCX_ENQ_PREEMPT != 0 && curr != task && self.kernel.task(curr).is_ext() => {
                self.task(curr).set_slice(0);
                self.kernel.resched_curr(cpu);
            }
            Some(_) => {}
        }
    }

    /// `cpu` executes so many instructions with the lock of `dsq` held, unless that is a local queue, which has none.
    pub(super) fn takes_dsq_lock(&mut self, dsq: DsqRef, cpu: CpuId, instructions: u32) {
        if let Some(lock) = self.scx.dsqs.lock(dsq) {
            self.kernel.executes_locked(cpu, lock, instructions);
        }
    }

    /// `dispatch_enqueue`: puts `task`, which is in no queue, into `dsq`.
    ///
    /// That the queue was destroyed meanwhile cannot happen: it was found at this instant.
    pub(super) fn dispatch_enqueue(&mut self, dsq: DsqRef, task: TaskId, enq_flags: u64) {
        let mut enq_flags = enq_flags;
        if self.scx.dsqs.id(dsq) & SCX_DSQ_FLAG_BUILTIN != 0 && enq_flags & SCX_ENQ_DSQ_PRIQ != 0 {
            self.ops_error("cannot use vtime ordering for built-in DSQs".to_owned());
            enq_flags &= !SCX_ENQ_DSQ_PRIQ;
        }
        let by_vtime = enq_flags & SCX_ENQ_DSQ_PRIQ != 0;
        if self.kernel.paths.take_time {
            let levels = self.scx.dsqs.levels(dsq);
            let vtime = DSQ_INSERT_VTIME + levels * DSQ_INSERT_PER_LEVEL;
            self.takes_dsq_lock(dsq, self.scx.calls.this_cpu(), if by_vtime { vtime } else { DSQ_INSERT });
        }
        let mixed = self.queues().insert(dsq, task, by_vtime, enq_flags);
        if let Some(mixed) = mixed {
            let which = match mixed {
                Mixed::HadFifo => "FIFO",
                Mixed::HadPriq => "PRIQ",
            };
            let id = self.scx.dsqs.id(dsq);
            self.ops_error(format!("DSQ ID 0x{id:016x} already had {which}-enqueued tasks"));
        }
        if enq_flags & SCX_ENQ_CLEAR_OPSS != 0 {
            self.scx.tasks[task].ops_state = OpsState::None;
        }
        if let Some(cpu) = self.scx.dsqs.local_cpu(dsq) {
            self.local_dsq_post_enq(cpu, task, enq_flags);
        } else if self.scx.dsqs.id(dsq) == SCX_DSQ_GLOBAL {
            self.call_task_dequeue(task, 0);
        } else if self.scx.profile.rules().custody {
            self.task(task).change_flags(0, SCX_TASK_IN_CUSTODY);
        }
    }
}
