// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks change into and out of the class of a loaded scheduler; the classes stand side by side only here.
//!
//! What ext.c does without other classes is in [`crate::scx`].

use super::Kernel;
use std::sync::Arc;

use super::class::SchedClass;
use super::core::{Scheduler, Switch};
use super::cpumask::CpuMask;
use super::task::{ClassId, TaskState};
use crate::scx::Scx;
use crate::scx::abi::GuestTaskInfo;
use crate::scx::abi::profile::{PF_EXITING, Version};
use crate::scx::class::Next;
use crate::scx::enable::{InvalidOps, SCX_OPS_SWITCH_PARTIAL, check_ops};
use crate::scx::exit::ExitInfo;
use crate::units::{CpuId, TaskId};
use crate::workload::Policy;

/// Which tasks a loaded scheduler has (`scx_enabled`, `scx_switching_all`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// None: there is no scheduler, or it goes.
    #[default]
    Off,
    /// Those with the policy `SCHED_EXT` (`SCX_OPS_SWITCH_PARTIAL`).
    Partial,
    /// All that would be fair.
    All,
}

impl Switching {
    /// The class of a task with `policy`, unless it is a real-time or deadline policy (`task_should_scx`).
    pub fn class(self, policy: Policy) -> ClassId {
        match self {
            Self::All => ClassId::Ext,
            Self::Partial if policy.is_ext() => ClassId::Ext,
            Self::Partial | Self::Off => ClassId::Fair,
        }
    }
}

/// The number of a thread in a trace and for programs: 0 is the idle thread's, 1 that of init.
pub fn guest_pid(task: TaskId) -> i32 {
    task.0 as i32 + 2
}

/// The class whose tasks these are.
///
/// # Panics
/// Without a scheduler; then no task belongs to it.
pub(crate) fn loaded(ext: &mut Option<Box<Scx>>) -> &mut Scx {
    ext.as_mut().expect("only a loaded scheduler has tasks")
}

impl Scheduler {
    /// Loads a scheduler (`scx_ops_enable_workfn`); its `init` runs on `cpu`. Objects for all tasks that exist must be in
    /// its memory ([`Scheduler::scx_task_new`]). An error that the scheduler makes later than in its description leaves
    /// an exit [pending](crate::scx::exit::ExitState::pending), as does one at any other time.
    ///
    /// # Errors
    /// Its description is invalid; then nothing has changed.
    pub fn scx_enable(&mut self, mut scx: Box<Scx>, cpu: CpuId) -> Result<(), InvalidOps> {
        check_ops(&scx.state.ops, scx.state.profile)?;
        for task in scx.state.tasks.len()..self.kernel.tasks.len() {
            scx.task_new(&self.kernel, TaskId::at(task));
        }
        let partial = scx.state.ops.flags & SCX_OPS_SWITCH_PARTIAL != 0;
        self.kernel.ext_server = scx.state.profile.version == Version::V7;
        self.ext = Some(scx);
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        if ctx.scx_ops_enable(cpu).is_err() {
            return Ok(());
        }
        self.kernel.switching = if partial { Switching::Partial } else { Switching::All };
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            if self.kernel.task(task).state != TaskState::Dead {
                loaded(&mut self.ext).with(&mut self.kernel).scx_slice_dfl(task);
                self.scx_switch_class(task);
            }
        }
        loaded(&mut self.ext).with(&mut self.kernel).scx_ops_enabled();
        Ok(())
    }

    /// Takes down a scheduler whose exit is pending (`scx_ops_error_irq_workfn`, `scx_ops_disable_workfn`): its tasks are
    /// fair from now on. Says why; `None` if no exit is pending. Its maps and variables can still be read.
    pub fn scx_disable_workfn(&mut self) -> Option<ExitInfo> {
        let mut ctx = self.ext.as_mut()?.with(&mut self.kernel);
        let info = ctx.scx_ops_disable_begin()?;
        self.kernel.switching = Switching::Off;
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            if self.kernel.task(task).state != TaskState::Dead {
                self.scx_switch_class(task);
                loaded(&mut self.ext).with(&mut self.kernel).scx_ops_exit_task(task, info.cpu);
            }
        }
        loaded(&mut self.ext).with(&mut self.kernel).scx_ops_disable_end(&info);
        Some(info)
    }

    /// User space unloads the scheduler (`bpf_scx_unreg`), for instance at the end of a run.
    pub fn scx_unreg(&mut self) -> Option<ExitInfo> {
        self.ext.as_mut()?.with(&mut self.kernel).scx_unreg();
        self.scx_disable_workfn()
    }

    /// Makes the object of a task that exists before the scheduler is loaded.
    pub fn scx_task_new(&mut self, scx: &mut Scx, task: TaskId, info: &GuestTaskInfo<'_>) {
        scx.with(&mut self.kernel).scx_task_new(task, info);
    }

    /// A task comes into being, made on `cpu` (`scx_fork`, `scx_post_fork`): the scheduler hears of it, whatever its class.
    /// To be called between [`Scheduler::task_new`] and [`Scheduler::wake_up_new_task`].
    ///
    /// # Errors
    /// The negative errno with which the scheduler refuses it; there is no task then.
    pub fn scx_fork(&mut self, task: TaskId, cpu: CpuId, info: &GuestTaskInfo<'_>) -> Result<(), i32> {
        let Some(scx) = &mut self.ext else { return Ok(()) };
        let mut ctx = scx.with(&mut self.kernel);
        ctx.scx_task_new(task, info);
        let forked = ctx.scx_fork(task, cpu);
        match forked {
            Ok(()) => ctx.scx_post_fork(task, cpu),
            Err(_) => ctx.scx_cancel_fork(task, cpu),
        }
        forked
    }

    /// Gives `task` the class that its policy now stands for. (A kernel takes real-time tasks, too, off their queues and
    /// puts them back, behind their equals; here they are left alone.)
    fn scx_switch_class(&mut self, task: TaskId) {
        if self.kernel.task(task).class < ClassId::Fair {
            return;
        }
        self.change(task, |scheduler| {
            let switching = scheduler.kernel.switching;
            let task = scheduler.kernel.task_mut(task);
            task.set_scheduling(task.scheduling, switching);
        });
    }

    /// `check_class_changing`: `task`, on no queue, has just left the class `old`.
    pub(super) fn check_class_changing(&mut self, task: TaskId, old: ClassId) {
        if old != ClassId::Ext && self.kernel.task(task).class == ClassId::Ext {
            loaded(&mut self.ext).with(&mut self.kernel).switching_to_scx(task);
        }
    }

    /// `task` has left the class `old` and is on its new queue (`switched_from` of `check_class_changed`).
    pub(super) fn switched_from(&mut self, task: TaskId, old: ClassId) {
        if old == ClassId::Ext && self.kernel.task(task).class != ClassId::Ext {
            loaded(&mut self.ext).with(&mut self.kernel).switched_from_scx(task);
        }
    }

    /// `__pick_next_task` while a scheduler is loaded: balancing first, from the class of who leaves downwards
    /// (`prev_balance`), then the most urgent task. After the idle thread the loaded scheduler is always asked.
    pub(super) fn pick_next_task_scx(&mut self, cpu: CpuId) -> Option<TaskId> {
        let prev = self.kernel.rq(cpu).curr;
        let start = prev.map_or(ClassId::Ext, |prev| self.kernel.task(prev).class);
        // 7.x looks for work of the loaded scheduler when it is that class's turn, and not before.
        let fused = loaded(&mut self.ext).with(&mut self.kernel).is_v7();
        if self.prev_balance(cpu, start) && !fused {
            loaded(&mut self.ext).with(&mut self.kernel).balance_scx(cpu, prev);
        }
        if self.kernel.dl_active
            && let Some(task) = self.dl.pick_task(&mut self.kernel, cpu)
        {
            return Some(task);
        }
        if self.kernel.rt_active
            && let Some(task) = self.rt.pick_task(&mut self.kernel, cpu)
        {
            return Some(task);
        }
        if self.kernel.switching != Switching::All
            && let Some(task) = self.fair.pick_task(&mut self.kernel, cpu)
        {
            return Some(task);
        }
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        if fused {
            ctx.balance_scx(cpu, prev);
        }
        let task = ctx.pick_task_scx(cpu);
        if task.is_some() {
            return task;
        }
        if self.kernel.rt_active
            && let Some(task) = self.rt.pick_held_back(cpu)
        {
            return Some(task);
        }
        loaded(&mut self.ext).with(&mut self.kernel).pick_task_idle_scx(cpu);
        None
    }

    /// `prev_balance`: the first class that finds work ends it. (Real-time and deadline tasks are pulled whatever ran
    /// before, as without a loaded scheduler.) Whether none has found any and the loaded scheduler is next.
    fn prev_balance(&mut self, cpu: CpuId, start: ClassId) -> bool {
        if self.kernel.dl_active {
            self.dl.balance(&mut self.kernel, cpu);
        }
        if self.kernel.rt_active {
            self.rt.balance(&mut self.kernel, cpu);
        }
        let above = start < ClassId::Ext;
        if above && self.kernel.rq(cpu).nr_running > 0 {
            return false;
        }
        let partial = self.kernel.switching == Switching::Partial;
        !(above && partial && self.fair.balance(&mut self.kernel, cpu))
    }

    /// The loaded scheduler hears who comes to `cpu`, before that is current (`set_next_task_scx`, `set_next_task_idle`).
    pub(super) fn set_next_task_scx(&mut self, cpu: CpuId, next: Option<TaskId>) {
        if !self.kernel.scx_enabled() {
            return;
        }
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        match next {
            Some(task) if ctx.kernel.task(task).class == ClassId::Ext => ctx.set_next_task_scx(cpu, task),
            Some(_) => {}
            None => ctx.set_next_task_idle_scx(cpu),
        }
    }

    /// `__do_set_cpus_allowed`: the CPUs that `task` may use change.
    pub(super) fn set_cpus_allowed(&mut self, task: TaskId, allowed: Option<Arc<CpuMask>>) {
        if self.kernel.task(task).class == ClassId::Ext {
            let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
            // Threads change their own.
            ctx.set_this_cpu(ctx.kernel.task(task).cpu);
            return ctx.set_cpus_allowed(task, allowed);
        }
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
            && let Err(fault) = scx.state.guest.set_cpus_mask(&mut scx.vm.memory, task, allowed.as_deref())
        {
            scx.with(&mut self.kernel).scx_fault(&fault.into());
        }
        self.kernel.task_mut(task).allowed = allowed;
    }

    /// `exit_signals`: `task` is ending.
    pub(super) fn scx_exiting(&mut self, task: TaskId) {
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
        {
            let (guest, memory) = (&scx.state.guest, &mut scx.vm.memory);
            guest.set_task_flags(memory, task, guest.task_flags(memory, task) | PF_EXITING);
        }
    }

    /// The pass on `cpu` is over, `prev` has left, and `next` is current.
    pub(super) fn scx_switched(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        let Some(scx) = &mut self.ext else { return };
        let mut ctx = scx.with(&mut self.kernel);
        ctx.scx.guest.set_curr(&mut ctx.vm.memory, cpu, next);
        // A wish to reschedule that came up during the pass is fulfilled by it.
        ctx.kernel.rq_mut(cpu).need_resched = false;
        ctx.resched_next(cpu);
        if let Some(prev) = prev
            && ctx.kernel.task(prev).state == TaskState::Dead
        {
            ctx.sched_ext_free(prev);
        }
    }

    /// `migration_cpu_stop` of a running task of the loaded scheduler: the stopper takes the CPU from it, moves it, and
    /// leaves the CPU to whom it is due.
    pub(super) fn stop_and_move_scx(&mut self, task: TaskId, src: CpuId, dst: CpuId) -> Switch {
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        ctx.put_prev_task_scx(src, task, Some(Next::Stop));
        let now = ctx.kernel.now;
        let left = ctx.kernel.task_mut(task);
        (left.on_cpu, left.last_ran) = (false, now);
        ctx.kernel.rq_mut(src).curr = None;
        ctx.move_queued_task(task, dst);
        let next = self.pick_next_task(src);
        self.switch_to(src, Some(task), next)
    }

    /// What is due once a hook is through (irq work): deferred dispatches, kicks, and the end of a scheduler that erred.
    pub(super) fn scx_deferred_work(&mut self) {
        let Some(scx) = &mut self.ext else { return };
        scx.with(&mut self.kernel).irq_work();
        if scx.state.exit.pending() {
            self.scx_exited = self.scx_disable_workfn();
        }
    }
}

impl Kernel {
    /// Whether a scheduler is loaded and in charge (`scx_enabled`).
    #[inline]
    pub fn scx_enabled(&self) -> bool {
        self.switching != Switching::Off
    }
}
