// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU as sched_ext sees it (`struct scx_rq`).

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::entity::{Entities, Neighbours};
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
    /// First and last of the runnable tasks that do not run, in the order of becoming so (`runnable_list`); their entities know
    /// their neighbours.
    runnable: Option<(TaskId, TaskId)>,
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

    /// Runnable tasks that do not run, in the order of becoming so (`runnable_list`).
    pub fn runnable_list(&self, tasks: &Entities) -> Vec<TaskId> {
        let after = |task: &TaskId| tasks[*task].waits.and_then(|links| links.next);
        std::iter::successors(self.runnable.map(|(first, _)| first), after).collect()
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

    /// `task`, which is in no list, becomes the last of the runnable ones.
    pub fn add_runnable(&mut self, tasks: &mut Entities, task: TaskId) {
        debug_assert!(tasks[task].waits.is_none(), "a task waits once");
        let ends = self.runnable;
        tasks[task].waits = Some(Neighbours { prev: ends.map(|(_, last)| last), next: None });
        if let Some((_, last)) = ends
            && let Some(links) = &mut tasks[last].waits
        {
            links.next = Some(task);
        }
        self.runnable = Some((ends.map_or(task, |(first, _)| first), task));
    }

    /// `task` is not runnable any more, or runs; nothing happens if it is not in the list.
    pub fn remove_runnable(&mut self, tasks: &mut Entities, task: TaskId) {
        let Some(Neighbours { prev, next }) = tasks[task].waits.take() else { return };
        if let Some(links) = prev.and_then(|prev| tasks[prev].waits.as_mut()) {
            links.next = next;
        }
        if let Some(links) = next.and_then(|next| tasks[next].waits.as_mut()) {
            links.prev = prev;
        }
        if let Some((first, last)) = self.runnable {
            let first = if first == task { next } else { Some(first) };
            let last = if last == task { prev } else { Some(last) };
            self.runnable = first.zip(last);
        }
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

    /// Whether a CPU has put off work.
    #[inline]
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scx::entity::ScxEntity;

    #[test]
    fn tasks_wait_in_the_order_of_becoming_runnable() {
        let (mut rq, mut tasks) = (ScxRq::default(), Entities::default());
        (0..4).for_each(|_| tasks.push(ScxEntity::default()));
        for task in [2, 0, 3, 1] {
            rq.add_runnable(&mut tasks, TaskId(task));
        }
        let list = |rq: &ScxRq, tasks: &Entities| rq.runnable_list(tasks).iter().map(|task| task.0).collect::<Vec<_>>();
        assert_eq!(list(&rq, &tasks), [2, 0, 3, 1]);
        for (gone, left) in [(0, &[2, 3, 1][..]), (2, &[3, 1]), (2, &[3, 1]), (1, &[3]), (3, &[])] {
            rq.remove_runnable(&mut tasks, TaskId(gone));
            assert_eq!(list(&rq, &tasks), left, "{gone} is gone");
        }
        rq.add_runnable(&mut tasks, TaskId(1));
        assert_eq!(list(&rq, &tasks), [1]);
    }
}
