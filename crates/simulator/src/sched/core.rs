// SPDX-License-Identifier: MIT OR Apache-2.0
//! The heart of the scheduler: wakeup, schedule, tick, fork, exit (`kernel/sched/core.c`).
//!
//! [`Sched`] holds the shared [`Kernel`] and the classes, and asks them in order of urgency. Each call happens at
//! `kernel.now`; afterwards the caller drains [`Sched::next_switch`] until it is `None`.
//!
//! # The life of a wake-up
//!
//! Of a thread that slept on a timer, under a loaded scheduler; other classes have the same hooks.
//!
//! 1. The timer is due: the engine takes it from its queue and calls [`Sched::try_to_wake_up`].
//! 2. `select_task_rq` asks the class for a CPU: `Ctx::select_task_rq_scx`, then `Ctx::call_op` with `Op::SelectCpu`.
//! 3. `Instance::run` executes the BPF program. A kernel function that it calls comes back through `ScxHost::kfunc` and
//!    `kfuncs::TABLE`, for instance to `Ctx::scx_select_cpu_dfl`, which claims an idle CPU.
//! 4. `enqueue_task` (`Ctx::enqueue_task_scx`): `ops.runnable`, then `Ctx::do_enqueue_task` asks `ops.enqueue`.
//! 5. What the program inserts, `Ctx::scx_dispatch_commit` notes and `Ctx::dispatch_enqueue` puts into a dispatch queue;
//!    `Ctx::local_dsq_post_enq` or `wakeup_preempt` makes the CPU reschedule (`Kernel::resched_curr`).
//! 6. The engine drains [`Sched::next_switch`]: first kicks and deferred work (`Ctx::irq_work`), then `schedule` for each
//!    CPU that shall reschedule.
//! 7. `pick_next_task` looks for work (`Ctx::balance_scx`: `ops.dispatch`, then `Ctx::flush_dispatch_buf`) and takes the
//!    first task of the local queue (`Ctx::pick_task_scx`).
//! 8. `put_prev_task` and `switch_to` change hands (`ops.stopping`, `ops.running`); the engine gets the [`Switch`], and
//!    lets the thread run.
//! 9. The instructions that the programs executed (`Calls::charge`) are time that the engine takes from their CPUs.

use std::sync::Arc;

use super::ext::loaded;
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass, Wake};
use crate::kernel::cpufreq::{CpuUtil, uclamp_rq_is_capped};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::dl::Dl;
use crate::kernel::fair::Fair;
use crate::kernel::fair::energy::EnergyModel;
use crate::kernel::paths::{EXT_WAKE_UP, WAKE_UP, WAKE_UP_LINES, WAKE_UP_QUEUED, WAKE_UP_RECEIVED};
use crate::kernel::rt::Rt;
use crate::kernel::switching::Switching;
use crate::kernel::task::{ClassId, Task, TaskState};
use crate::scx::Scx;
use crate::scx::class::Next;
use crate::scx::exit::ExitInfo;
use crate::scx::idle::IdleChange;
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::Scheduling;

/// The scheduler of a machine.
#[derive(Debug)]
pub struct Sched {
    /// What the classes share.
    pub kernel: Kernel,
    /// The fair class.
    pub fair: Fair,
    /// The real-time class.
    pub rt: Rt,
    /// The deadline class.
    pub dl: Dl,
    /// The class of the scheduler that was loaded last, gone or not.
    pub ext: Option<Box<Scx>>,
    /// Why that scheduler was ejected.
    pub scx_exited: Option<ExitInfo>,
}

/// A context switch; `None` is the idle thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The CPU that changes hands.
    pub cpu: CpuId,
    /// The task that leaves.
    pub prev: Option<TaskId>,
    /// The task that comes.
    pub next: Option<TaskId>,
}

/// Calls a hook of the class that `$task` belongs to.
macro_rules! class_of {
    ($self:ident, $task:expr, $hook:ident $(, $argument:expr)*) => {
        match $self.kernel.task($task).class {
            ClassId::Dl => $self.dl.$hook(&mut $self.kernel $(, $argument)*),
            ClassId::Rt => $self.rt.$hook(&mut $self.kernel $(, $argument)*),
            ClassId::Fair => $self.fair.$hook(&mut $self.kernel $(, $argument)*),
            ClassId::Ext => $crate::sched::ext::loaded(&mut $self.ext).$hook(&mut $self.kernel $(, $argument)*),
        }
    };
}
pub(super) use class_of;

impl Sched {
    /// A scheduler without tasks; with an energy model, the fair class places tasks by it.
    pub fn new(mut kernel: Kernel, energy: Option<EnergyModel>) -> Self {
        Self {
            fair: Fair::new(&mut kernel, energy),
            rt: Rt::new(&kernel),
            dl: Dl::new(&kernel),
            ext: None,
            scx_exited: None,
            kernel,
        }
    }

    /// Makes a task; it does not run until [`Sched::wake_up_new_task`]. Identifiers count up from 0. A deadline task
    /// must have been [admitted](Sched::admit).
    pub fn task_new(&mut self, scheduling: Scheduling, allowed: Option<Arc<CpuMask>>) -> TaskId {
        let id = TaskId::at(self.kernel.tasks.len());
        self.kernel.uclamp_used |= scheduling.has_clamps();
        self.kernel.tasks.push(Task::new(id, scheduling, allowed, self.kernel.switching));
        self.fair.task_new(&self.kernel, id);
        self.rt.task_new(&self.kernel, id);
        self.dl.task_new(&self.kernel, id);
        if let Some(ext) = &mut self.ext {
            ext.task_new(&self.kernel, id);
        }
        id
    }

    /// `wake_up_new_task`: a task starts; `this_cpu` is where its parent runs.
    pub fn wake_up_new_task(&mut self, task: TaskId, this_cpu: CpuId) {
        let new = self.kernel.task_mut(task);
        (new.state, new.cpu, new.recent_used_cpu) = (TaskState::Runnable, this_cpu, this_cpu);
        self.kernel.gives_cause();
        let cpu = self.select_task_rq(task, this_cpu, Wake::Fork);
        self.kernel.task_mut(task).cpu = cpu;
        self.kernel.begin_wake(this_cpu, Wake::Fork);
        class_of!(self, task, enqueue_task, task, Enqueue::New);
        self.wakeup_preempt_from(this_cpu, cpu, task);
        self.kernel.end_wake();
    }

    /// `ttwu_queue_wakelist`: whether the woken `task` is left to `cpu`, which then hears of it by an interrupt whether it runs it at
    /// once or not. Here that is a question of which CPU takes the time, and of which one tells a governor.
    fn ttwu_queue_wakelist(&mut self, task: TaskId, this_cpu: CpuId, cpu: CpuId) -> bool {
        // `ttwu_queue_cond`
        let queued = self.kernel.task(task).class != ClassId::Ext
            && cpu != this_cpu
            && (self.kernel.rq(cpu).nr_running == 0 || !self.kernel.cpus_share_cache(this_cpu, cpu));
        if queued {
            self.kernel.works_on_others(None);
        }
        if !self.kernel.paths.take_time {
            return false;
        }
        self.kernel.fetches(this_cpu, cpu, WAKE_UP_LINES);
        if queued {
            self.kernel.executes(this_cpu, WAKE_UP_QUEUED);
            self.kernel.interrupts(this_cpu, cpu, WAKE_UP_RECEIVED);
        } else {
            let ext = self.kernel.task(task).class == ClassId::Ext;
            self.kernel.executes(this_cpu, if ext { EXT_WAKE_UP } else { WAKE_UP });
        }
        queued
    }

    /// `wakeup_preempt`, called on `this_cpu`: makes `cpu` reschedule by an interrupt if that is another one.
    fn wakeup_preempt_from(&mut self, this_cpu: CpuId, cpu: CpuId, task: TaskId) {
        let already = self.kernel.rq(cpu).need_resched;
        self.wakeup_preempt(cpu, task);
        if !already && self.kernel.rq(cpu).need_resched {
            self.kernel.sends_ipi(this_cpu, cpu);
        }
    }

    /// `select_task_rq`: what the class says, unless the task may run on one CPU only, or not there.
    fn select_task_rq(&mut self, task: TaskId, this_cpu: CpuId, wake: Wake) -> CpuId {
        if self.kernel.task(task).is_migration_disabled() {
            return self.stay_on_cpu(task);
        }
        if self.kernel.nr_cpus_allowed_is_1(task) {
            // The class is not asked, and so neither counts the wake-up nor looks for idle cores.
            self.rq_not_selected(task);
            return self.usable_cpu(task, this_cpu);
        }
        let cpu = class_of!(self, task, select_task_rq, task, this_cpu, wake);
        self.usable_cpu(task, cpu)
    }

    /// `cpu`, or another CPU if `task` may not run there (`select_fallback_rq`).
    fn usable_cpu(&mut self, task: TaskId, cpu: CpuId) -> CpuId {
        let usable = self.kernel.topology.online.test(cpu) && self.kernel.task(task).may_use(cpu);
        if !usable && !self.kernel.has_usable_cpu(task) {
            // All that it may use are offline: it may use any from now on.
            self.set_cpus_allowed(task, None);
        }
        self.kernel.usable_cpu(task, cpu)
    }

    /// `try_to_wake_up`: a blocked task becomes runnable; returns the CPU it was queued on.
    pub fn try_to_wake_up(&mut self, task: TaskId, this_cpu: CpuId, sync: bool) -> CpuId {
        debug_assert_eq!(self.kernel.task(task).state, TaskState::Blocked);
        self.kernel.gives_cause();
        self.kernel.task_mut(task).state = TaskState::Runnable;
        let wake = Wake::Ttwu { sync };
        self.kernel.begin_wake(this_cpu, wake);
        let cpu = self.ttwu_runnable(task, this_cpu).unwrap_or_else(|| self.ttwu_queue(task, this_cpu, wake));
        self.kernel.end_wake();
        cpu
    }

    /// `ttwu_runnable`: the CPU of a task that never left its queue.
    fn ttwu_runnable(&mut self, task: TaskId, this_cpu: CpuId) -> Option<CpuId> {
        if !class_of!(self, task, requeue_delayed, task) {
            return None;
        }
        self.kernel.executes(this_cpu, WAKE_UP);
        let cpu = self.kernel.task(task).cpu;
        if !self.kernel.task(task).on_cpu {
            self.wakeup_preempt_from(this_cpu, cpu, task);
        }
        Some(cpu)
    }

    /// A CPU is chosen for `task`, which is queued there (`select_task_rq`, `ttwu_queue`); the CPU.
    fn ttwu_queue(&mut self, task: TaskId, this_cpu: CpuId, wake: Wake) -> CpuId {
        let prev = self.kernel.task(task).cpu;
        let cpu = self.select_task_rq(task, this_cpu, wake);
        let migrated = cpu != prev;
        if migrated {
            class_of!(self, task, migrate_task_rq, task, cpu);
            self.kernel.set_task_cpu(task, cpu);
        }
        let queued = self.ttwu_queue_wakelist(task, this_cpu, cpu);
        class_of!(self, task, enqueue_task, task, Enqueue::Wakeup { migrated });
        if queued {
            self.wakeup_preempt(cpu, task);
        } else {
            self.wakeup_preempt_from(this_cpu, cpu, task);
        }
        self.kernel.update_avg_idle(cpu);
        cpu
    }

    /// `wakeup_preempt`: whether the newly queued task should run at once.
    pub(super) fn wakeup_preempt(&mut self, cpu: CpuId, task: TaskId) {
        if self.kernel.scx_enabled() && self.kernel.task(task).class < ClassId::Ext {
            loaded(&mut self.ext).state.rqs.wakeup_preempt(cpu);
        }
        let Some(curr) = self.kernel.rq(cpu).curr else {
            self.kernel.resched_curr(cpu);
            if self.kernel.task(task).class == ClassId::Ext {
                loaded(&mut self.ext).with(&mut self.kernel).run_deferred(cpu);
            }
            return;
        };
        let (woken, running) = (self.kernel.task(task).class, self.kernel.task(curr).class);
        if woken == running {
            class_of!(self, task, wakeup_preempt, cpu, task);
        } else if woken < running {
            self.kernel.resched_curr(cpu);
        } else {
            // From now on a fair task waits for a real-time one.
            self.rt.update_curr(&mut self.kernel, cpu);
        }
        match woken {
            ClassId::Dl => self.dl.task_woken(&mut self.kernel, cpu, task),
            ClassId::Rt => self.rt.task_woken(&mut self.kernel, cpu, task),
            ClassId::Fair => {}
            ClassId::Ext => loaded(&mut self.ext).with(&mut self.kernel).run_deferred(cpu),
        }
    }

    /// The running task of `cpu` waits for an event.
    pub fn block_current(&mut self, cpu: CpuId) {
        self.deactivate_current(cpu, TaskState::Blocked, Dequeue::Sleep);
    }

    /// The running task of `cpu` ends.
    pub fn exit_current(&mut self, cpu: CpuId) {
        let curr = self.kernel.rq(cpu).curr;
        if let Some(task) = curr {
            self.scx_exiting(task);
        }
        self.deactivate_current(cpu, TaskState::Dead, Dequeue::Exit);
        if let Some(task) = curr {
            self.fair.detach(&mut self.kernel, task);
        }
    }

    fn deactivate_current(&mut self, cpu: CpuId, state: TaskState, why: Dequeue) {
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        self.kernel.task_mut(curr).state = state;
        class_of!(self, curr, dequeue_task, curr, why);
        self.kernel.resched_curr(cpu);
    }

    /// `sched_yield` by the running task of `cpu`.
    pub fn yield_current(&mut self, cpu: CpuId) {
        if let Some(curr) = self.kernel.rq(cpu).curr {
            class_of!(self, curr, yield_task, cpu);
            self.kernel.resched_curr(cpu);
        }
    }

    /// Balancing that the ticks of this instant left to be done; see [`Fair::sched_balance_softirq`].
    pub fn softirq(&mut self) {
        self.fair.sched_balance_softirq(&mut self.kernel);
    }

    /// `move_queued_task`: what waits moves to another CPU.
    fn move_waiting(&mut self, task: TaskId, dst: CpuId) {
        if self.kernel.task(task).class == ClassId::Ext {
            loaded(&mut self.ext).with(&mut self.kernel).move_queued_task(task, dst);
            return self.wakeup_preempt(dst, task);
        }
        // The migration thread of the CPU that the task leaves does it.
        self.kernel.works_on_others(Some(self.kernel.task(task).cpu));
        class_of!(self, task, dequeue_task, task, Dequeue::Save);
        self.attach(task, dst);
        self.kernel.works_on_others(None);
    }

    fn attach(&mut self, task: TaskId, dst: CpuId) {
        class_of!(self, task, migrate_task_rq, task, dst);
        self.kernel.set_task_cpu(task, dst);
        class_of!(self, task, enqueue_task, task, Enqueue::Migrating);
        self.wakeup_preempt(dst, task);
    }

    /// The periodic tick of a busy CPU (`sched_tick`), which takes `cost` and reads the clock first: a thread that it lets
    /// run has not yet had whole ticks at the ticks to come, so a slice of a whole number of ticks lasts one more.
    pub fn tick(&mut self, cpu: CpuId, cost: Nanos) {
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        if self.kernel.hw_pressure_active {
            self.kernel.update_hw_load_avg(cpu);
        }
        self.kernel.exit_to_user_mode(cpu);
        class_of!(self, curr, task_tick, cpu, curr);
        if self.kernel.scx_enabled() {
            self.book_runtime_scx(cpu);
            loaded(&mut self.ext).with(&mut self.kernel).scx_tick();
            // The end of `scx_tick`.
            self.kernel.update_other_load_avgs(cpu);
        }
        if self.kernel.switching == Switching::All {
            // No class but the loaded scheduler's tells the governor of anything, except for the real-time threads that
            // every system has. Here the tick stands for them.
            self.kernel.cpufreq_update_util(cpu);
        } else {
            self.fair.sched_balance_trigger(&mut self.kernel, cpu);
        }
        let rq = self.kernel.rq_mut(cpu);
        if rq.need_resched {
            rq.clock_ahead = cost;
        }
    }

    /// The timer of `cpu` that ends slices on time has gone off (`hrtick`), which takes `cost`.
    pub fn hrtick(&mut self, cpu: CpuId, cost: Nanos) {
        self.kernel.exit_to_user_mode(cpu);
        self.fair.hrtick(&mut self.kernel, cpu);
        let rq = self.kernel.rq_mut(cpu);
        if rq.need_resched {
            rq.clock_ahead = cost;
        }
    }

    /// A tick that an idle CPU kept (`sched_tick` with the idle thread current); true if it has work to run now.
    pub fn idle_tick(&mut self, cpu: CpuId) -> bool {
        if self.kernel.switching != Switching::All {
            self.fair.sched_balance_idle_tick(&mut self.kernel, cpu);
        }
        self.kernel.rq(cpu).need_resched
    }

    /// Nobody asks about tasks any more: the run is over.
    pub fn forget_tasks(&mut self) {
        self.kernel.tasks = Vec::new();
        self.fair.forget_tasks();
    }

    /// The next context switch that is due now, or `None` when every CPU runs what it should.
    #[inline]
    pub fn next_switch(&mut self) -> Option<Switch> {
        // Asked some three times per event, and nearly always there is nothing.
        let none = self.ext.is_none()
            && self.kernel.resched.is_empty()
            && self.kernel.stop_moves.is_empty()
            && self.kernel.active_balance.is_empty();
        if none { None } else { self.find_switch() }
    }

    fn find_switch(&mut self) -> Option<Switch> {
        loop {
            self.scx_deferred_work();
            if let Some((task, dst)) = self.next_stop() {
                if let Some(switch) = self.stop_and_move(task, dst) {
                    return Some(switch);
                }
                continue;
            }
            let cpu = self.kernel.resched.pop_front()?;
            if !self.kernel.rq(cpu).need_resched {
                continue;
            }
            self.scx_reschedules(cpu);
            if let Some(switch) = self.schedule(cpu) {
                return Some(switch);
            }
        }
    }

    /// The next task that the stopper of its CPU is to move, and where: for affinity (`migration_cpu_stop`) or for
    /// balance (`active_load_balance_cpu_stop`).
    fn next_stop(&mut self) -> Option<(TaskId, CpuId)> {
        if let Some(stop) = self.kernel.stop_moves.pop() {
            return Some(stop);
        }
        while let Some((src, dst)) = self.kernel.active_balance.pop() {
            if let Some(task) = self.fair.detach_one_task(&self.kernel, src, dst) {
                return Some((task, dst));
            }
        }
        None
    }

    /// Moves a task that may be running.
    fn stop_and_move(&mut self, task: TaskId, dst: CpuId) -> Option<Switch> {
        let src = self.kernel.task(task).cpu;
        if src == dst || !self.kernel.task(task).may_use(dst) {
            return None;
        }
        if self.kernel.rq(src).curr != Some(task) {
            self.move_waiting(task, dst);
            return None;
        }
        if self.kernel.task(task).state != TaskState::Runnable {
            return None;
        }
        if self.kernel.task(task).class == ClassId::Ext {
            return Some(self.stop_and_move_scx(task, src, dst));
        }
        class_of!(self, task, dequeue_task, task, Dequeue::Save);
        if self.kernel.rt_active {
            self.rt.stopper_leaves(&mut self.kernel, src);
        }
        let switch = self.schedule(src);
        self.attach(task, dst);
        switch
    }

    /// `__schedule`: picks the task that runs next on `cpu`.
    fn schedule(&mut self, cpu: CpuId) -> Option<Switch> {
        let switch = self.pick_and_switch(cpu);
        self.kernel.rq_mut(cpu).clock_ahead = 0;
        switch
    }

    fn pick_and_switch(&mut self, cpu: CpuId) -> Option<Switch> {
        let prev = self.kernel.rq(cpu).curr;
        let next = self.pick_next_task(cpu);
        let rq = self.kernel.rq_mut(cpu);
        (rq.need_resched, rq.need_resched_lazy) = (false, false);
        if prev == next {
            if next.is_none() && self.kernel.scx_enabled() {
                self.kernel.idle_passes.push(cpu);
            }
            self.push_waiting(cpu, next);
            return None;
        }
        self.put_prev_task(cpu, prev, next);
        Some(self.switch_to(cpu, prev, next))
    }

    /// `prev`, the idle thread if `None`, leaves `cpu` to `next`.
    fn put_prev_task(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        match prev {
            Some(prev) if self.kernel.task(prev).class == ClassId::Ext => {
                let next = next.map_or(Next::Idle, Next::Task);
                loaded(&mut self.ext).with(&mut self.kernel).put_prev_task_scx(cpu, prev, Some(next));
            }
            Some(prev) => {
                self.book_runtime_scx(cpu);
                class_of!(self, prev, put_prev_task, cpu, prev);
            }
            None if self.kernel.scx_enabled() => {
                loaded(&mut self.ext).with(&mut self.kernel).update_idle(cpu, IdleChange::Ends);
            }
            None => {}
        }
        if let Some(prev) = prev {
            let now = self.kernel.now;
            let left = self.kernel.task_mut(prev);
            (left.on_cpu, left.last_ran) = (false, now);
        }
    }

    /// `next` comes to `cpu` after `prev` was put.
    pub(super) fn switch_to(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) -> Switch {
        // A loaded scheduler is told before `next` is current.
        self.set_next_task_scx(cpu, next);
        self.trace_sched_switch(cpu, prev, next);
        // The time up to now belongs to the task that ran: the clock must not see the newcomer yet.
        self.kernel.update_rq_clock(cpu);
        self.kernel.rq_mut(cpu).curr = next;
        if let Some(prev) = prev {
            self.migrate_disable_switch(prev);
        }
        match next {
            Some(task) => {
                self.kernel.set_idle(cpu, false);
                self.kernel.task_mut(task).on_cpu = true;
                if self.kernel.task(task).class != ClassId::Ext {
                    class_of!(self, task, set_next_task, cpu, task);
                    self.begin_runtime_scx(cpu, task);
                }
            }
            None => self.enter_idle(cpu),
        }
        if self.kernel.firmware_watches && prev.is_none() != next.is_none() {
            self.kernel.cpufreq_updates.push(cpu);
        }
        self.scx_picked(cpu, next);
        self.push_waiting(cpu, next);
        self.scx_switched(prev);
        Switch { cpu, prev, next }
    }

    /// `deadline_queue_push_tasks`, `rt_queue_push_tasks`: those that wait behind the new task may go elsewhere.
    fn push_waiting(&mut self, cpu: CpuId, running: Option<TaskId>) {
        match running.map(|task| self.kernel.task(task).class) {
            Some(ClassId::Dl) => self.dl.push_dl_tasks(&mut self.kernel, cpu),
            Some(ClassId::Rt) => self.rt.push_rt_tasks(&mut self.kernel, cpu),
            Some(ClassId::Fair | ClassId::Ext) | None => {}
        }
    }

    /// `__pick_next_task`, balancing before idleness (`prev_balance`).
    pub(super) fn pick_next_task(&mut self, cpu: CpuId) -> Option<TaskId> {
        if self.kernel.scx_enabled() {
            return self.pick_next_task_scx(cpu);
        }
        // A CPU that goes offline takes no more work.
        let online = self.kernel.topology.online.test(cpu);
        if self.kernel.dl_active {
            if online {
                self.dl.balance(&mut self.kernel, cpu);
            }
            if let Some(task) = self.dl.pick_task(&mut self.kernel, cpu) {
                return Some(task);
            }
        }
        if self.kernel.rt_active {
            if online {
                self.rt.balance(&mut self.kernel, cpu);
            }
            if let Some(task) = self.rt.pick_task(&mut self.kernel, cpu) {
                return Some(task);
            }
        }
        if let Some(task) = self.fair.pick_task(&mut self.kernel, cpu) {
            return Some(task);
        }
        if self.kernel.rt_active
            && let Some(task) = self.rt.pick_held_back(cpu)
        {
            return Some(task);
        }
        if online && self.fair.balance(&mut self.kernel, cpu) {
            return self.fair.pick_task(&mut self.kernel, cpu);
        }
        None
    }

    fn enter_idle(&mut self, cpu: CpuId) {
        let rq = self.kernel.rq(cpu);
        let sums = [self.fair.queue(cpu).avg.util_sum, rq.avg_rt.util_sum, rq.avg_dl.util_sum];
        let busy = sums.map(u64::from).iter().sum();
        let now = self.kernel.now;
        let rq = self.kernel.rq_mut(cpu);
        rq.clock.enter_idle(busy);
        rq.idle_stamp = Some(now);
        if rq.nr_running == 0 && self.kernel.topology.online.test(cpu) {
            self.kernel.set_idle(cpu, true);
            self.fair.update_idle_core(&self.kernel, cpu);
            self.fair.nohz_balance_enter_idle(cpu);
        }
        self.fair.hrtick_clear(cpu);
    }

    /// `sugov_get_util`: what fair tasks use, and what a loaded scheduler wants.
    fn cpu_util_cfs_and_scx(&self, cpu: CpuId) -> u64 {
        if !self.kernel.topology.online.test(cpu) {
            // It is not of the policy any more.
            return 0;
        }
        let fair = self.fair.cpu_util_cfs_boost(&self.kernel, cpu);
        match &self.ext {
            Some(scx) => scx.state.cpuperf.util(cpu, fair, self.kernel.switching == Switching::All),
            None => fair,
        }
    }

    /// Utilisation of `cpu` as schedutil sees it.
    pub fn cpufreq_util(&self, cpu: CpuId, idle_calls: u64) -> CpuUtil {
        let (uclamp_min, uclamp_max) = self.fair.uclamp_rq(&self.kernel, cpu);
        let cfs = self.cpu_util_cfs_and_scx(cpu);
        let rt = self.kernel.rq(cpu).avg_rt.util_avg;
        CpuUtil {
            cfs,
            rt,
            dl: self.kernel.rq(cpu).avg_dl.util_avg,
            dl_bandwidth: self.kernel.rq(cpu).dl_bandwidth,
            irq: self.kernel.rq(cpu).avg_irq.util_avg,
            uclamp_min,
            uclamp_max,
            rt_wants_max: self.kernel.rq(cpu).rt_nr_running > 0 && !self.kernel.uclamp_used,
            capped: uclamp_rq_is_capped(cfs + rt, uclamp_max),
            idle_calls,
            scx_switched_all: self.kernel.switching == Switching::All,
        }
    }
}
