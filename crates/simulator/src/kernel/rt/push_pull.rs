// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where real-time tasks go: to the CPU with the least urgent work. A CPU with too many pushes them, one with none pulls
//! them.

use super::Rt;
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::{ClassId, DL_PRIORITY};
use crate::units::{CpuId, TaskId};

/// Priority of the thread that stops all others (`sched_set_stop_task`).
const STOPPER_PRIORITY: u8 = 99;

/// `rt_task_fits_capacity`: where CPUs differ, a real-time task wants one with its lower clamp's capacity; the default
/// is the largest there is (`sched_util_clamp_min_rt_default`).
fn fits_capacity(kernel: &Kernel, task: TaskId, cpu: CpuId) -> bool {
    if kernel.topology.asym[cpu.index()].is_none() {
        return true;
    }
    let (min, max) = kernel.task(task).uclamp_eff_value();
    u64::from(kernel.rq(cpu).capacity_orig) >= min.min(max)
}

impl Rt {
    /// Priority of the most urgent task on `cpu`, 0 if there is none above fair, whether it idles or not (`cpupri`).
    fn priority_of(&self, kernel: &Kernel, cpu: CpuId) -> u8 {
        if kernel.rq(cpu).dl_nr_running > 0 { DL_PRIORITY } else { self.rt_priority_of(kernel, cpu) }
    }

    /// Priority of the most urgent real-time task on `cpu`, 0 if there is none (`rt.highest_prio.curr`).
    fn rt_priority_of(&self, kernel: &Kernel, cpu: CpuId) -> u8 {
        self.rqs[cpu.index()].first().map_or(0, |task| kernel.task(task).rt_priority)
    }

    /// `cpupri_find_fitness`: the allowed CPUs with the least urgent work, if less urgent than `task`; those that fit it
    /// come before all others.
    fn lowest_mask(&self, kernel: &Kernel, task: TaskId) -> Option<CpuMask> {
        let priority = kernel.task(task).rt_priority;
        let rank = |cpu: CpuId| (!fits_capacity(kernel, task, cpu), self.priority_of(kernel, cpu));
        let less_urgent = |cpu: &CpuId| kernel.task(task).may_use(*cpu) && self.priority_of(kernel, *cpu) < priority;
        let best = kernel.topology.online.iter().filter(less_urgent).map(rank).min()?;
        let equal = kernel.topology.online.iter().filter(less_urgent).filter(|cpu| rank(*cpu) == best);
        Some(CpuMask::of(kernel.topology.nr_cpus, equal))
    }

    /// `find_lowest_rq`: one of these CPUs, near the task's or the waker's.
    pub(super) fn find_lowest_rq(&mut self, kernel: &Kernel, task: TaskId, this_cpu: CpuId) -> Option<CpuId> {
        if kernel.task(task).is_pinned() {
            return None;
        }
        let mask = self.lowest_mask(kernel, task)?;
        kernel.nearest_of(&mask, kernel.task(task).cpu, this_cpu, &mut self.distributed)
    }

    /// `select_task_rq_rt`: the CPU it last ran on, unless a real-time task there has to or wants to stay, or it is too
    /// small. That another CPU idles is no reason to leave.
    pub(super) fn select_cpu(&mut self, kernel: &Kernel, task: TaskId, this_cpu: CpuId) -> CpuId {
        let prev = kernel.task(task).cpu;
        let priority = kernel.task(task).rt_priority;
        let curr = self.rqs[prev.index()].curr;
        let stays = curr.is_some_and(|curr| kernel.task(curr).is_pinned() || kernel.task(curr).rt_priority >= priority);
        if !stays && fits_capacity(kernel, task, prev) {
            return prev;
        }
        match self.find_lowest_rq(kernel, task, this_cpu) {
            Some(target) if !stays && !fits_capacity(kernel, task, target) => prev,
            Some(target) => target,
            None => prev,
        }
    }

    /// `check_preempt_equal_prio`: `task` can go nowhere else but the current one can, so they change places.
    pub(super) fn check_preempt_equal_prio(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId, curr: TaskId) {
        let movable = |rt: &Self, task| !kernel.task(task).is_pinned() && rt.lowest_mask(kernel, task).is_some();
        if movable(self, curr) && !movable(self, task) {
            self.rqs[cpu.index()].requeue(kernel.task(task).rt_priority, task, true);
            kernel.resched_curr(cpu);
        }
    }

    /// `task_woken_rt`: a task that woke but does not get this CPU may go to another one.
    pub fn task_woken(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = kernel.rq(cpu).curr.filter(|curr| kernel.task(*curr).class < ClassId::Fair) else { return };
        let curr_stays =
            kernel.task(curr).is_pinned() || kernel.task(curr).rt_priority >= kernel.task(task).rt_priority;
        if curr_stays && !kernel.rq(cpu).need_resched && !kernel.task(task).is_pinned() {
            self.push_rt_tasks(kernel, cpu);
        }
    }

    /// `push_rt_tasks`: tasks that wait here although other CPUs have less urgent work go there.
    pub fn push_rt_tasks(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        while self.overloaded.test(cpu) && self.push_rt_task(kernel, cpu) {}
    }

    fn push_rt_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        let pushable = |task: &TaskId| !kernel.task(*task).on_cpu && !kernel.task(*task).is_pinned();
        let Some(task) = self.rqs[cpu.index()].iter().find(pushable) else { return false };
        let curr = kernel.rq(cpu).curr.map_or(0, |curr| kernel.task(curr).rt_priority);
        if kernel.task(task).rt_priority > curr {
            kernel.resched_curr(cpu);
            return false;
        }
        let Some(dst) = self.find_lowest_rq(kernel, task, cpu).filter(|dst| *dst != cpu) else { return false };
        self.move_task(kernel, task, dst, cpu);
        kernel.resched_curr(dst);
        true
    }

    /// `need_pull_rt_task`, and the condition before it in `balance_rt`: the task that leaves `cpu`, of this class or the one
    /// above, is on no queue of this class, and leaves only less urgent ones behind.
    pub(super) fn need_pull_rt_task(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        let Some(prev) = kernel.rq(cpu).curr else { return false };
        let task = kernel.task(prev);
        task.class <= ClassId::Rt
            && self.rt_priority_of(kernel, cpu) < task.rt_priority
            && self.rqs[cpu.index()].iter().all(|queued| queued != prev)
    }

    /// `balance_rt` when the thread that stops all others leaves `cpu`, after it moved a task away: it is more urgent than
    /// all tasks of this class but those of priority 99.
    pub fn stopper_leaves(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if self.overloaded.is_empty() || !kernel.topology.online.test(cpu) {
            return;
        }
        if self.rt_priority_of(kernel, cpu) < STOPPER_PRIORITY {
            self.pull_rt_task(kernel, cpu);
        }
    }

    /// A running task of this class on `cpu` has become less urgent, or the last one has left the class
    /// (`rt_queue_pull_task`).
    pub fn rt_queue_pull_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if !self.overloaded.is_empty() && self.pull_rt_task(kernel, cpu) {
            kernel.resched_curr(cpu);
        }
    }

    /// `switched_from_rt`: a queued task of `cpu` has left the class; if it was the last one, others may come.
    pub fn switched_from(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if self.rqs[cpu.index()].nr_running == 0 {
            self.rt_queue_pull_task(kernel, cpu);
        }
    }

    /// `pull_rt_task`: the most urgent waiting task of another CPU that is more urgent than all here; whether one came. One
    /// that is about to preempt there stays.
    pub(super) fn pull_rt_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        let here = self.rt_priority_of(kernel, cpu);
        let waiting = |src: CpuId| {
            let curr = kernel.rq(src).curr.map_or(0, |curr| kernel.task(curr).rt_priority);
            let may_come = |task: &TaskId| !kernel.task(*task).on_cpu && kernel.task(*task).may_use(cpu);
            self.rqs[src.index()].iter().find(may_come).filter(|task| kernel.task(*task).rt_priority <= curr)
        };
        let sources = self.overloaded.iter().filter(|other| *other != cpu);
        let best = sources.filter_map(waiting).max_by_key(|task| (kernel.task(*task).rt_priority, u32::MAX - task.0));
        let Some(task) = best.filter(|task| kernel.task(*task).rt_priority > here) else { return false };
        self.move_task(kernel, task, cpu, cpu);
        true
    }

    fn move_task(&mut self, kernel: &mut Kernel, task: TaskId, dst: CpuId, this_cpu: CpuId) {
        let before = kernel.begin_move(this_cpu);
        self.dequeue_task(kernel, task, Dequeue::Save);
        kernel.set_task_cpu(task, dst);
        self.enqueue_task(kernel, task, Enqueue::Migrating);
        kernel.works_on_others(before);
    }
}
