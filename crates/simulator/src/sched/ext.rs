// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks change into and out of the class of a loaded scheduler; the classes stand side by side only here.
//!
//! What ext.c does without other classes is in [`crate::scx`].

use std::sync::Arc;

use super::core::{Sched, Switch};
use super::priority::Bracket;
use crate::kernel::class::SchedClass;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::instant::Turn;
use crate::kernel::switching::Switching;
use crate::kernel::task::{ClassId, TaskState};
use crate::scx::Scx;
use crate::scx::abi::GuestTaskInfo;
use crate::scx::abi::profile::{
    DEQUEUE_MOVE, DEQUEUE_NOCLOCK, DEQUEUE_SAVE, ENQUEUE_MOVE, ENQUEUE_NOCLOCK, ENQUEUE_RESTORE, PF_EXITING,
    SCX_SLICE_DFL,
};
use crate::scx::class::Next;
use crate::scx::enable::{InvalidOps, SCX_OPS_SWITCH_PARTIAL, check_ops};
use crate::scx::exit::{ExitInfo, ExitKind};
use crate::scx::idle::IdleChange;
use crate::scx::tasks::ForkError;
use crate::units::{CpuId, TaskId};
use crate::workload::Policy;

/// The class of a loaded scheduler.
///
/// # Panics
/// Without a scheduler; then no task belongs to it.
pub(crate) fn loaded(ext: &mut Option<Box<Scx>>) -> &mut Scx {
    ext.as_mut().expect("only a loaded scheduler has tasks")
}

impl Sched {
    /// Loads a scheduler (`scx_ops_enable_workfn`); its `init` runs on `cpu`. Objects for all tasks that exist must be in
    /// its memory ([`Ctx::scx_task_new`](crate::scx::Ctx::scx_task_new)). An error that the scheduler makes later than in
    /// its description leaves an exit [pending](crate::scx::exit::ExitState::pending), as does one at any other time.
    ///
    /// # Errors
    /// The scheduler's description is invalid; then nothing has changed.
    pub fn scx_enable(&mut self, mut scx: Box<Scx>, cpu: CpuId) -> Result<(), InvalidOps> {
        check_ops(&scx.state.ops, scx.state.profile)?;
        for task in scx.state.tasks.len()..self.kernel.tasks.len() {
            scx.task_new(&self.kernel, TaskId::at(task));
        }
        let partial = scx.state.ops.flags & SCX_OPS_SWITCH_PARTIAL != 0;
        self.kernel.ext_server = scx.state.profile.rules().ext_server;
        self.ext = Some(scx);
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        ctx.scx.guest.mirror_run_queues(&mut ctx.vm.memory, ctx.kernel);
        if ctx.scx_ops_enable(cpu).is_err() {
            return Ok(());
        }
        self.kernel.switching = if partial { Switching::Partial } else { Switching::All };
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            if self.kernel.task(task).state != TaskState::Dead {
                loaded(&mut self.ext).with(&mut self.kernel).task(task).set_slice(SCX_SLICE_DFL);
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
        let cpu = ctx.scx.enable.cpu;
        self.kernel.switching = Switching::Off;
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            if self.kernel.task(task).state != TaskState::Dead {
                self.scx_switch_class(task);
                loaded(&mut self.ext).with(&mut self.kernel).scx_ops_exit_task(task, cpu);
            }
        }
        loaded(&mut self.ext).with(&mut self.kernel).scx_ops_disable_end(&info);
        Some(info)
    }

    /// User space unloads the scheduler (`bpf_scx_unreg`), for instance at the end of a run.
    pub fn scx_unreg(&mut self) -> Option<ExitInfo> {
        let mut ctx = self.ext.as_mut()?.with(&mut self.kernel);
        ctx.scx_ops_exit_kind(ExitKind::Unreg, 0, String::new());
        self.scx_disable_workfn()
    }

    /// A task comes into being, made on `cpu` (`scx_fork`, `scx_post_fork`): the scheduler hears of it, whatever its class.
    /// To be called between [`Sched::task_new`] and [`Sched::wake_up_new_task`].
    ///
    /// # Errors
    /// The scheduler refuses it, or there is no memory; there is no task then.
    pub fn scx_fork(&mut self, task: TaskId, cpu: CpuId, info: &GuestTaskInfo<'_>) -> Result<(), ForkError> {
        let Some(scx) = &mut self.ext else { return Ok(()) };
        let mut ctx = scx.with(&mut self.kernel);
        ctx.scx_task_new(task, info).map_err(ForkError::Memory)?;
        ctx.scx_fork(task, cpu, info.maker).map_err(ForkError::Refused)
    }

    /// Gives `task` the class that its policy now stands for. (A kernel takes real-time tasks, too, off their queues and
    /// puts them back, behind their equals; here they are left alone.)
    fn scx_switch_class(&mut self, task: TaskId) {
        if self.kernel.task(task).class < ClassId::Fair {
            return;
        }
        self.change(task, Bracket::Move { head: false }, |scheduler| {
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

    /// Takes a task of the loaded scheduler off its queue to change it.
    pub(super) fn dequeue_to_change_scx(&mut self, task: TaskId, bracket: Bracket) {
        let moves = if bracket == Bracket::Save { 0 } else { DEQUEUE_MOVE };
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        ctx.dequeue_task_scx(task, DEQUEUE_SAVE | DEQUEUE_NOCLOCK | moves);
    }

    /// Puts a task that was taken off its queue into that of the loaded scheduler; it may be new to the class.
    pub(super) fn enqueue_changed_scx(&mut self, task: TaskId, bracket: Bracket) {
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        let more = match bracket {
            Bracket::Save => 0,
            Bracket::Move { head: false } => ENQUEUE_MOVE,
            Bracket::Move { head: true } => ENQUEUE_MOVE | ctx.scx.profile.enq_head(),
        };
        ctx.enqueue_task_scx(task, ENQUEUE_RESTORE | ENQUEUE_NOCLOCK | more);
    }

    /// `set_load_weight` of a task that was of `class` when the change began: as the class still is its old one then, only
    /// a scheduler that had it hears of the weight, whatever becomes of the task.
    pub(super) fn reweight_task_scx(&mut self, task: TaskId, class: ClassId) {
        if class == ClassId::Ext {
            loaded(&mut self.ext).with(&mut self.kernel).reweight_task_scx(task);
        }
    }

    /// Whether `task` may take `policy` (`scx_check_setscheduler`).
    pub fn scx_admits(&self, task: TaskId, policy: Policy) -> bool {
        // The class can be asked only mutably: what it answers is in the programs' memory.
        let Some(scx) = self.ext.as_ref().filter(|_| self.kernel.scx_enabled()) else { return true };
        let asks = policy.is_ext() && !self.kernel.task(task).scheduling.policy.is_ext();
        !(asks && scx.state.guest.disallow(&scx.vm.memory, task))
    }

    /// From now on `cpu` executes the kernel: where programs think they are that it calls.
    pub fn set_this_cpu(&mut self, cpu: CpuId) {
        if let Some(scx) = &mut self.ext {
            scx.state.calls.set_this_cpu(cpu);
        }
    }

    /// Books what the current task of `cpu` ran, for programs to see, if it is not of the loaded scheduler, which does so
    /// itself (`update_curr_common` of the other classes).
    pub(super) fn book_runtime_scx(&mut self, cpu: CpuId) {
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
            && let Some(curr) = self.kernel.rq(cpu).curr
            && self.kernel.task(curr).class != ClassId::Ext
        {
            let entity = &mut scx.state.tasks[curr];
            let now = self.kernel.rq_clock_task(cpu).max(entity.exec_start);
            let ran = now - std::mem::replace(&mut entity.exec_start, now);
            let (guest, memory) = (&scx.state.guest, &mut scx.vm.memory);
            guest.set_sum_exec_runtime(memory, curr, guest.sum_exec_runtime(memory, curr) + ran);
            if ran > 0 {
                scx.with(&mut self.kernel).trace_sched_stat_runtime(cpu, curr, ran);
            }
        }
    }

    /// `task`, of any class, begins to run (`exec_start`).
    pub(super) fn begin_runtime_scx(&mut self, cpu: CpuId, task: TaskId) {
        if let Some(scx) = &mut self.ext {
            scx.state.tasks[task].exec_start = self.kernel.rq_clock_task(cpu);
        }
    }

    /// `__pick_next_task` while a scheduler is loaded: balancing first, from the class of the task that leaves
    /// downwards (`prev_balance`), then the most urgent task. After the idle thread the loaded scheduler is always asked.
    pub(super) fn pick_next_task_scx(&mut self, cpu: CpuId) -> Option<TaskId> {
        let prev = self.kernel.rq(cpu).curr;
        let start = prev.map_or(ClassId::Ext, |prev| self.kernel.task(prev).class);
        self.balance_scx_if_due(cpu, prev, start);
        self.pick_balanced_scx(cpu)
    }

    /// Balancing before a pick. 7.x looks for work of the loaded scheduler when it is that class's turn, and not before.
    fn balance_scx_if_due(&mut self, cpu: CpuId, prev: Option<TaskId>, start: ClassId) {
        let fused = loaded(&mut self.ext).state.profile.rules().pick_balances;
        if self.prev_balance(cpu, start) && !fused {
            loaded(&mut self.ext).with(&mut self.kernel).balance_scx(cpu, prev);
        }
    }

    /// The most urgent task of `cpu`, after balancing.
    fn pick_balanced_scx(&mut self, cpu: CpuId) -> Option<TaskId> {
        let prev = self.kernel.rq(cpu).curr;
        let fused = loaded(&mut self.ext).state.profile.rules().pick_balances;
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
        loaded(&mut self.ext).with(&mut self.kernel).update_idle(cpu, IdleChange::PickedAgain);
        None
    }

    /// `prev_balance`: from `start`, the class of the task that leaves, downwards; the first class that finds a task of
    /// its own or of a more urgent one ends it. So a loaded scheduler is asked after its own tasks and after the idle
    /// thread even if a real-time task is picked then, and after others only if nothing more urgent waits. Whether the
    /// loaded scheduler is to be asked.
    fn prev_balance(&mut self, cpu: CpuId, start: ClassId) -> bool {
        loaded(&mut self.ext).state.rqs[cpu].begin_pick();
        if !self.kernel.topology.online.test(cpu) {
            // A CPU that goes offline takes no more work; the class knows that by itself.
            return true;
        }
        let dl = self.kernel.dl_active && self.dl.balance(&mut self.kernel, cpu);
        let rt = self.kernel.rt_active && self.rt.balance(&mut self.kernel, cpu) && !self.rt.is_held_back(cpu);
        if start <= ClassId::Rt && (dl || rt) {
            return false;
        }
        let partial = self.kernel.switching == Switching::Partial;
        if start < ClassId::Ext && partial && self.balance_fair(cpu) {
            return false;
        }
        true
    }

    /// `balance_fair`. Where it looked for tasks elsewhere it also says yes for a task of any other class that waits here
    /// (`sched_balance_newidle` returns -1), one of the loaded scheduler included, which is then not asked: see
    /// `SCX_RQ_BAL_PENDING`.
    fn balance_fair(&mut self, cpu: CpuId) -> bool {
        if self.fair.queue(cpu).nr_queued > 0 {
            return true;
        }
        let looks = self.kernel.rd_overloaded;
        let pulled = self.fair.balance(&mut self.kernel, cpu);
        pulled && (looks || self.fair.queue(cpu).nr_queued > 0)
    }

    /// The loaded scheduler hears which task comes to `cpu`, before it is current (`set_next_task_scx`,
    /// `set_next_task_idle`).
    pub(super) fn set_next_task_scx(&mut self, cpu: CpuId, next: Option<TaskId>) {
        if !self.kernel.scx_enabled() {
            return;
        }
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        match next {
            Some(task) if ctx.kernel.task(task).class == ClassId::Ext => ctx.set_next_task_scx(cpu, task),
            Some(_) => {}
            None => ctx.update_idle(cpu, IdleChange::Begins),
        }
    }

    /// `trace_sched_switch`: `prev` leaves `cpu`, where it is still current, to `next`.
    pub(super) fn trace_sched_switch(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
        {
            scx.with(&mut self.kernel).trace_sched_switch(cpu, prev, next);
        }
    }

    /// The CPUs that `task`, which is on no queue, may use change (`do_set_cpus_allowed` of `select_fallback_rq`).
    pub(super) fn set_cpus_allowed(&mut self, task: TaskId, allowed: Option<Arc<CpuMask>>) {
        if self.kernel.task(task).class == ClassId::Ext {
            let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
            // Threads change their own.
            ctx.scx.calls.set_this_cpu(ctx.kernel.task(task).cpu);
            return ctx.set_cpus_allowed(task, allowed);
        }
        self.kernel.task_mut(task).allowed = allowed;
        self.mirror_cpus_allowed_scx(task);
    }

    /// Lets the programs of a loaded scheduler see which CPUs a task of another class may use.
    pub(super) fn mirror_cpus_allowed_scx(&mut self, task: TaskId) {
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
        {
            scx.with(&mut self.kernel).mirror_cpus_allowed(task);
        }
    }

    /// Lets the programs of a loaded scheduler see a task's policy and priorities once they have changed.
    pub(super) fn mirror_scheduling_scx(&mut self, task: TaskId) {
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
        {
            scx.with(&mut self.kernel).mirror_scheduling(task);
        }
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

    /// `prev` has left `cpu`, and `next` is current: a wish to reschedule that came up since the pass began is fulfilled by
    /// it (`clear_tsk_need_resched`).
    pub(super) fn scx_picked(&mut self, cpu: CpuId, next: Option<TaskId>) {
        if !self.kernel.scx_enabled() {
            return;
        }
        let ctx = loaded(&mut self.ext).with(&mut self.kernel);
        ctx.scx.guest.set_curr(&mut ctx.vm.memory, cpu, next);
        ctx.kernel.rq_mut(cpu).need_resched = false;
        if ctx.scx.rqs[cpu].take_resched_next() {
            ctx.kernel.resched_curr(cpu);
        }
    }

    /// `finish_task_switch`: the pass on `cpu`, where `prev` was, is over. (Once no scheduler is in charge any more, the
    /// objects of tasks stay in its memory, where nothing looks any more.)
    pub(super) fn scx_switched(&mut self, prev: Option<TaskId>) {
        if let Some(prev) = prev
            && self.kernel.scx_enabled()
            && self.kernel.task(prev).state == TaskState::Dead
        {
            loaded(&mut self.ext).with(&mut self.kernel).sched_ext_free(prev);
        }
    }

    /// `migration_cpu_stop` of a running task of the loaded scheduler: the stopper takes the CPU from it, moves it, and
    /// leaves the CPU to the task that is due. These are two passes: from the task to the stopper, for which the scheduler
    /// looks for work as after any of its tasks, and from the stopper to the next task, for which all classes are asked.
    pub(super) fn stop_and_move_scx(&mut self, task: TaskId, src: CpuId, dst: CpuId) -> Switch {
        let mut ctx = loaded(&mut self.ext).with(&mut self.kernel);
        ctx.scx.rqs[src].begin_pick();
        if !ctx.scx.profile.rules().pick_balances {
            ctx.balance_scx(src, Some(task));
        }
        ctx.put_prev_task_scx(src, task, Some(Next::Stop));
        let now = ctx.kernel.now;
        let left = ctx.kernel.task_mut(task);
        (left.on_cpu, left.last_ran) = (false, now);
        ctx.kernel.rq_mut(src).curr = None;
        ctx.move_queued_task(task, dst);
        self.wakeup_preempt(dst, task);
        if self.kernel.rt_active {
            self.rt.stopper_leaves(&mut self.kernel, src);
        }
        // The stopper is of a class above all.
        self.balance_scx_if_due(src, None, ClassId::Dl);
        let next = self.pick_balanced_scx(src);
        self.switch_to(src, Some(task), next)
    }

    /// `cpu` is about to reschedule: a loaded scheduler that brings this about without end is ejected.
    pub(super) fn scx_reschedules(&mut self, cpu: CpuId) {
        if let Some(scx) = &mut self.ext
            && self.kernel.scx_enabled()
        {
            scx.with(&mut self.kernel).takes_turn(Turn::Reschedule, cpu);
        }
    }

    /// What is due once a hook is through (irq work): deferred dispatches, kicks, and the end of a scheduler that erred.
    pub(super) fn scx_deferred_work(&mut self) {
        let Some(scx) = &mut self.ext else { return };
        scx.with(&mut self.kernel).irq_work();
        if scx.state.exit.pending() && !self.is_amid_schedule() {
            self.scx_exited = self.scx_disable_workfn();
        }
    }

    /// Whether a task that has gone to sleep or ended is still current: a kernel has that CPU's run queue locked until
    /// another is, and nothing changes the task's class meanwhile.
    fn is_amid_schedule(&self) -> bool {
        let current = self.kernel.resched.iter().filter_map(|cpu| self.kernel.rq(*cpu).curr);
        current.into_iter().any(|task| self.kernel.task(task).state != TaskState::Runnable)
    }
}
