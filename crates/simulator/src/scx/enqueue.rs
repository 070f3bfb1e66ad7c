// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks become runnable and are enqueued (`enqueue_task_scx`, `do_enqueue_task`), and the other way round.
//!
//! Nothing runs beside this code, so a task is never seen on its way into or out of the scheduler's hands: of
//! `ops_state`, `DISPATCHING` and all waiting are left out, as is `holding_cpu`. No program can tell. Left out, too, is
//! `core_sched_at`: there is no core scheduling.

use super::abi::profile::{
    DEQUEUE_NOCLOCK, ENQUEUE_NOCLOCK, ENQUEUE_RESTORE, PF_EXITING, SCX_DEQ_CORE_SCHED_EXEC, SCX_DEQ_SLEEP,
    SCX_DSQ_INVALID, SCX_ENQ_WAKEUP, SCX_SLICE_DFL, SCX_TASK_DEQD_FOR_SLEEP, SCX_TASK_IMMED, SCX_TASK_IN_CUSTODY,
    SCX_TASK_QUEUED,
};
use super::dispatch::direct::DirectDispatch;
use super::dsq::DsqRef;
use super::entity::OpsState;
use super::ops::Op;
use super::{Ctx, State};
use crate::kernel::Kernel;
use crate::observer::detail::Detail;
use crate::units::{CpuId, TaskId};
use tandem_bpf_vm::memory::Memory;

/// `SCX_OPS_ENQ_EXITING`: the scheduler wants tasks that exit, too.
const SCX_OPS_ENQ_EXITING: u64 = 1 << 2;
/// `SCX_OPS_ENQ_MIGRATION_DISABLED` of 7.x: the scheduler wants tasks that must stay on their CPU, too.
const SCX_OPS_ENQ_MIGRATION_DISABLED: u64 = 1 << 4;

/// What [`Ctx::sched_deq_and_put_task`] took a task from (`struct sched_enq_and_set_ctx`).
#[derive(Debug, Clone, Copy)]
pub struct DeqAndPut {
    task: TaskId,
    queue_flags: u64,
    queued: bool,
    running: bool,
}

/// Where a task goes that is being enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The local queue of its CPU, with the slice that the task has.
    LocalNorefill,
    /// The local queue of its CPU, with a new slice.
    Local,
    /// The global queue, with a new slice.
    Global,
    /// Where it has been dispatched to already.
    Direct,
    /// The scheduler decides.
    Ops,
}

impl State {
    /// Where `task` goes, which is being enqueued on `cpu`.
    fn enqueue_verdict(
        &self,
        memory: &Memory,
        kernel: &Kernel,
        cpu: CpuId,
        task: TaskId,
        sticky_cpu: Option<CpuId>,
    ) -> Verdict {
        let entity = &self.tasks[task];
        if sticky_cpu == Some(cpu) {
            return Verdict::LocalNorefill;
        }
        if !self.rqs.is_online(kernel, cpu) {
            return Verdict::Local;
        }
        if self.rqs[cpu].bypassing {
            return Verdict::Global;
        }
        if entity.ddsp_dsq_id != SCX_DSQ_INVALID {
            return Verdict::Direct;
        }
        let exiting = self.guest.task_flags(memory, task) & PF_EXITING != 0;
        if exiting && self.ops.flags & SCX_OPS_ENQ_EXITING == 0 {
            return Verdict::Local;
        }
        if self.skips_ops_to_stay(kernel, task) {
            return Verdict::Local;
        }
        if self.ops.has(Op::Enqueue) { Verdict::Ops } else { Verdict::Global }
    }

    /// Whether a kernel after 6.12 queues `task` on its CPU without asking, as its migration is disabled (`SCX_OPS_ENQ_MIGRATION_DISABLED`
    /// is not among the scheduler's flags).
    fn skips_ops_to_stay(&self, kernel: &Kernel, task: TaskId) -> bool {
        let asks =
            self.profile.rules().asks_about_migration_disabled || self.ops.flags & SCX_OPS_ENQ_MIGRATION_DISABLED != 0;
        !asks && kernel.task(task).is_migration_disabled()
    }
}

impl Ctx<'_> {
    /// `do_enqueue_task`: puts a runnable task where it belongs: into the scheduler's hands or into a queue.
    pub fn do_enqueue_task(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64, sticky_cpu: Option<CpuId>) {
        debug_assert!(self.scx.tasks[task].queued());
        if sticky_cpu != Some(cpu) {
            // The wish to run at once ends with what it was made for; 6.12 never sets it.
            self.task(task).change_flags(SCX_TASK_IMMED, 0);
        }
        match self.scx.enqueue_verdict(&self.vm.memory, self.kernel, cpu, task, sticky_cpu) {
            Verdict::Ops => self.enqueue_by_ops(task, enq_flags),
            Verdict::Direct => self.direct_dispatch(task, enq_flags),
            Verdict::LocalNorefill => self.enqueue_fallback(self.scx.dsqs.local(cpu), task, enq_flags),
            Verdict::Local => {
                self.task(task).set_slice(SCX_SLICE_DFL);
                self.enqueue_fallback(self.scx.dsqs.local(cpu), task, enq_flags);
            }
            Verdict::Global => {
                self.task(task).set_slice(SCX_SLICE_DFL);
                self.enqueue_fallback(self.scx.dsqs.global_of(self.kernel, task), task, enq_flags);
            }
        }
    }

    /// A task's clamps hold on `cpu` from now on, and programs see them in its object, as far as any task has some.
    fn uclamp_rq_inc(&mut self, cpu: CpuId, task: TaskId) {
        self.kernel.uclamp_rq_inc(cpu, task);
        if self.kernel.uclamp_used {
            let clamps = self.kernel.task(task).uclamp_eff_value();
            self.scx.guest.set_uclamp(&mut self.vm.memory, task, clamps);
        }
    }

    /// Into a queue of the kernel, whatever the scheduler said before.
    fn enqueue_fallback(&mut self, dsq: DsqRef, task: TaskId, enq_flags: u64) {
        self.scx.tasks[task].clear_direct_dispatch();
        self.dispatch_enqueue(dsq, task, enq_flags);
    }

    /// The part of `do_enqueue_task` that asks `ops.enqueue`.
    fn enqueue_by_ops(&mut self, task: TaskId, enq_flags: u64) {
        let entity = &mut self.scx.tasks[task];
        // 0 is never used: it is what a task has that is not in the scheduler's hands.
        entity.ops_qseq = entity.ops_qseq.wrapping_add(1).max(1);
        let qseq = entity.ops_qseq;
        debug_assert_eq!(entity.ops_state, OpsState::None);
        entity.ops_state = OpsState::Queueing(qseq);
        let this_cpu = self.scx.calls.this_cpu();
        self.scx.buffers.set_direct_dispatch_task(this_cpu, Some(DirectDispatch::Task(task)));
        self.call_op_task(Op::Enqueue, task, &[enq_flags]);
        self.scx.buffers.set_direct_dispatch_task(this_cpu, None);
        if self.scx.tasks[task].ddsp_dsq_id != SCX_DSQ_INVALID {
            self.direct_dispatch(task, enq_flags);
        } else {
            if self.scx.profile.rules().custody {
                self.task(task).change_flags(0, SCX_TASK_IN_CUSTODY);
            }
            self.scx.tasks[task].ops_state = OpsState::Queued(qseq);
            self.scx.shown.add(|| Detail::Held { task });
        }
    }

    /// `enqueue_task_scx`: `task` becomes runnable on its CPU; `enq_flags` as the core gives them (`ENQUEUE_*`).
    pub fn enqueue_task_scx(&mut self, task: TaskId, enq_flags: u64) {
        let cpu = self.kernel.task(task).cpu;
        if enq_flags & SCX_ENQ_WAKEUP != 0 {
            self.scx.rqs[cpu].in_wakeup = true;
        }
        let mut enq_flags = enq_flags | self.scx.rqs[cpu].extra_enq_flags;
        if !self.scx.profile.rules().wide_enqueue_flags {
            // They pass through an `int`: what sched_ext itself has above 32 bits is lost.
            enq_flags = enq_flags as i32 as u64;
        }
        let moved = self.scx.tasks[task].sticky_cpu;
        let mut sticky_cpu = moved;
        if !self.scx.profile.rules().custody {
            self.scx.tasks[task].sticky_cpu = None;
        }
        if enq_flags & ENQUEUE_RESTORE != 0 && self.kernel.task_current(task) {
            // It runs and becomes current again at once, which it can only from the local queue.
            sticky_cpu = Some(cpu);
        }
        if !self.scx.tasks[task].queued() {
            let now = self.kernel.jiffies();
            self.task(task).set_runnable(cpu, now);
            self.scx.guest.set_task_cpu(&mut self.vm.memory, task, cpu);
            self.scx.guest.set_runnable(&mut self.vm.memory, task, true);
            self.task(task).change_flags(0, SCX_TASK_QUEUED);
            self.kernel.rq_mut(cpu).ext_nr_running += 1;
            self.uclamp_rq_inc(cpu, task);
            self.kernel.add_nr_running(cpu, 1);
            self.scx.guest.mirror_nr_running(&mut self.vm.memory, self.kernel, cpu);
            if !self.scx.tasks[task].migrating {
                self.call_op_task(Op::Runnable, task, &[enq_flags]);
            }
            self.do_enqueue_task(cpu, task, enq_flags, sticky_cpu);
            if moved.is_some() {
                // 7.x looks at it to see that a task moves between CPUs, see `call_task_dequeue`.
                self.scx.tasks[task].sticky_cpu = None;
            }
        }
        self.scx.rqs[cpu].in_wakeup = false;
    }

    /// `ops_dequeue`: takes `task` out of the scheduler's hands, if it is there.
    pub(super) fn ops_dequeue(&mut self, task: TaskId, deq_flags: u64) {
        // It comes back, so the time that it waits goes on.
        let cpu = self.kernel.task(task).cpu;
        self.task(task).clr_runnable(cpu, false);
        if self.scx.profile.rules().custody {
            self.scx.tasks[task].ops_state = OpsState::None;
            self.call_task_dequeue(task, deq_flags);
        } else if let OpsState::Queued(_) = self.scx.tasks[task].ops_state {
            self.call_op_task(Op::Dequeue, task, &[deq_flags]);
            self.scx.tasks[task].ops_state = OpsState::None;
        }
    }

    /// `call_task_dequeue` of 7.x: the scheduler hears that `task` leaves its custody, if it was in it and does not just
    /// move between CPUs: such a task leaves when it begins to run.
    pub(super) fn call_task_dequeue(&mut self, task: TaskId, deq_flags: u64) {
        let entity = &self.scx.tasks[task];
        if entity.flags & SCX_TASK_IN_CUSTODY == 0 || entity.sticky_cpu.is_some() {
            return;
        }
        self.call_op_task(Op::Dequeue, task, &[deq_flags]);
        self.task(task).change_flags(SCX_TASK_IN_CUSTODY, 0);
    }

    /// `dequeue_task_scx`: `task` is no longer runnable on its CPU; `deq_flags` as the core gives them (`DEQUEUE_*`).
    pub fn dequeue_task_scx(&mut self, task: TaskId, deq_flags: u64) {
        if !self.scx.tasks[task].queued() {
            return;
        }
        let mut deq_flags = deq_flags;
        if deq_flags & (SCX_DEQ_SLEEP | SCX_DEQ_CORE_SCHED_EXEC) == 0 {
            deq_flags |= self.scx.profile.deq_sched_change();
        }
        let cpu = self.kernel.task(task).cpu;
        self.ops_dequeue(task, deq_flags);
        if self.scx.ops.has(Op::Stopping) && self.kernel.task_current(task) {
            // Before `quiescent`: running lies within runnable.
            self.update_curr_scx(cpu);
            self.call_op_task(Op::Stopping, task, &[0]);
        }
        if !self.scx.tasks[task].migrating {
            self.call_op_task(Op::Quiescent, task, &[deq_flags]);
        }
        let slept = if deq_flags & SCX_DEQ_SLEEP != 0 { SCX_TASK_DEQD_FOR_SLEEP } else { 0 };
        if slept != 0 {
            self.scx.guest.set_runnable(&mut self.vm.memory, task, false);
        }
        self.task(task).change_flags(SCX_TASK_DEQD_FOR_SLEEP | SCX_TASK_QUEUED, slept);
        self.kernel.rq_mut(cpu).ext_nr_running -= 1;
        self.kernel.uclamp_rq_dec(cpu, task);
        self.kernel.sub_nr_running(cpu, 1);
        self.scx.guest.mirror_nr_running(&mut self.vm.memory, self.kernel, cpu);
        self.queues().dequeue(cpu, task);
        self.scx.tasks[task].clear_direct_dispatch();
    }

    /// `sched_deq_and_put_task` for a task of this class: takes it off its queue and its CPU for a moment, with
    /// `DEQUEUE_SAVE` and perhaps `DEQUEUE_MOVE`; [`Ctx::sched_enq_and_set_task`] puts it back.
    pub fn sched_deq_and_put_task(&mut self, task: TaskId, queue_flags: u64) -> DeqAndPut {
        let (queued, running) = (self.scx.tasks[task].queued(), self.kernel.task_current(task));
        if queued {
            self.dequeue_task_scx(task, queue_flags | DEQUEUE_NOCLOCK);
        }
        if running {
            self.put_prev_task_scx(self.kernel.task(task).cpu, task, None);
        }
        DeqAndPut { task, queue_flags, queued, running }
    }

    /// `sched_enq_and_set_task`: puts back what [`Ctx::sched_deq_and_put_task`] took. The `DEQUEUE_` flags given there are
    /// the `ENQUEUE_` flags of the same numbers.
    pub fn sched_enq_and_set_task(&mut self, put: DeqAndPut) {
        if put.queued {
            self.enqueue_task_scx(put.task, put.queue_flags | ENQUEUE_NOCLOCK);
        }
        if put.running {
            self.set_next_task_scx(self.kernel.task(put.task).cpu, put.task);
        }
    }
}
