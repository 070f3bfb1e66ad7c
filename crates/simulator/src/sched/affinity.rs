// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs a task may use: what it asked for, as far as the group that it is in allows (`sched_setaffinity`, cpusets).

use std::sync::Arc;

use super::core::{Sched, class_of};
use super::ext::loaded;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::{ClassId, Task, TaskState};
use crate::units::{CgroupId, CpuId, TaskId};

/// None of the CPUs that a task asks for are among its group's (`EINVAL` of `sched_setaffinity`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its group has none of them")]
pub struct OutsideGroup;

impl Sched {
    /// The CPUs that a new task in `group` may use that asks for `wish` (`None`: any).
    ///
    /// # Errors
    /// The group has none of these.
    pub fn cpus_in_group(
        &self,
        group: CgroupId,
        wish: Option<Arc<CpuMask>>,
    ) -> Result<Option<Arc<CpuMask>>, OutsideGroup> {
        let Some(cpuset) = self.cpuset_cpus_allowed(group) else { return Ok(wish) };
        let Some(wish) = wish else { return Ok(Some(cpuset)) };
        let both = wish.and(&cpuset);
        if both.intersects(&self.kernel.topology.online) { Ok(Some(Arc::new(both))) } else { Err(OutsideGroup) }
    }

    /// The CPUs of `group`, or of the nearest group above that has one which is online (`guarantee_online_cpus`); `None`: all.
    pub fn cpuset_cpus_allowed(&self, group: CgroupId) -> Option<Arc<CpuMask>> {
        let (groups, online) = (&self.kernel.cgroups, &self.kernel.topology.online);
        let of = |group: CgroupId| groups.get(group).effective_cpus.as_ref();
        let usable = |group: &CgroupId| of(*group).is_none_or(|cpus| cpus.intersects(online));
        groups.ancestors(group).find(usable).and_then(of).cloned()
    }

    /// `sched_setaffinity`: `task` asks for these CPUs (`None`: any).
    ///
    /// # Errors
    /// Its group has none of them; nothing changes then.
    pub fn sched_setaffinity(&mut self, task: TaskId, wish: Option<Arc<CpuMask>>) -> Result<(), OutsideGroup> {
        let allowed = self.cpus_in_group(self.kernel.task(task).cgroup, wish.clone())?;
        self.kernel.task_mut(task).asked_cpus = wish;
        self.set_affinity(task, allowed);
        Ok(())
    }

    /// `task` is in another group, or that has other CPUs (`cpuset_attach_task`): what it asked for counts as far as it can.
    pub(super) fn cpuset_attach_task(&mut self, task: TaskId) {
        let entry = self.kernel.task(task);
        let (group, wish) = (entry.cgroup, entry.asked_cpus.clone());
        let allowed = match self.cpus_in_group(group, wish) {
            Ok(allowed) => allowed,
            Err(OutsideGroup) => self.cpuset_cpus_allowed(group),
        };
        // A task whose CPUs all went offline may use any, until it asks again.
        let usable = allowed.as_ref().is_none_or(|cpus| cpus.intersects(&self.kernel.topology.online));
        if usable && allowed != self.kernel.task(task).allowed {
            self.set_affinity(task, allowed);
        }
    }

    /// `cpuset.cpus` of some group has changed: its tasks, and those of groups in it, may use other CPUs
    /// (`cpuset_update_tasks_cpumask`).
    pub(super) fn update_tasks_cpumask(&mut self) {
        self.kernel.cgroups.update_effective_cpus();
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            if self.kernel.task(task).state != TaskState::Dead {
                self.cpuset_attach_task(task);
            }
        }
    }

    /// `set_cpus_allowed_ptr`: a running or waiting task that may no longer use its CPU moves. Where it would go is chosen whether or
    /// not it must, which moves the turn.
    pub fn set_affinity(&mut self, task: TaskId, allowed: Option<Arc<CpuMask>>) {
        let changes = self.changes_affinity(task, allowed.as_deref());
        if !changes {
            // `cpumask_equal`: nothing is done but for CPUs that are offline.
            return self.set_cpus_allowed(task, allowed);
        }
        self.do_set_cpus_allowed(task, |task| task.allowed = allowed);
        let dst = self.any_and_distribute(task);
        let entry = self.kernel.task(task);
        if !entry.may_use(entry.cpu) && entry.state == TaskState::Runnable {
            self.kernel.stop_moves.push((task, dst));
        }
    }

    /// Whether `task` may use other CPUs of those that are there once it may use `allowed`.
    fn changes_affinity(&self, task: TaskId, allowed: Option<&CpuMask>) -> bool {
        let entry = self.kernel.task(task);
        let may = |cpu: CpuId| allowed.is_none_or(|mask| mask.test(cpu));
        self.kernel.topology.online.iter().any(|cpu| entry.may_use(cpu) != may(cpu))
    }

    /// `__do_set_cpus_allowed`: does `change`, of which CPUs `task` may use, with the task off its queue and its CPU, as a
    /// task that changes its priority is. (A task that sleeps but stands on its queue still is left there.)
    pub(super) fn do_set_cpus_allowed(&mut self, task: TaskId, change: impl FnOnce(&mut Task)) {
        let (cpu, running) = (self.kernel.task(task).cpu, self.kernel.task_current(task));
        let queued = self.kernel.task(task).state == TaskState::Runnable;
        match self.kernel.task(task).class {
            ClassId::Ext => {
                let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
                // Threads change their own.
                ctx.scx.calls.set_this_cpu(cpu);
                return ctx.do_set_cpus_allowed(task, change);
            }
            // Without `DEQUEUE_MOVE` it keeps its place in the queue (`move_entity`), and the governor hears of both.
            ClassId::Rt if queued => {
                self.book_runtime_scx(cpu);
                self.rt.update_curr(&mut self.kernel, cpu);
                self.kernel.cpufreq_update_util(cpu);
                change(self.kernel.task_mut(task));
            }
            ClassId::Dl | ClassId::Fair if queued => {
                self.book_runtime_scx(cpu);
                self.requeue_around(task, cpu, running, change);
            }
            ClassId::Rt | ClassId::Dl | ClassId::Fair => change(self.kernel.task_mut(task)),
        }
        self.mirror_cpus_allowed_scx(task);
    }

    /// Takes `task` of `cpu` off its queue (`DEQUEUE_SAVE`), does `change`, and puts it back (`ENQUEUE_RESTORE`).
    fn requeue_around(&mut self, task: TaskId, cpu: CpuId, running: bool, change: impl FnOnce(&mut Task)) {
        class_of!(self, task, dequeue_task, task, Dequeue::Save);
        if running {
            class_of!(self, task, put_prev_task, cpu, task);
        }
        change(self.kernel.task_mut(task));
        class_of!(self, task, enqueue_task, task, Enqueue::Restore);
        if running {
            class_of!(self, task, set_next_task, cpu, task);
            self.begin_runtime_scx(cpu, task);
        }
    }

    /// `affine_move_task`: the stopper will move a task that may no longer use its CPU.
    pub(super) fn leave_for_allowed_cpu(&mut self, task: TaskId) {
        let dst = self.any_and_distribute(task);
        self.kernel.stop_moves.push((task, dst));
    }

    /// `cpumask_any_and_distribute`: the allowed CPUs in turn, so that threads that pin themselves to the same set
    /// spread over it. The turn is that of the calling CPU, for which the task's stands: mostly tasks change their own affinity.
    fn any_and_distribute(&mut self, task: TaskId) -> CpuId {
        let this_cpu = self.kernel.task(task).cpu;
        let last = CpuId(*self.distribute_cpu_mask_prev(this_cpu));
        let usable = |cpu: &CpuId| self.kernel.task(task).may_use(*cpu);
        let allowed = || self.kernel.topology.online.iter().filter(usable);
        let next = allowed().find(|cpu| *cpu > last).or_else(|| allowed().next());
        if let Some(next) = next {
            *self.distribute_cpu_mask_prev(this_cpu) = next.0;
        }
        next.unwrap_or(this_cpu)
    }

    /// The CPU that `cpumask_any_and_distribute` last gave on `cpu`. A loaded scheduler that looks for an idle CPU goes on from there.
    fn distribute_cpu_mask_prev(&mut self, cpu: CpuId) -> &mut u32 {
        match &mut self.ext {
            Some(ext) => ext.vm.distribute_cursor(cpu.0),
            None => &mut self.kernel.distributed[cpu.index()],
        }
    }
}
