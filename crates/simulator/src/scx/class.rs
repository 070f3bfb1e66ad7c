// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks of the scheduling class (`ext_sched_class`).
//!
//! The kernel's flags of enqueues and dequeues, which programs see, are made here from the reasons that the core gives.
//! Where a reason does not say enough, the core calls the hook with the flags: [`Ctx::enqueue_task_scx`],
//! [`Ctx::dequeue_task_scx`], [`Ctx::put_prev_task_scx`], [`Ctx::move_queued_task`], [`Ctx::set_cpus_allowed`].

use std::sync::Arc;

use super::abi::profile::{
    DEQUEUE_MOVE, DEQUEUE_NOCLOCK, DEQUEUE_SAVE, ENQUEUE_MOVE, ENQUEUE_NOCLOCK, ENQUEUE_RESTORE,
    SCX_DEQ_CORE_SCHED_EXEC, SCX_DEQ_SLEEP, SCX_DSQ_LOCAL, SCX_ENQ_LAST, SCX_ENQ_REENQ, SCX_ENQ_WAKEUP, SCX_SLICE_DFL,
    SCX_SLICE_INF, SCX_TASK_IMMED, SCX_TASK_REENQ_PREEMPTED, SCX_TASK_REENQ_REASON_MASK, SCX_WAKE_FORK, SCX_WAKE_SYNC,
    SCX_WAKE_TTWU,
};
use super::dispatch::direct::DirectDispatch;
use super::entity::ScxEntity;
use super::ops::Op;
use super::origin::Origin;
use super::tasks::sched_weight_to_cgroup;
use super::{Ctx, Scx, State};
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass, Wake};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::{ClassId, Task};
use crate::units::{CpuId, TaskId};

/// `DEQUEUE_SPECIAL`: the task ends, or sleeps in a way that no signal ends.
const DEQUEUE_SPECIAL: u64 = 0x10;

/// What follows a task on its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A task of any class.
    Task(TaskId),
    /// The idle thread.
    Idle,
    /// The thread that stops all others for a moment (`stop_sched_class`).
    Stop,
}

/// Why a CPU is taken away (`enum scx_cpu_preempt_reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum PreemptReason {
    Rt = 0,
    Dl = 1,
    Stop = 2,
    /// For instance a fair task.
    Unknown = 3,
}

impl Next {
    fn class(self, kernel: &Kernel) -> Option<ClassId> {
        match self {
            Self::Task(task) => Some(kernel.task(task).class),
            Self::Idle | Self::Stop => None,
        }
    }

    /// `preempt_reason_from_class`.
    fn preempt_reason(self, kernel: &Kernel) -> PreemptReason {
        match (self, self.class(kernel)) {
            (Self::Stop, _) => PreemptReason::Stop,
            (_, Some(ClassId::Dl)) => PreemptReason::Dl,
            (_, Some(ClassId::Rt)) => PreemptReason::Rt,
            (_, Some(ClassId::Fair | ClassId::Ext) | None) => PreemptReason::Unknown,
        }
    }
}

impl Ctx<'_> {
    /// `update_curr_scx`: books what the current task of `cpu` ran.
    pub(super) fn update_curr_scx(&mut self, cpu: CpuId) {
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        let now = self.kernel.rq_clock_task(cpu);
        let entity = &mut self.scx.tasks[curr];
        let delta = now.saturating_sub(entity.exec_start);
        if delta == 0 {
            return;
        }
        entity.exec_start = now;
        let runtime = self.scx.guest.sum_exec_runtime(&self.vm.memory, curr) + delta;
        self.scx.guest.set_sum_exec_runtime(&mut self.vm.memory, curr, runtime);
        self.trace_sched_stat_runtime(cpu, curr, delta);
        self.charge_limits(curr, delta, now);
        let slice = self.task(curr).slice();
        if slice != SCX_SLICE_INF {
            self.task(curr).set_slice(slice.saturating_sub(delta));
        }
    }

    /// `select_task_rq`, `select_task_rq_scx`: the CPU that `task` wakes or starts on; `this_cpu` is the waker's.
    pub fn select_task_rq_scx(&mut self, task: TaskId, this_cpu: CpuId, wake_flags: u64) -> CpuId {
        self.scx.calls.set_this_cpu(this_cpu);
        let online = &self.kernel.topology.online;
        let only = match &self.kernel.task(task).allowed {
            Some(mask) if mask.weight() == 1 => mask.first(),
            None if self.kernel.topology.nr_cpus == 1 => online.first(),
            Some(_) | None => None,
        };
        self.scx.tasks[task].rq_selected = only.is_none();
        let prev_cpu = self.kernel.task(task).cpu;
        let cpu = match only {
            Some(only) => only,
            None => self.ask_for_cpu(task, prev_cpu, wake_flags),
        };
        select_fallback_rq(self.kernel, task, cpu)
    }

    /// The part of `select_task_rq_scx` that asks the scheduler, or chooses for one that does not want to.
    fn ask_for_cpu(&mut self, task: TaskId, prev_cpu: CpuId, wake_flags: u64) -> CpuId {
        if self.scx.ops.has(Op::SelectCpu) && !self.scx.rqs[prev_cpu].bypassing {
            return self.ask_select_cpu(task, prev_cpu, wake_flags);
        }
        let (cpu, found) = self.scx_select_cpu_dfl(task, prev_cpu, wake_flags);
        if found {
            self.task(task).set_slice(SCX_SLICE_DFL);
            self.scx.tasks[task].ddsp_dsq_id = SCX_DSQ_LOCAL;
        }
        cpu
    }

    fn ask_select_cpu(&mut self, task: TaskId, prev_cpu: CpuId, wake_flags: u64) -> CpuId {
        let this_cpu = self.scx.calls.this_cpu();
        let args = [self.scx.guest.task(task), u64::from(prev_cpu.0), wake_flags];
        self.scx.buffers.set_direct_dispatch_task(this_cpu, Some(DirectDispatch::Task(task)));
        let cpu = self.call_op(Op::SelectCpu, this_cpu, None, [Some(task), None], &args);
        self.scx.buffers.set_direct_dispatch_task(this_cpu, None);
        let Some(cpu) = cpu else { return prev_cpu };
        let valid = |ctx: &mut Self| ctx.ops_cpu_valid(cpu as i32, Some("from ops.select_cpu()"));
        self.blaming(Origin::returned(self.vm, Op::SelectCpu, this_cpu), valid).unwrap_or(prev_cpu)
    }

    /// `yield_task_scx`: the current task of `cpu` yields.
    pub fn yield_task_scx(&mut self, cpu: CpuId) {
        self.scx.calls.set_this_cpu(cpu);
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        // Nothing yields to a task of its choice here: the second argument is none.
        let args = [self.scx.guest.task(curr), 0];
        if self.call_op(Op::Yield, cpu, Some(cpu), [Some(curr), None], &args).is_none() {
            self.task(curr).set_slice(0);
        }
    }

    /// `task_tick_scx`: the tick of `cpu` found `curr` running.
    pub fn task_tick_scx(&mut self, cpu: CpuId, curr: TaskId) {
        self.scx.calls.set_this_cpu(cpu);
        self.update_curr_scx(cpu);
        if self.scx.rqs[cpu].bypassing {
            self.task(curr).set_slice(0);
        } else {
            self.call_op_task(Op::Tick, curr, &[]);
        }
        if self.task(curr).slice() == 0 {
            self.kernel.resched_curr(cpu);
        }
    }

    /// `set_next_task_scx`: `task` becomes the current one of `cpu`, and leaves its queue.
    pub fn set_next_task_scx(&mut self, cpu: CpuId, task: TaskId) {
        self.scx.calls.set_this_cpu(cpu);
        let queued = self.scx.tasks[task].queued();
        if queued {
            self.ops_dequeue(task, SCX_DEQ_CORE_SCHED_EXEC);
            self.queues().dequeue(cpu, task);
        }
        self.scx.tasks[task].exec_start = self.kernel.rq_clock_task(cpu);
        if queued {
            self.call_op_task(Op::Running, task, &[]);
        }
        self.task(task).clr_runnable(cpu, true);
        let can_stop_tick = self.task(task).slice() == SCX_SLICE_INF;
        if can_stop_tick != self.scx.rqs[cpu].can_stop_tick {
            self.scx.rqs[cpu].can_stop_tick = can_stop_tick;
            // `update_other_load_avgs`
            self.kernel.update_other_load_avgs(cpu);
        }
    }

    /// `scx_can_stop_tick`: whether the current task of `cpu` needs no tick. One of another class never does; one of this class
    /// does unless its slice is without end.
    pub fn scx_can_stop_tick(&self, cpu: CpuId) -> bool {
        let rq = &self.scx.rqs[cpu];
        let others = |curr: TaskId| self.kernel.task(curr).class != ClassId::Ext;
        !rq.bypassing && (rq.can_stop_tick || self.kernel.rq(cpu).curr.is_some_and(others))
    }

    /// `put_prev_task_scx`: `task` stops being the current one of `cpu`; `next` follows it, `None` if that is `task`
    /// itself, whose parameters change.
    pub fn put_prev_task_scx(&mut self, cpu: CpuId, task: TaskId, next: Option<Next>) {
        self.scx.calls.set_this_cpu(cpu);
        self.update_curr_scx(cpu);
        if self.scx.tasks[task].queued() {
            self.call_op_task(Op::Stopping, task, &[1]);
            let now = self.kernel.jiffies();
            self.task(task).set_runnable(cpu, now);
            self.requeue_prev(cpu, task, next);
        }
        if let Some(next) = next
            && next.class(self.kernel) != Some(ClassId::Ext)
        {
            self.switch_class(cpu, next);
        }
    }

    /// Where a runnable task goes that must leave its CPU.
    fn requeue_prev(&mut self, cpu: CpuId, task: TaskId, next: Option<Next>) {
        let local = self.scx.dsqs.local(cpu);
        if self.task(task).slice() > 0 && !self.scx.rqs[cpu].bypassing {
            // A more urgent class has taken the CPU.
            if self.scx.tasks[task].flags & SCX_TASK_IMMED != 0 {
                self.task(task).change_flags(0, SCX_TASK_REENQ_PREEMPTED);
                self.do_enqueue_task(cpu, task, SCX_ENQ_REENQ, None);
                self.task(task).change_flags(SCX_TASK_REENQ_REASON_MASK, 0);
            } else {
                self.dispatch_enqueue(local, task, self.scx.profile.enq_head());
            }
            return;
        }
        if next != Some(Next::Idle) {
            self.do_enqueue_task(cpu, task, 0, None);
            return;
        }
        self.do_enqueue_task(cpu, task, SCX_ENQ_LAST, None);
        if self.scx.dsqs.dsq_of(task) == Some(local) {
            self.scx.rqs[cpu].resched_next = true;
        }
    }

    /// `switch_class`: a thread of another class follows one of this on `cpu`. If it is more urgent, the scheduler loses
    /// the CPU until it next looks for work there.
    fn switch_class(&mut self, cpu: CpuId, next: Next) {
        self.scx.rqs[cpu].pnt_seq += 1;
        let cpu_preempt = self.scx.ops.has(Op::CpuAcquire) || self.scx.ops.has(Op::CpuRelease);
        if !cpu_preempt || next == Next::Idle || self.scx.rqs[cpu].cpu_released {
            return;
        }
        if self.scx.ops.has(Op::CpuRelease) {
            let task = match next {
                Next::Task(task) => self.scx.guest.task(task),
                // It has no object in the programs' memory; its address is that of an idle thread.
                Next::Idle | Next::Stop => self.scx.guest.idle_task(cpu),
            };
            let reason = next.preempt_reason(self.kernel) as u32;
            let args = self.scx.guest.cpu_release_args(&mut self.vm.memory, reason, task);
            self.call_op(Op::CpuRelease, cpu, Some(cpu), [None; 2], &[u64::from(cpu.0), args]);
        }
        self.scx.rqs[cpu].cpu_released = true;
    }

    /// `__do_set_cpus_allowed`: the CPUs that `task` of this class may use change. If it may no longer use its own, the
    /// caller moves it.
    pub fn set_cpus_allowed(&mut self, task: TaskId, allowed: Option<Arc<CpuMask>>) {
        self.do_set_cpus_allowed(task, |task| task.allowed = allowed);
    }

    /// Does `change`, of which CPUs `task` may use, with the task off its queue and its CPU.
    pub fn do_set_cpus_allowed(&mut self, task: TaskId, change: impl FnOnce(&mut Task)) {
        let put = self.sched_deq_and_put_task(task, DEQUEUE_SAVE);
        change(self.kernel.task_mut(task));
        self.set_cpus_allowed_scx(task);
        self.sched_enq_and_set_task(put);
    }

    /// `set_cpus_allowed_scx`: the scheduler hears which CPUs `task` may use now.
    pub fn set_cpus_allowed_scx(&mut self, task: TaskId) {
        self.mirror_cpus_allowed(task);
        let mask = self.scx.guest.cpus_ptr(&self.vm.memory, task);
        self.call_op_task(Op::SetCpumask, task, &[mask]);
    }

    /// Lets programs see which CPUs `task` may use.
    pub fn mirror_cpus_allowed(&mut self, task: TaskId) {
        let known = self.kernel.task(task);
        let (guest, memory) = (&mut self.scx.guest, &mut self.vm.memory);
        let mut mirrored = guest.set_cpus_mask(memory, task, known.allowed.as_deref());
        if known.narrowed && mirrored.is_ok() {
            let only = CpuMask::of(self.kernel.topology.nr_cpus, [known.cpu]);
            mirrored = guest.narrow_cpus_ptr(memory, task, &only);
        }
        if let Err(fault) = mirrored {
            self.scx_fault(&fault.into());
        }
    }

    /// Lets programs see the policy and priorities of `task`.
    pub fn mirror_scheduling(&mut self, task: TaskId) {
        self.scx.guest.set_scheduling(&mut self.vm.memory, self.kernel.task(task));
    }

    /// `reweight_task_scx`: the scheduler hears the new weight of `task`. The caller has taken it off its queue.
    pub fn reweight_task_scx(&mut self, task: TaskId) {
        let weight = sched_weight_to_cgroup(self.kernel.task(task).weight);
        self.task(task).set_weight(weight);
        self.call_op_task(Op::SetWeight, task, &[u64::from(weight)]);
    }
}

/// `is_cpu_allowed` and `select_fallback_rq`: `cpu` if `task` may use it now; else the first that it may on the node where
/// it was, else the first.
fn select_fallback_rq(kernel: &Kernel, task: TaskId, cpu: CpuId) -> CpuId {
    let (task, topology) = (kernel.task(task), &kernel.topology);
    if task.may_use(cpu) && topology.online.test(cpu) {
        return cpu;
    }
    let node = topology.node_of(task.cpu);
    let usable = || topology.online.iter().filter(|cpu| task.may_use(*cpu));
    usable().find(|cpu| topology.node_of(*cpu) == node).or_else(|| usable().next()).unwrap_or(cpu)
}

impl State {
    /// `ttwu_queue_cond`: whether the waker leaves it to the CPU of `task` to enqueue it (`SCX_OPS_ALLOW_QUEUED_WAKEUP`):
    /// the callbacks that follow are executed there. (The kernel also skips `select_cpu` for a task that is still being
    /// switched out; here that takes no time.)
    fn ttwu_queue_cond(&self, kernel: &Kernel, task: TaskId) -> bool {
        if self.ops.flags & self.profile.ops_allow_queued_wakeup() == 0 {
            return false;
        }
        let (waker, cpu) = (self.calls.this_cpu(), kernel.task(task).cpu);
        let near = kernel.cpus_share_cache(waker, cpu);
        !near || (cpu != waker && kernel.rq(cpu).nr_running == 0)
    }

    /// `ENQUEUE_*` of a reason.
    fn enqueue_flags(&self, task: TaskId, why: Enqueue) -> u64 {
        let profile = self.profile;
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        ENQUEUE_NOCLOCK
            | match why {
                Enqueue::New => profile.enqueue_initial(),
                Enqueue::Wakeup { migrated } => {
                    let selected = self.tasks[task].rq_selected;
                    SCX_ENQ_WAKEUP
                        | flag(migrated, profile.enqueue_migrated())
                        | flag(selected, profile.enq_cpu_selected())
                }
                Enqueue::Restore => ENQUEUE_RESTORE | ENQUEUE_MOVE,
                Enqueue::RestoreHead => ENQUEUE_RESTORE | ENQUEUE_MOVE | profile.enq_head(),
                Enqueue::Migrating => 0,
            }
    }
}

/// `DEQUEUE_*` of a reason.
fn dequeue_flags(why: Dequeue) -> u64 {
    DEQUEUE_NOCLOCK
        | match why {
            Dequeue::Sleep => SCX_DEQ_SLEEP,
            Dequeue::Exit => SCX_DEQ_SLEEP | DEQUEUE_SPECIAL,
            Dequeue::Save => DEQUEUE_SAVE | DEQUEUE_MOVE,
        }
}

impl SchedClass for Scx {
    fn task_new(&mut self, kernel: &Kernel, task: TaskId) {
        debug_assert_eq!(self.state.tasks.len(), task.index(), "tasks are created in order");
        self.state.tasks.push(ScxEntity::new(kernel.jiffies()));
    }

    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId, wake: Wake) -> CpuId {
        let wake_flags = match wake {
            Wake::Fork => SCX_WAKE_FORK,
            Wake::Ttwu { sync: false } => SCX_WAKE_TTWU,
            Wake::Ttwu { sync: true } => SCX_WAKE_TTWU | SCX_WAKE_SYNC,
        };
        self.with(kernel).select_task_rq_scx(task, this_cpu, wake_flags)
    }

    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Enqueue) {
        let mut ctx = self.with(kernel);
        let flags = ctx.scx.enqueue_flags(task, why);
        if flags & SCX_ENQ_WAKEUP != 0 && ctx.scx.ttwu_queue_cond(ctx.kernel, task) {
            ctx.scx.calls.set_this_cpu(ctx.kernel.task(task).cpu);
        }
        ctx.enqueue_task_scx(task, flags);
    }

    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Dequeue) -> bool {
        let mut ctx = self.with(kernel);
        if why != Dequeue::Save {
            // Only the current task blocks or ends.
            ctx.scx.calls.set_this_cpu(ctx.kernel.task(task).cpu);
        }
        ctx.dequeue_task_scx(task, dequeue_flags(why));
        true
    }

    fn requeue_delayed(&mut self, _kernel: &mut Kernel, _task: TaskId) -> bool {
        false
    }

    /// `wakeup_preempt_scx`: the scheduler preempts when it dispatches.
    fn wakeup_preempt(&mut self, _kernel: &mut Kernel, _cpu: CpuId, _task: TaskId) {}

    fn migrate_task_rq(&mut self, _kernel: &mut Kernel, _task: TaskId, _cpu: CpuId) {}

    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        let prev = kernel.rq(cpu).curr;
        self.with(kernel).balance_scx(cpu, prev)
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        self.with(kernel).yield_task_scx(cpu);
    }

    fn pick_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        self.with(kernel).pick_task_scx(cpu)
    }

    /// For a task whose parameters change; one that another follows needs [`Ctx::put_prev_task_scx`].
    fn put_prev_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.with(kernel).put_prev_task_scx(cpu, task, None);
    }

    fn set_next_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.with(kernel).set_next_task_scx(cpu, task);
    }

    fn task_tick(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.with(kernel).task_tick_scx(cpu, task);
    }
}
