// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks go from queue to queue, and with that from CPU to CPU.
//!
//! The kernel drops and takes locks here and may lose a task to another CPU meanwhile; here nothing happens meanwhile.

use super::super::Ctx;
use super::super::abi::profile::{DEQUEUE_NOCLOCK, SCX_ENQ_CLEAR_OPSS};
use super::super::dsq::DsqRef;
use super::super::entity::OpsState;
use crate::kernel::paths::{DSQ_CONSUME, Lock, RQ_HOLD};
use crate::units::{CpuId, TaskId};

impl Ctx<'_> {
    /// `move_local_task_to_local_dsq`: `task`, on `cpu` and in no queue, into the local queue of `cpu`.
    fn move_local_task_to_local_dsq(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64) {
        self.queues().insert_moved(cpu, task, enq_flags);
        self.local_dsq_post_enq(cpu, task, enq_flags);
    }

    /// `move_remote_task_to_local_dsq`: `task`, on another CPU, into the local queue of `dst`.
    fn move_remote_task_to_local_dsq(&mut self, task: TaskId, enq_flags: u64, dst: CpuId) {
        self.scx.tasks[task].sticky_cpu = Some(dst);
        self.deactivate_task(task, 0, dst);
        self.scx.rqs[dst].extra_enq_flags = enq_flags;
        self.activate_task(task);
        self.scx.rqs[dst].extra_enq_flags = 0;
    }

    /// `move_queued_task`: the core moves a waiting task to `dst`, because it may no longer use its CPU or that goes
    /// offline. The caller calls `wakeup_preempt` there.
    pub fn move_queued_task(&mut self, task: TaskId, dst: CpuId) {
        self.deactivate_task(task, DEQUEUE_NOCLOCK, dst);
        self.activate_task(task);
    }

    /// `deactivate_task` and `set_task_cpu`.
    fn deactivate_task(&mut self, task: TaskId, deq_flags: u64, dst: CpuId) {
        self.scx.tasks[task].migrating = true;
        self.dequeue_task_scx(task, deq_flags);
        self.kernel.set_task_cpu(task, dst);
        self.scx.guest.set_task_cpu(&mut self.vm.memory, task, dst);
    }

    /// `activate_task`: ends what `deactivate_task` began.
    fn activate_task(&mut self, task: TaskId) {
        self.enqueue_task_scx(task, self.scx.profile.enqueue_migrated());
        self.scx.tasks[task].migrating = false;
    }

    /// `task_can_run_on_remote_rq`: whether the scheduler may move `task` to `cpu`, another one than it is on.
    fn task_can_run_on_remote_rq(&mut self, task: TaskId, cpu: CpuId, trigger_error: bool) -> bool {
        if self.kernel.task(task).is_migration_disabled() {
            if trigger_error {
                let (name, on) = (self.task(task).comm_pid(), self.kernel.task(task).cpu);
                self.ops_error(format!(
                    "SCX_DSQ_LOCAL[_ON] cannot move migration disabled {name} from CPU {on} to {cpu}"
                ));
            }
            return false;
        }
        if !self.kernel.task(task).may_use(cpu) {
            if trigger_error {
                let name = self.task(task).comm_pid();
                self.ops_error(format!("SCX_DSQ_LOCAL[_ON] target CPU {cpu} not allowed for {name}"));
            }
            return false;
        }
        self.scx.rqs.is_online(self.kernel, cpu)
    }

    /// `move_task_between_dsqs`: `task` from a queue that is not local into any.
    pub(super) fn move_task_between_dsqs(&mut self, task: TaskId, enq_flags: u64, dst: DsqRef) {
        let src_cpu = self.kernel.task(task).cpu;
        let mut dst = dst;
        if let Some(cpu) = self.scx.dsqs.local_cpu(dst)
            && cpu != src_cpu
        {
            if self.task_can_run_on_remote_rq(task, cpu, true) {
                self.move_remote_task_to_local_dsq(task, enq_flags, cpu);
                return;
            }
            dst = self.scx.dsqs.global_of(self.kernel, task);
        }
        self.queues().remove(task);
        match self.scx.dsqs.local_cpu(dst) {
            Some(cpu) => self.move_local_task_to_local_dsq(cpu, task, enq_flags),
            None => self.dispatch_enqueue(dst, task, enq_flags),
        }
    }

    /// `consume_dispatch_q`: the first task of `dsq` that may run on `cpu` goes into its local queue; whether there was
    /// one.
    pub(super) fn consume_dispatch_q(&mut self, cpu: CpuId, dsq: DsqRef, enq_flags: u64) -> bool {
        let mut next = self.scx.dsqs.first(dsq);
        if next.is_some() {
            self.takes_dsq_lock(dsq, cpu, DSQ_CONSUME);
        }
        while let Some(task) = next {
            let on = self.kernel.task(task).cpu;
            if on == cpu {
                self.queues().remove(task);
                self.move_local_task_to_local_dsq(cpu, task, enq_flags);
                return true;
            }
            if self.task_can_run_on_remote_rq(task, cpu, false) {
                // `consume_remote_task`
                self.kernel.executes_locked(cpu, Lock::Rq(on), RQ_HOLD);
                self.queues().remove(task);
                self.move_remote_task_to_local_dsq(task, enq_flags, cpu);
                return true;
            }
            next = self.scx.dsqs.after(dsq, task);
        }
        false
    }

    /// `consume_global_dsq`: the first task of the global queue of its node that may run on `cpu` goes into the local
    /// queue of `cpu`; whether there was one.
    pub(in crate::scx) fn consume_global_dsq(&mut self, cpu: CpuId) -> bool {
        let dsq = self.scx.dsqs.global(self.kernel.topology.node_of(cpu));
        self.consume_dispatch_q(cpu, dsq, 0)
    }

    /// `dispatch_to_local_dsq`: `task`, in no queue, into the local queue of `dst`; `rq` is the run queue that is locked.
    pub(super) fn dispatch_to_local_dsq(&mut self, rq: CpuId, dst: CpuId, task: TaskId, enq_flags: u64) {
        let src = self.kernel.task(task).cpu;
        if rq == src && rq == dst {
            let local = self.scx.dsqs.local(dst);
            self.dispatch_enqueue(local, task, enq_flags | SCX_ENQ_CLEAR_OPSS);
            return;
        }
        if src != dst && !self.task_can_run_on_remote_rq(task, dst, true) {
            let global = self.scx.dsqs.global_of(self.kernel, task);
            self.dispatch_enqueue(global, task, enq_flags | SCX_ENQ_CLEAR_OPSS);
            return;
        }
        self.scx.tasks[task].ops_state = OpsState::None;
        if src == dst {
            let local = self.scx.dsqs.local(dst);
            self.dispatch_enqueue(local, task, enq_flags);
        } else {
            self.move_remote_task_to_local_dsq(task, enq_flags, dst);
        }
        if self.kernel.rq(dst).curr.is_none() {
            self.kernel.resched_curr(dst);
        }
    }
}
