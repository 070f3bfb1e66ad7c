// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks go into and between dispatch queues (`scx_dispatch_commit`, `finish_dispatch`).
//!
//! - this file: into and out of one queue. [`direct`]: dispatched while being enqueued. [`buffer`]: dispatched by
//!   `ops.dispatch`, carried out later. `transfer`: from queue to queue, and between CPUs. [`interface`]: what the kernel
//!   functions of programs come down to.

pub mod buffer;
pub mod direct;
pub mod interface;
mod transfer;

pub use buffer::DispatchBuffers;

use super::Ctx;
use super::abi::profile::{
    SCX_DSQ_FLAG_BUILTIN, SCX_DSQ_GLOBAL, SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_CPU_MASK, SCX_DSQ_LOCAL_ON, SCX_ENQ_CLEAR_OPSS,
    SCX_ENQ_DSQ_PRIQ, SCX_ENQ_PREEMPT, SCX_TASK_IN_CUSTODY,
};
use super::dsq::{DsqRef, Mixed, Place};
use super::enqueue::OpsState;
use crate::units::{CpuId, TaskId};

impl Ctx<'_> {
    /// `find_global_dsq`: the global queue of the node whose CPU `task` is on.
    pub(super) fn find_global_dsq(&self, task: TaskId) -> DsqRef {
        self.scx.dsqs.global(self.kernel.topology.node_of(self.kernel.task(task).cpu))
    }

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
                None => self.find_global_dsq(task),
            };
        }
        if id == SCX_DSQ_GLOBAL {
            return self.find_global_dsq(task);
        }
        if let Some(dsq) = self.scx.dsqs.find_user_dsq(id) {
            return dsq;
        }
        let name = self.comm_pid(task);
        self.ops_error(format!("non-existent DSQ {id:#x} for {name}"));
        self.find_global_dsq(task)
    }

    /// `local_dsq_post_enq`: `task` came into the local queue of `cpu`, which may have to reschedule for it.
    fn local_dsq_post_enq(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64) {
        self.call_task_dequeue(task, 0);
        if self.scx_rq(cpu).in_balance {
            // It is about to look there.
            return;
        }
        match self.kernel.rq(cpu).curr {
            None => self.kernel.resched_curr(cpu),
            Some(curr) if enq_flags & SCX_ENQ_PREEMPT != 0 && curr != task && self.is_ext(curr) => {
                self.set_slice(curr, 0);
                self.kernel.resched_curr(cpu);
            }
            Some(_) => {}
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
        let place = if enq_flags & SCX_ENQ_DSQ_PRIQ != 0 {
            Place::Vtime(self.scx.guest.dsq_vtime(&self.vm.memory, task))
        } else {
            self.fifo_place(enq_flags)
        };
        let mixed = self.scx.dsqs.insert(dsq, task, place);
        self.mirror_dsq(dsq, Some(task));
        if let Some(mixed) = mixed {
            let which = match mixed {
                Mixed::HadFifo => "FIFO",
                Mixed::HadPriq => "PRIQ",
            };
            let id = self.scx.dsqs.id(dsq);
            self.ops_error(format!("DSQ ID 0x{id:016x} already had {which}-enqueued tasks"));
        }
        if enq_flags & SCX_ENQ_CLEAR_OPSS != 0 {
            self.entity_mut(task).ops_state = OpsState::None;
        }
        if let Some(cpu) = self.scx.dsqs.local_cpu(dsq) {
            self.immed_queued(cpu, task, enq_flags);
            self.local_dsq_post_enq(cpu, task, enq_flags);
        } else if self.scx.dsqs.id(dsq) == SCX_DSQ_GLOBAL {
            self.call_task_dequeue(task, 0);
        } else if self.is_v7() {
            self.change_task_flags(task, 0, SCX_TASK_IN_CUSTODY);
        }
    }

    /// Where in a queue ordered by arrival a task goes.
    fn fifo_place(&self, enq_flags: u64) -> Place {
        if enq_flags & (self.scx.profile.enq_head() | SCX_ENQ_PREEMPT) != 0 { Place::Head } else { Place::Tail }
    }

    /// `task_unlink_from_dsq`: takes `task` out of its queue, if it is in one.
    fn task_unlink_from_dsq(&mut self, task: TaskId) -> bool {
        let Some(dsq) = self.scx.dsqs.remove(task) else { return false };
        self.mirror_dsq(dsq, None);
        if let Some(cpu) = self.scx.dsqs.local_cpu(dsq) {
            self.immed_unqueued(cpu, task);
        }
        self.scx.guest.set_dsq(&mut self.vm.memory, task, 0);
        true
    }

    /// Tells programs how many tasks are in `dsq`, and `task` that it is in it. A task in one of the kernel's own queues
    /// points to none; only a program that follows `p->scx.dsq` can tell.
    fn mirror_dsq(&mut self, dsq: DsqRef, task: Option<TaskId>) {
        let (dsqs, guest, memory) = (&self.scx.dsqs, &self.scx.guest, &mut self.vm.memory);
        let (nr, address) = (dsqs.nr(dsq), dsqs.address(dsq));
        if let Some(cpu) = dsqs.local_cpu(dsq) {
            guest.set_local_dsq_nr(memory, cpu, nr);
        } else if address != 0 {
            guest.set_dsq_nr(memory, address, nr);
        }
        if let Some(task) = task.filter(|_| address != 0) {
            guest.set_dsq(memory, task, address);
        }
    }

    /// `dispatch_dequeue`: takes `task`, which is on `cpu`, out of its queue, if it is in one or on its way to one.
    pub(super) fn dispatch_dequeue(&mut self, cpu: CpuId, task: TaskId) {
        if !self.task_unlink_from_dsq(task) {
            self.scx_rq_mut(cpu).ddsp_deferred_locals.retain(|deferred| *deferred != task);
        }
    }
}
