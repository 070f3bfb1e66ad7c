// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where deadline tasks go: to a CPU without any, else to that with the latest deadline. A CPU with too many pushes them,
//! one with none left pulls them.

use super::Dl;
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::ClassId;
use crate::units::{CpuId, TaskId};

impl Dl {
    /// `dl_entity_preempt`: `a` has the earlier deadline.
    pub(super) fn preempts(&self, a: TaskId, b: TaskId) -> bool {
        self.entities[a.index()].deadline < self.entities[b.index()].deadline
    }

    /// The running task of `cpu`, if it is a deadline task.
    fn running(&self, kernel: &Kernel, cpu: CpuId) -> Option<TaskId> {
        kernel.rq(cpu).curr.filter(|curr| kernel.task(*curr).class == ClassId::Dl)
    }

    /// `dl_task_is_earliest_deadline`.
    fn is_earliest(&self, task: TaskId, cpu: CpuId) -> bool {
        let first = self.rqs[cpu.index()].first();
        first.is_none_or(|(deadline, _)| self.entities[task.index()].deadline < deadline)
    }

    /// `cpudl_find`: allowed CPUs without deadline tasks, those large enough if there are any, else the largest; or the
    /// CPU whose earliest deadline is the latest, if it is later than the task's.
    fn later_mask(&self, kernel: &Kernel, task: TaskId) -> Option<CpuMask> {
        let mask = |cpus: &[CpuId]| Some(CpuMask::of(kernel.topology.nr_cpus, cpus.iter().copied()));
        let online = &kernel.topology.online;
        let free = |cpu: &CpuId| self.rqs[cpu.index()].len() == 0 && kernel.task(task).may_use(*cpu);
        let mut free: Vec<CpuId> = online.iter().filter(free).collect();
        if !free.is_empty() {
            if kernel.topology.asym.iter().any(Option::is_some) {
                let own = kernel.task(task).cpu;
                let largest = free
                    .iter()
                    .copied()
                    .max_by_key(|cpu| (kernel.rq(*cpu).capacity_orig, *cpu == own, std::cmp::Reverse(*cpu)));
                free.retain(|cpu| self.fits_capacity(kernel, task, *cpu));
                if free.is_empty() {
                    free.extend(largest);
                }
            }
            return mask(&free);
        }
        let deadline = |cpu: CpuId| self.rqs[cpu.index()].first().map(|(deadline, _)| (deadline, cpu));
        let (latest, cpu) =
            online.iter().filter_map(deadline).max_by_key(|(at, cpu)| (*at, std::cmp::Reverse(*cpu)))?;
        let later = kernel.task(task).may_use(cpu) && self.entities[task.index()].deadline < latest;
        if later { mask(&[cpu]) } else { None }
    }

    /// `find_later_rq`: one of these CPUs, near the task's or the waker's.
    fn find_later_rq(&mut self, kernel: &Kernel, task: TaskId, this_cpu: CpuId) -> Option<CpuId> {
        if kernel.task(task).is_pinned() {
            return None;
        }
        let mask = self.later_mask(kernel, task)?;
        kernel.nearest_of(&mask, kernel.task(task).cpu, this_cpu, &mut self.distributed)
    }

    /// `select_task_rq_dl`: the CPU it last ran on, unless an earlier deadline or one that cannot leave runs there, or it
    /// is too small.
    pub(super) fn select_cpu(&mut self, kernel: &Kernel, task: TaskId, this_cpu: CpuId) -> CpuId {
        let prev = kernel.task(task).cpu;
        let stays = |curr: TaskId| kernel.task(curr).is_pinned() || !self.preempts(task, curr);
        let taken = self.running(kernel, prev).is_some_and(stays) && !kernel.task(task).is_pinned();
        let small = kernel.topology.asym.iter().any(Option::is_some) && !self.fits_capacity(kernel, task, prev);
        if !taken && !small {
            return prev;
        }
        let target = self.find_later_rq(kernel, task, this_cpu);
        target.filter(|target| self.is_earliest(task, *target)).unwrap_or(prev)
    }

    /// `check_preempt_equal_dl`: `task` can go nowhere else but the current one can, so they change places.
    pub(super) fn check_preempt_equal(&self, kernel: &mut Kernel, cpu: CpuId, task: TaskId, curr: TaskId) {
        let movable = |task| !kernel.task(task).is_pinned() && self.later_mask(kernel, task).is_some();
        if movable(curr) && !movable(task) {
            kernel.resched_curr(cpu);
        }
    }

    /// `task_woken_dl`: a task that woke but does not get this CPU may go to another one.
    pub fn task_woken(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = self.running(kernel, cpu) else { return };
        let stays = kernel.task(curr).is_pinned() || !self.preempts(task, curr);
        if curr != task && stays && !kernel.rq(cpu).need_resched && !kernel.task(task).is_pinned() {
            self.push_dl_tasks(kernel, cpu);
        }
    }

    /// `push_dl_tasks`: tasks that wait here go where they can run.
    pub fn push_dl_tasks(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        while self.push_dl_task(kernel, cpu) {}
    }

    /// `push_dl_task`: the waiting task with the earliest deadline goes to another CPU; true if one went.
    pub(super) fn push_dl_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        if !self.overloaded.test(cpu) {
            return false;
        }
        let pushable = |task: &TaskId| kernel.rq(cpu).curr != Some(*task) && !kernel.task(*task).is_pinned();
        let Some(task) = self.rqs[cpu.index()].iter().find(pushable) else { return false };
        if let Some(curr) = self.running(kernel, cpu)
            && self.preempts(task, curr)
            && !kernel.task(curr).is_pinned()
        {
            kernel.resched_curr(cpu);
            return false;
        }
        let Some(dst) = self.find_later_rq(kernel, task, cpu).filter(|dst| *dst != cpu) else { return false };
        if !self.is_earliest(task, dst) {
            return false;
        }
        self.move_task(kernel, task, dst, cpu);
        kernel.resched_curr(dst);
        true
    }

    /// `pull_dl_task`: of every other CPU with too many, the waiting task with the earliest deadline, if it would be the
    /// first here; whether one came. One that is about to preempt there stays.
    pub(super) fn pull_dl_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        let mut came = false;
        let sources: Vec<CpuId> = self.overloaded.iter().filter(|other| *other != cpu).collect();
        for src in sources {
            let may_come = |task: &TaskId| kernel.rq(src).curr != Some(*task) && kernel.task(*task).may_use(cpu);
            let Some(task) = self.rqs[src.index()].iter().find(may_come) else { continue };
            let preempts = self.running(kernel, src).is_none_or(|curr| self.preempts(task, curr));
            if !preempts && self.is_earliest(task, cpu) {
                self.move_task(kernel, task, cpu, cpu);
                came = true;
            }
        }
        came
    }

    /// The task of `cpu` that was the only one has left the class, or a task's reservation has changed where no other one
    /// waits: the next may come from elsewhere (`deadline_queue_pull_task`).
    pub fn deadline_queue_pull_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if !self.overloaded.is_empty() && self.pull_dl_task(kernel, cpu) {
            kernel.resched_curr(cpu);
        }
    }

    /// Whether a deadline task waits on `cpu` behind another one (`rq->dl.overloaded`).
    pub fn is_overloaded(&self, cpu: CpuId) -> bool {
        self.overloaded.test(cpu)
    }

    fn move_task(&mut self, kernel: &mut Kernel, task: TaskId, dst: CpuId, this_cpu: CpuId) {
        let before = kernel.begin_move(this_cpu);
        self.dequeue_task(kernel, task, Dequeue::Save);
        kernel.set_task_cpu(task, dst);
        self.enqueue_task(kernel, task, Enqueue::Migrating);
        kernel.works_on_others(before);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::kernel::params::KernelParameters;
    use crate::kernel::switching::Switching;
    use crate::kernel::task::Task;
    use crate::machine::Machine;
    use crate::units::MSEC;
    use crate::workload::{Policy, Scheduling};

    /// A task with 4 ms of every 20, queued on CPU 0 at 0.
    fn late() -> (Kernel, Dl, TaskId) {
        let machine = Machine::load("smp-8").unwrap();
        let mut kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
        let policy = Policy::Deadline { runtime: 4 * MSEC, deadline: 20 * MSEC, period: 20 * MSEC };
        let scheduling = Scheduling { policy, ..Scheduling::default() };
        let task = TaskId(0);
        kernel.tasks.push(Task::new(task, scheduling, None, Switching::default()));
        let mut dl = Dl::new(&kernel);
        dl.task_new(&kernel, task);
        dl.enqueue_task(&mut kernel, task, Enqueue::New);
        dl.entities[0].runtime = MSEC as i64;
        kernel.now = 30 * MSEC;
        (kernel, dl, task)
    }

    #[test]
    fn a_late_task_that_is_pushed_keeps_its_deadline_and_budget() {
        let (mut kernel, mut dl, task) = late();
        dl.move_task(&mut kernel, task, CpuId(1), CpuId(0));
        assert_eq!((dl.entities[0].deadline, dl.entities[0].runtime), (20 * MSEC, MSEC as i64));
        assert_eq!(dl.rqs[1].first(), Some((20 * MSEC, task)));
        assert_eq!((dl.bandwidth(CpuId(0)), dl.bandwidth(CpuId(1))), (0, 204), "a fifth of 1024 goes along");
    }

    #[test]
    fn a_late_task_whose_parameters_change_begins_anew() {
        let (mut kernel, mut dl, task) = late();
        dl.dequeue_task(&mut kernel, task, Dequeue::Save);
        dl.enqueue_task(&mut kernel, task, Enqueue::Restore);
        assert_eq!((dl.entities[0].deadline, dl.entities[0].runtime), (50 * MSEC, 4 * MSEC as i64));
    }
}
