// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task is dispatched while it is being enqueued, from `ops.select_cpu` or `ops.enqueue`.

use super::super::Ctx;
use super::super::entity::OpsState;
use super::super::origin::Origin;
use crate::units::{CpuId, TaskId};

/// Which task may be dispatched directly on a CPU (`direct_dispatch_task`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectDispatch {
    /// The task being enqueued.
    Task(TaskId),
    /// No task any more: one has been dispatched.
    Done,
}

impl Ctx<'_> {
    /// `mark_direct_dispatch`: `task` was dispatched; the queue is sought once the callback returns.
    pub(super) fn mark_direct_dispatch(&mut self, allowed: DirectDispatch, task: TaskId, dsq_id: u64, enq_flags: u64) {
        let cpu = self.scx.calls.this_cpu();
        self.scx.buffers.set_direct_dispatch_task(cpu, Some(DirectDispatch::Done));
        let name = |ctx: &mut Self, task| ctx.task(task).comm_pid();
        match allowed {
            DirectDispatch::Task(expected) if expected == task => {
                let origin = Origin::now(&self.scx.calls, self.vm);
                let entity = &mut self.scx.tasks[task];
                (entity.ddsp_dsq_id, entity.ddsp_enq_flags, entity.ddsp_origin) = (dsq_id, enq_flags, origin);
            }
            DirectDispatch::Task(expected) => {
                let (expected, task) = (name(self, expected), name(self, task));
                self.ops_error(format!("scheduling for {expected} but trying to direct-dispatch {task}"));
            }
            DirectDispatch::Done => {
                let task = name(self, task);
                self.ops_error(format!("{task} already direct-dispatched"));
            }
        }
    }

    /// `direct_dispatch`: carries out what was marked. Other CPUs' local queues must wait until the run queue of the task
    /// can be unlocked.
    pub(in crate::scx) fn direct_dispatch(&mut self, task: TaskId, enq_flags: u64) {
        self.blaming(self.scx.tasks[task].ddsp_origin, |ctx| ctx.carry_out_direct_dispatch(task, enq_flags));
    }

    fn carry_out_direct_dispatch(&mut self, task: TaskId, enq_flags: u64) {
        let cpu = self.kernel.task(task).cpu;
        let dsq = self.find_dsq_for_dispatch(cpu, self.scx.tasks[task].ddsp_dsq_id, task);
        let entity = &mut self.scx.tasks[task];
        entity.ddsp_enq_flags |= enq_flags;
        entity.ops_state = OpsState::None;
        if self.scx.dsqs.local_cpu(dsq).is_some_and(|local| local != cpu) {
            self.scx.rqs[cpu].ddsp_deferred_locals.push_back(task);
            self.scx.rqs.schedule_deferred(cpu);
            return;
        }
        let entity = &mut self.scx.tasks[task];
        let enq_flags = entity.ddsp_enq_flags;
        entity.clear_direct_dispatch();
        self.dispatch_enqueue(dsq, task, enq_flags);
    }

    /// `run_deferred`: carries out what waited for the run queue of `cpu` to be unlocked.
    pub fn run_deferred(&mut self, cpu: CpuId) {
        self.process_ddsp_deferred_locals(cpu);
        self.process_deferred_reenqueues(cpu);
    }

    /// `process_ddsp_deferred_locals`: tasks that were dispatched directly to other CPUs' local queues go there.
    fn process_ddsp_deferred_locals(&mut self, cpu: CpuId) {
        while let Some(task) = self.scx.rqs[cpu].ddsp_deferred_locals.pop_front() {
            let entity = &mut self.scx.tasks[task];
            let (dsq_id, enq_flags, origin) = (entity.ddsp_dsq_id, entity.ddsp_enq_flags, entity.ddsp_origin);
            entity.clear_direct_dispatch();
            self.blaming(origin, |ctx| {
                let dsq = ctx.find_dsq_for_dispatch(cpu, dsq_id, task);
                if let Some(dst) = ctx.scx.dsqs.local_cpu(dsq) {
                    ctx.dispatch_to_local_dsq(cpu, dst, task, enq_flags);
                }
            });
        }
    }
}
