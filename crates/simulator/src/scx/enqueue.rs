// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks become runnable and are enqueued (`enqueue_task_scx`, `do_enqueue_task`), and the other way round.
//!
//! Nothing runs beside this code, so a task is never seen on its way into or out of the scheduler's hands: of
//! `ops_state`, `DISPATCHING` and all waiting are left out, as is `holding_cpu`. No program can tell. Left out, too, is
//! `core_sched_at`: there is no core scheduling.

use std::collections::{BTreeMap, VecDeque};

use super::Ctx;
use super::abi::profile::{
    DEQUEUE_NOCLOCK, ENQUEUE_NOCLOCK, ENQUEUE_RESTORE, PF_EXITING, SCX_DEQ_CORE_SCHED_EXEC, SCX_DEQ_SLEEP,
    SCX_DSQ_INVALID, SCX_ENQ_WAKEUP, SCX_SLICE_DFL, SCX_TASK_DEQD_FOR_SLEEP, SCX_TASK_IMMED, SCX_TASK_IN_CUSTODY,
    SCX_TASK_QUEUED, SCX_TASK_RESET_RUNNABLE_AT, Version,
};
use super::dispatch::direct::DirectDispatch;
use super::dsq::DsqRef;
use super::ops::Op;
use super::origin::Origin;
use super::reenqueue::Reenqueue;
use crate::kernel::task::ClassId;
use crate::units::{CpuId, Nanos, TaskId};

/// `SCX_OPS_ENQ_EXITING`: the scheduler wants tasks that exit, too.
const SCX_OPS_ENQ_EXITING: u64 = 1 << 2;

/// In whose hands a task is (`enum scx_ops_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpsState {
    /// The kernel's (`SCX_OPSS_NONE`).
    #[default]
    None,
    /// `ops.enqueue` has it, for the time with this number (`SCX_OPSS_QUEUEING`).
    Queueing(u32),
    /// The scheduler's (`SCX_OPSS_QUEUED`).
    Queued(u32),
}

impl OpsState {
    /// The number that tells this time in the scheduler's hands from others (`SCX_OPSS_QSEQ_MASK`); 0: not in them.
    pub fn qseq(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Queueing(qseq) | Self::Queued(qseq) => qseq,
        }
    }
}

/// A task as sched_ext sees it (`struct sched_ext_entity`); slice, virtual time and `disallow` are in the programs'
/// memory, and its queue is in [`Dsqs`](super::dsq::Dsqs).
#[derive(Debug)]
pub struct ScxEntity {
    /// `SCX_TASK_*`; programs see them, so [`Ctx::change_task_flags`] changes them.
    pub flags: u32,
    /// The CPU to whose local queue it goes next, whatever the scheduler thinks.
    pub sticky_cpu: Option<CpuId>,
    /// 1..=10000.
    pub weight: u32,
    /// In whose hands it is.
    pub ops_state: OpsState,
    /// Times it was given to the scheduler.
    ops_qseq: u32,
    /// Since when it is runnable without running, in jiffies.
    pub runnable_at: u64,
    /// Its place in its CPU's list of runnable tasks.
    runnable_node: Option<u64>,
    /// Where it was dispatched to while it was enqueued; [`SCX_DSQ_INVALID`]: nowhere.
    pub ddsp_dsq_id: u64,
    /// With these flags.
    pub ddsp_enq_flags: u64,
    /// By this program.
    pub ddsp_origin: Origin,
    /// It is on the way between CPUs (`TASK_ON_RQ_MIGRATING`).
    pub migrating: bool,
    /// `select_task_rq` chose the CPU that it wakes on (`WF_RQ_SELECTED`).
    pub rq_selected: bool,
    /// When its run time was last booked (`se.exec_start`).
    pub exec_start: Nanos,
}

impl ScxEntity {
    /// `init_scx_entity` at `jiffies`.
    pub fn new(jiffies: u64) -> Self {
        Self {
            flags: 0,
            weight: 0,
            sticky_cpu: None,
            ops_state: OpsState::None,
            ops_qseq: 0,
            runnable_at: jiffies,
            runnable_node: None,
            ddsp_dsq_id: SCX_DSQ_INVALID,
            ddsp_enq_flags: 0,
            ddsp_origin: Origin::default(),
            migrating: false,
            rq_selected: false,
            exec_start: 0,
        }
    }

    /// `SCX_TASK_QUEUED`: it is runnable, running or not.
    pub fn queued(&self) -> bool {
        self.flags & SCX_TASK_QUEUED != 0
    }

    /// `clear_direct_dispatch`.
    pub fn clear_direct_dispatch(&mut self) {
        (self.ddsp_dsq_id, self.ddsp_enq_flags) = (SCX_DSQ_INVALID, 0);
    }
}

impl Default for ScxEntity {
    fn default() -> Self {
        Self::new(0)
    }
}

/// A CPU as sched_ext sees it (`struct scx_rq`); its local queue is in [`Dsqs`](super::dsq::Dsqs).
#[derive(Debug, Default)]
pub struct ScxRq {
    /// The scheduler knows it as online (`SCX_RQ_ONLINE`).
    pub online: bool,
    /// Its current task needs no tick (`SCX_RQ_CAN_STOP_TICK`).
    pub can_stop_tick: bool,
    /// It has not looked for work since it began to pick (`SCX_RQ_BAL_PENDING`).
    pub bal_pending: bool,
    /// Having looked for work, it keeps its current task (`SCX_RQ_BAL_KEEP`).
    pub bal_keep: bool,
    /// A task is waking there (`SCX_RQ_IN_WAKEUP`).
    pub in_wakeup: bool,
    /// The scheduler must not be asked (`SCX_RQ_BYPASSING`).
    pub bypassing: bool,
    /// It looks for work (`SCX_RQ_IN_BALANCE`).
    pub in_balance: bool,
    /// Runnable tasks that do not run, in the order of becoming so.
    runnable_list: BTreeMap<u64, TaskId>,
    /// Tasks dispatched to other CPUs' local queues while they were enqueued here.
    pub ddsp_deferred_locals: VecDeque<TaskId>,
    /// Flags for the next enqueue beside those of the core (`extra_enq_flags`).
    pub extra_enq_flags: u64,
    /// A more urgent class has the CPU, and the scheduler knows.
    pub cpu_released: bool,
    /// Times another class followed this one.
    pub pnt_seq: u64,
    /// The thread that comes next must schedule again; see [`Ctx::resched_next`].
    pub resched_next: bool,
    /// Tasks in its local queue that shall run at once, 7.x.
    pub nr_immed: u32,
    /// What is to be given back to the scheduler once its run queue can be unlocked.
    pub reenqueue: Reenqueue,
}

impl ScxRq {
    /// A CPU of which the scheduler knows that it is online or offline.
    pub fn new(online: bool) -> Self {
        Self { online, ..Self::default() }
    }

    /// Runnable tasks that do not run, in the order of becoming so (`runnable_list`).
    pub fn runnable(&self) -> impl DoubleEndedIterator<Item = TaskId> + '_ {
        self.runnable_list.values().copied()
    }
}

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
    /// Its CPU's local queue, with the slice that it has.
    LocalNorefill,
    /// Its CPU's local queue.
    Local,
    /// The global queue.
    Global,
    /// Where it has been dispatched to already.
    Direct,
    /// The scheduler decides.
    Ops,
}

impl Ctx<'_> {
    /// The task's entity.
    pub(super) fn entity(&self, task: TaskId) -> &ScxEntity {
        &self.scx.tasks[task.index()]
    }

    /// The task's entity, to change.
    pub(super) fn entity_mut(&mut self, task: TaskId) -> &mut ScxEntity {
        &mut self.scx.tasks[task.index()]
    }

    /// The CPU's state.
    pub(super) fn scx_rq(&self, cpu: CpuId) -> &ScxRq {
        &self.scx.rqs[cpu.index()]
    }

    /// The CPU's state, to change.
    pub(super) fn scx_rq_mut(&mut self, cpu: CpuId) -> &mut ScxRq {
        &mut self.scx.rqs[cpu.index()]
    }

    /// `p->scx.slice`, ns.
    pub(super) fn slice(&self, task: TaskId) -> u64 {
        self.scx.guest.slice(&self.vm.memory, task)
    }

    /// Sets `p->scx.slice`.
    pub(super) fn set_slice(&mut self, task: TaskId, slice: u64) {
        self.scx.guest.set_slice(&mut self.vm.memory, task, slice);
    }

    /// Whether `task` is of this class.
    pub(super) fn is_ext(&self, task: TaskId) -> bool {
        self.kernel.task(task).class == ClassId::Ext
    }

    /// `task_current`: whether `task` is the current task of its CPU.
    pub(super) fn task_current(&self, task: TaskId) -> bool {
        self.kernel.rq(self.kernel.task(task).cpu).curr == Some(task)
    }

    /// The kernel's coarse clock.
    pub fn jiffies(&self) -> u64 {
        self.kernel.now / self.kernel.params.tick()
    }

    /// Clears and sets flags of a task (`p->scx.flags`), which programs can read.
    pub fn change_task_flags(&mut self, task: TaskId, clear: u32, set: u32) {
        let entity = self.entity_mut(task);
        let flags = (entity.flags & !clear) | set;
        if entity.flags != flags {
            entity.flags = flags;
            self.scx.guest.set_scx_flags(&mut self.vm.memory, task, flags);
        }
    }

    /// `set_task_runnable`: `task` waits on `cpu`.
    pub(super) fn set_task_runnable(&mut self, cpu: CpuId, task: TaskId) {
        if self.entity(task).flags & SCX_TASK_RESET_RUNNABLE_AT != 0 {
            let now = self.jiffies();
            self.entity_mut(task).runnable_at = now;
            self.scx.guest.set_runnable_at(&mut self.vm.memory, task, now);
            self.change_task_flags(task, SCX_TASK_RESET_RUNNABLE_AT, 0);
        }
        let list = &mut self.scx_rq_mut(cpu).runnable_list;
        let node = list.last_key_value().map_or(0, |(last, _)| last + 1);
        list.insert(node, task);
        self.entity_mut(task).runnable_node = Some(node);
    }

    /// `clr_task_runnable`: `task` no longer waits; if it runs, the time it waits starts anew after that.
    pub(super) fn clr_task_runnable(&mut self, task: TaskId, reset_runnable_at: bool) {
        let cpu = self.kernel.task(task).cpu;
        if let Some(node) = self.entity_mut(task).runnable_node.take() {
            self.scx_rq_mut(cpu).runnable_list.remove(&node);
        }
        if reset_runnable_at {
            self.change_task_flags(task, 0, SCX_TASK_RESET_RUNNABLE_AT);
        }
    }

    /// Tells programs of all run queues as they are when a scheduler is loaded.
    pub fn show_run_queues(&mut self) {
        for cpu in (0..self.kernel.topology.nr_cpus).map(CpuId::at) {
            let curr = self.kernel.rq(cpu).curr;
            self.scx.guest.set_curr(&mut self.vm.memory, cpu, curr);
            self.mirror_nr_running(cpu);
        }
    }

    /// Tells programs how many tasks are runnable on `cpu`.
    fn mirror_nr_running(&mut self, cpu: CpuId) {
        let (all, scx) = (self.kernel.rq(cpu).nr_running, self.kernel.rq(cpu).ext_nr_running);
        self.scx.guest.set_nr_running(&mut self.vm.memory, cpu, all, scx);
    }

    /// `scx_rq_online`: the CPU schedules, and the scheduler knows.
    pub(super) fn scx_rq_online(&self, cpu: CpuId) -> bool {
        self.scx_rq(cpu).online && self.kernel.topology.online.test(cpu)
    }

    /// `do_enqueue_task`: puts a runnable task where it belongs: into the scheduler's hands or into a queue.
    pub fn do_enqueue_task(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64, sticky_cpu: Option<CpuId>) {
        debug_assert!(self.entity(task).queued());
        if sticky_cpu != Some(cpu) {
            // The wish to run at once ends with what it was made for; 6.12 never sets it.
            self.change_task_flags(task, SCX_TASK_IMMED, 0);
        }
        match self.enqueue_verdict(cpu, task, sticky_cpu) {
            Verdict::Ops => self.enqueue_by_ops(task, enq_flags),
            Verdict::Direct => self.direct_dispatch(task, enq_flags),
            Verdict::LocalNorefill => self.enqueue_fallback(self.scx.dsqs.local(cpu), task, enq_flags),
            Verdict::Local => {
                self.set_slice(task, SCX_SLICE_DFL);
                self.enqueue_fallback(self.scx.dsqs.local(cpu), task, enq_flags);
            }
            Verdict::Global => {
                self.set_slice(task, SCX_SLICE_DFL);
                self.enqueue_fallback(self.find_global_dsq(task), task, enq_flags);
            }
        }
    }

    fn enqueue_verdict(&self, cpu: CpuId, task: TaskId, sticky_cpu: Option<CpuId>) -> Verdict {
        let entity = self.entity(task);
        if sticky_cpu == Some(cpu) {
            return Verdict::LocalNorefill;
        }
        if !self.scx_rq_online(cpu) {
            return Verdict::Local;
        }
        if self.scx_rq_bypassing(cpu) {
            return Verdict::Global;
        }
        if entity.ddsp_dsq_id != SCX_DSQ_INVALID {
            return Verdict::Direct;
        }
        let exiting = self.scx.guest.task_flags(&self.vm.memory, task) & PF_EXITING != 0;
        if exiting && self.scx.ops.flags & SCX_OPS_ENQ_EXITING == 0 {
            return Verdict::Local;
        }
        if self.scx.ops.has(Op::Enqueue) { Verdict::Ops } else { Verdict::Global }
    }

    /// Into a queue of the kernel, whatever the scheduler said before.
    fn enqueue_fallback(&mut self, dsq: DsqRef, task: TaskId, enq_flags: u64) {
        self.entity_mut(task).clear_direct_dispatch();
        self.dispatch_enqueue(dsq, task, enq_flags);
    }

    /// The part of `do_enqueue_task` that asks `ops.enqueue`.
    fn enqueue_by_ops(&mut self, task: TaskId, enq_flags: u64) {
        let entity = self.entity_mut(task);
        // 0 is never used: it is what a task has that is not in the scheduler's hands.
        entity.ops_qseq = entity.ops_qseq.wrapping_add(1).max(1);
        let qseq = entity.ops_qseq;
        debug_assert_eq!(entity.ops_state, OpsState::None);
        entity.ops_state = OpsState::Queueing(qseq);
        let this_cpu = self.this_cpu();
        self.scx.buffers.set_direct_dispatch_task(this_cpu, Some(DirectDispatch::Task(task)));
        self.call_op_task(Op::Enqueue, task, &[enq_flags]);
        self.scx.buffers.set_direct_dispatch_task(this_cpu, None);
        if self.entity(task).ddsp_dsq_id != SCX_DSQ_INVALID {
            self.direct_dispatch(task, enq_flags);
        } else {
            if self.is_v7() {
                self.change_task_flags(task, 0, SCX_TASK_IN_CUSTODY);
            }
            self.entity_mut(task).ops_state = OpsState::Queued(qseq);
        }
    }

    /// `enqueue_task_scx`: `task` becomes runnable on its CPU; `enq_flags` as the core gives them (`ENQUEUE_*`).
    pub fn enqueue_task_scx(&mut self, task: TaskId, enq_flags: u64) {
        let cpu = self.kernel.task(task).cpu;
        if enq_flags & SCX_ENQ_WAKEUP != 0 {
            self.scx_rq_mut(cpu).in_wakeup = true;
        }
        let mut enq_flags = enq_flags | self.scx_rq(cpu).extra_enq_flags;
        if self.scx.profile.version == Version::V6_12 {
            // They pass through an `int`: what sched_ext itself has above 32 bits is lost.
            enq_flags = enq_flags as i32 as u64;
        }
        let moved = self.entity(task).sticky_cpu;
        let mut sticky_cpu = moved;
        if !self.is_v7() {
            self.entity_mut(task).sticky_cpu = None;
        }
        if enq_flags & ENQUEUE_RESTORE != 0 && self.task_current(task) {
            // It runs and becomes current again at once, which it can only from the local queue.
            sticky_cpu = Some(cpu);
        }
        if !self.entity(task).queued() {
            self.set_task_runnable(cpu, task);
            self.scx.guest.set_task_cpu(&mut self.vm.memory, task, cpu);
            self.scx.guest.set_runnable(&mut self.vm.memory, task, true);
            self.change_task_flags(task, 0, SCX_TASK_QUEUED);
            self.kernel.rq_mut(cpu).ext_nr_running += 1;
            self.kernel.add_nr_running(cpu, 1);
            self.mirror_nr_running(cpu);
            if !self.entity(task).migrating {
                self.call_op_task(Op::Runnable, task, &[enq_flags]);
            }
            self.do_enqueue_task(cpu, task, enq_flags, sticky_cpu);
            if moved.is_some() {
                // 7.x looks at it to see that a task moves between CPUs, see `call_task_dequeue`.
                self.entity_mut(task).sticky_cpu = None;
            }
        }
        self.scx_rq_mut(cpu).in_wakeup = false;
    }

    /// `ops_dequeue`: takes `task` out of the scheduler's hands, if it is there.
    pub(super) fn ops_dequeue(&mut self, task: TaskId, deq_flags: u64) {
        // It comes back, so the time that it waits goes on.
        self.clr_task_runnable(task, false);
        if self.is_v7() {
            self.entity_mut(task).ops_state = OpsState::None;
            self.call_task_dequeue(task, deq_flags);
        } else if let OpsState::Queued(_) = self.entity(task).ops_state {
            self.call_op_task(Op::Dequeue, task, &[deq_flags]);
            self.entity_mut(task).ops_state = OpsState::None;
        }
    }

    /// `call_task_dequeue` of 7.x: the scheduler hears that `task` leaves its custody, if it was in it and does not just
    /// move between CPUs: such a task leaves when it begins to run.
    pub(super) fn call_task_dequeue(&mut self, task: TaskId, deq_flags: u64) {
        let entity = self.entity(task);
        if entity.flags & SCX_TASK_IN_CUSTODY == 0 || entity.sticky_cpu.is_some() {
            return;
        }
        self.call_op_task(Op::Dequeue, task, &[deq_flags]);
        self.change_task_flags(task, SCX_TASK_IN_CUSTODY, 0);
    }

    /// `dequeue_task_scx`: `task` is no longer runnable on its CPU; `deq_flags` as the core gives them (`DEQUEUE_*`).
    pub fn dequeue_task_scx(&mut self, task: TaskId, deq_flags: u64) {
        if !self.entity(task).queued() {
            return;
        }
        let mut deq_flags = deq_flags;
        if deq_flags & (SCX_DEQ_SLEEP | SCX_DEQ_CORE_SCHED_EXEC) == 0 {
            deq_flags |= self.scx.profile.deq_sched_change();
        }
        let cpu = self.kernel.task(task).cpu;
        self.ops_dequeue(task, deq_flags);
        if self.scx.ops.has(Op::Stopping) && self.task_current(task) {
            // Before `quiescent`: running lies within runnable.
            self.update_curr_scx(cpu);
            self.call_op_task(Op::Stopping, task, &[0]);
        }
        if !self.entity(task).migrating {
            self.call_op_task(Op::Quiescent, task, &[deq_flags]);
        }
        let slept = if deq_flags & SCX_DEQ_SLEEP != 0 { SCX_TASK_DEQD_FOR_SLEEP } else { 0 };
        if slept != 0 {
            self.scx.guest.set_runnable(&mut self.vm.memory, task, false);
        }
        self.change_task_flags(task, SCX_TASK_DEQD_FOR_SLEEP | SCX_TASK_QUEUED, slept);
        self.kernel.rq_mut(cpu).ext_nr_running -= 1;
        self.kernel.sub_nr_running(cpu, 1);
        self.mirror_nr_running(cpu);
        self.dispatch_dequeue(cpu, task);
        self.entity_mut(task).clear_direct_dispatch();
    }

    /// `sched_deq_and_put_task` for a task of this class: takes it off its queue and its CPU for a moment, with
    /// `DEQUEUE_SAVE` and perhaps `DEQUEUE_MOVE`; [`Ctx::sched_enq_and_set_task`] puts it back.
    pub fn sched_deq_and_put_task(&mut self, task: TaskId, queue_flags: u64) -> DeqAndPut {
        let (queued, running) = (self.entity(task).queued(), self.task_current(task));
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
