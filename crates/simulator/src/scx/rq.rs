// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU as sched_ext sees it (`struct scx_rq`).

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};

use super::reenqueue::Reenqueue;
use crate::kernel::Kernel;
use crate::units::{CpuId, TaskId};

/// A CPU as sched_ext sees it (`struct scx_rq`); its local queue is in [`Dsqs`](super::dsq::Dsqs).
#[derive(Debug, Default)]
pub struct ScxRq {
    /// Whether the scheduler knows the CPU as online (`SCX_RQ_ONLINE`).
    pub online: bool,
    /// Whether the current task of the CPU needs no tick (`SCX_RQ_CAN_STOP_TICK`).
    pub can_stop_tick: bool,
    /// Whether the CPU has not looked for work since it began to pick (`SCX_RQ_BAL_PENDING`).
    pub bal_pending: bool,
    /// Whether the CPU, having looked for work, keeps its current task (`SCX_RQ_BAL_KEEP`).
    pub bal_keep: bool,
    /// Whether a task is waking on the CPU (`SCX_RQ_IN_WAKEUP`).
    pub in_wakeup: bool,
    /// Whether the scheduler must not be asked about the CPU (`SCX_RQ_BYPASSING`).
    pub bypassing: bool,
    /// Whether the CPU looks for work now (`SCX_RQ_IN_BALANCE`).
    pub in_balance: bool,
    /// Runnable tasks that do not run, in the order of becoming so.
    runnable_list: BTreeMap<u64, TaskId>,
    /// Tasks dispatched to other CPUs' local queues while they were enqueued here.
    pub ddsp_deferred_locals: VecDeque<TaskId>,
    /// Flags for the next enqueue beside those of the core (`extra_enq_flags`).
    pub extra_enq_flags: u64,
    /// Whether a more urgent class has the CPU, and the scheduler knows.
    pub cpu_released: bool,
    /// How often another class followed this one on the CPU.
    pub pnt_seq: u64,
    /// Whether the thread that comes next must schedule again; see [`ScxRq::take_resched_next`].
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

    /// The task at a place in the list of tasks that wait here.
    pub fn runnable_at(&self, node: u64) -> Option<TaskId> {
        self.runnable_list.get(&node).copied()
    }

    /// Runnable tasks that do not run, in the order of becoming so (`runnable_list`).
    pub fn runnable_list(&self) -> Vec<TaskId> {
        self.runnable_list.values().copied().collect()
    }

    /// `prev_balance`: the CPU begins to pick a task. To be called at each pick, whatever runs there, before any class looks
    /// for work.
    pub fn begin_pick(&mut self) {
        self.bal_pending = true;
    }

    /// The next pick keeps the current task: there is one.
    pub fn keep_prev(&mut self) -> bool {
        self.bal_keep = true;
        true
    }

    /// `set_tsk_need_resched(next)`: whether the idle thread that was picked finds a task after all. To be asked once the
    /// CPU has picked and its wish to reschedule is cleared: what wishes it earlier in the pass is fulfilled by the pass.
    pub fn take_resched_next(&mut self) -> bool {
        std::mem::take(&mut self.resched_next)
    }

    /// `task` becomes the last of the runnable ones; its place.
    pub fn add_runnable(&mut self, task: TaskId) -> u64 {
        let node = self.runnable_list.last_key_value().map_or(0, |(last, _)| last + 1);
        self.runnable_list.insert(node, task);
        node
    }

    /// The task at this place is not runnable any more, or runs.
    pub fn remove_runnable(&mut self, node: u64) {
        self.runnable_list.remove(&node);
    }
}

/// All CPUs, by [`CpuId`], and which of them have put off work.
#[derive(Debug)]
pub struct Rqs {
    rqs: Vec<ScxRq>,
    /// CPUs whose deferred work must be done after the present hook.
    deferred: VecDeque<CpuId>,
}

impl Rqs {
    /// The CPUs of a machine.
    pub fn new(rqs: Vec<ScxRq>) -> Self {
        Self { rqs, deferred: VecDeque::new() }
    }

    /// `scx_rq_online`: `cpu` schedules, and the scheduler knows.
    pub fn is_online(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        self[cpu].online && kernel.topology.online.test(cpu)
    }

    /// `schedule_deferred`: [`Ctx::run_deferred`](super::Ctx::run_deferred) shall be called for `cpu`: during a wakeup when
    /// that is done, else when the present hook is done. (The kernel knows two ways for that, a balance callback and an
    /// interrupt; both come after the present hook and before anything else.)
    pub fn schedule_deferred(&mut self, cpu: CpuId) {
        if !self[cpu].in_wakeup && !self.deferred.contains(&cpu) {
            self.deferred.push_back(cpu);
        }
    }

    /// The next CPU that has put off work.
    pub fn take_deferred(&mut self) -> Option<CpuId> {
        self.deferred.pop_front()
    }

    /// `wakeup_preempt_scx` of 7.x for a task of a more urgent class: tasks that were to run at once on `cpu` cannot.
    pub fn wakeup_preempt(&mut self, cpu: CpuId) {
        if self[cpu].nr_immed > 0 {
            self.schedule_reenq_local(cpu, 0);
        }
    }

    /// `schedule_reenq_local`: tasks of the local queue of `cpu` are to be given back; ignored while bypassing.
    pub fn schedule_reenq_local(&mut self, cpu: CpuId, reenq_flags: u64) {
        if !self[cpu].bypassing {
            self[cpu].reenqueue.add_local(reenq_flags);
            self.schedule_deferred(cpu);
        }
    }
}

impl Index<CpuId> for Rqs {
    type Output = ScxRq;

    #[inline]
    fn index(&self, cpu: CpuId) -> &ScxRq {
        &self.rqs[cpu.index()]
    }
}

impl IndexMut<CpuId> for Rqs {
    #[inline]
    fn index_mut(&mut self, cpu: CpuId) -> &mut ScxRq {
        &mut self.rqs[cpu.index()]
    }
}
