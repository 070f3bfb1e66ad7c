// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that stay on their CPU for a while (`migrate_disable`, `migrate_enable`).
//!
//! A task that only runs is not touched. One that leaves its CPU meanwhile has `cpus_ptr` narrowed to that CPU, after it was
//! queued, and wide again once migration is enabled; a loaded scheduler hears of both (`set_cpumask`), and the task is taken
//! off its queue and put back around it.
//!
//! Left out: a CPU that goes offline waits for such tasks in a kernel (`balance_hotplug_wait`), and here they move as others do;
//! and a waiting real-time task that must stay does not push the running one away (`get_push_task`).

use super::core::Sched;
use super::ext::loaded;
use crate::kernel::task::{ClassId, TaskState};
use crate::units::{CpuId, TaskId};

impl Sched {
    /// `migrate_disable` by `task`, which runs. Calls nest.
    pub fn migrate_disable(&mut self, task: TaskId) {
        let count = self.kernel.task(task).migration_disabled.saturating_add(1);
        self.set_migration_disabled(task, count);
    }

    /// `migrate_enable` by `task`, which runs: undoes one [`Sched::migrate_disable`]; without one nothing happens. If
    /// the affinity has changed meanwhile, the task may have to leave its CPU.
    pub fn migrate_enable(&mut self, task: TaskId) {
        let count = self.kernel.task(task).migration_disabled;
        if count > 1 {
            return self.set_migration_disabled(task, count - 1);
        }
        if count == 0 {
            return;
        }
        self.widen(task);
        self.set_migration_disabled(task, 0);
        if !self.kernel.task(task).may_use(self.kernel.task(task).cpu) {
            self.leave_for_allowed_cpu(task);
        }
    }

    /// `migrate_disable_switch`: `prev` has left its CPU to another task.
    pub(super) fn migrate_disable_switch(&mut self, prev: TaskId) {
        let task = self.kernel.task(prev);
        if !task.is_migration_disabled() || task.narrowed || task.state == TaskState::Dead {
            return;
        }
        self.set_narrowed(prev, true);
    }

    /// The CPU on which a task wakes that must stay (`select_task_rq`): the class is not asked.
    pub(super) fn stay_on_cpu(&mut self, task: TaskId) -> CpuId {
        self.rq_not_selected(task);
        self.kernel.task(task).cpu
    }

    /// `task` wakes without its class having been asked for a CPU (no `WF_RQ_SELECTED`).
    pub(super) fn rq_not_selected(&mut self, task: TaskId) {
        if self.kernel.task(task).class == ClassId::Ext {
            loaded(&mut self.ext).state.tasks[task].rq_selected = false;
        }
    }

    /// `cpu` goes: its tasks need not stay any longer.
    pub(super) fn release_migration_disabled(&mut self, cpu: CpuId) {
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            let known = self.kernel.task(task);
            if known.cpu == cpu && known.is_migration_disabled() && known.state != TaskState::Dead {
                self.widen(task);
                self.set_migration_disabled(task, 0);
            }
        }
    }

    fn widen(&mut self, task: TaskId) {
        if self.kernel.task(task).narrowed {
            self.set_narrowed(task, false);
        }
    }

    /// `__do_set_cpus_allowed` with `SCA_MIGRATE_DISABLE` or `SCA_MIGRATE_ENABLE`.
    fn set_narrowed(&mut self, task: TaskId, narrowed: bool) {
        if self.kernel.task(task).class != ClassId::Ext {
            return self.do_set_cpus_allowed(task, |task| task.narrowed = narrowed);
        }
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        let cpu = ctx.kernel.task(task).cpu;
        ctx.scx.calls.set_this_cpu(cpu);
        // It is still the current one until the switch is through, although the run queue says otherwise.
        let maker = ctx.scx.calls.maker.replace(ctx.scx.guest.task(task));
        ctx.do_set_cpus_allowed(task, |task| task.narrowed = narrowed);
        ctx.scx.calls.maker = maker;
    }

    fn set_migration_disabled(&mut self, task: TaskId, count: u16) {
        self.kernel.task_mut(task).migration_disabled = count;
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
        {
            scx.state.guest.set_migration_disabled(&mut scx.vm.memory, task, count);
        }
    }
}
