// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task changes class or priority: for good, by its own wish (`sched_setscheduler`), or for as long as it holds what a
//! more urgent one waits for (`rt_mutex_setprio`).

use super::core::{Sched, class_of};
use crate::kernel::class::{Dequeue, Enqueue, SchedClass};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::dl::{Dl, Refusal};
use crate::kernel::task::{ClassId, Task, TaskState};
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::{Policy, Scheduling};

/// How urgent a task is among those that wait for a mutex; greater is more urgent (`rt_mutex_waiter_less`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency {
    /// Real-time priority; all fair tasks have 0.
    priority: u8,
    /// The earlier the deadline, the more urgent.
    deadline: std::cmp::Reverse<Nanos>,
}

/// The flags with which a task is taken off its queue and put back around a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    /// `DEQUEUE_SAVE`, `ENQUEUE_RESTORE`.
    Save,
    /// With `DEQUEUE_MOVE` and `ENQUEUE_MOVE`: it need not keep its place.
    Move {
        /// Whether the task comes back before its equals (`ENQUEUE_HEAD`).
        head: bool,
    },
}

impl Sched {
    /// Whether a new or existing task may get a policy (`sched_dl_overflow` and the check of affinity beside it).
    ///
    /// # Errors
    /// A deadline policy that does not fit beside the others, or a task that may not use all CPUs.
    pub fn admit(&self, task: Option<TaskId>, policy: Policy, allowed: Option<&CpuMask>) -> Result<(), Refusal> {
        if !matches!(policy, Policy::Deadline { .. }) {
            return Ok(());
        }
        Dl::check_affinity(&self.kernel, allowed)?;
        self.dl.check_bandwidth(&self.kernel, task, policy)
    }

    /// Whether `task` may be bound to these CPUs (`dl_task_check_affinity`).
    ///
    /// # Errors
    /// A deadline task must be allowed on all.
    pub fn admit_affinity(&self, task: TaskId, allowed: Option<&CpuMask>) -> Result<(), Refusal> {
        if !matches!(self.kernel.task(task).scheduling.policy, Policy::Deadline { .. }) {
            return Ok(());
        }
        Dl::check_affinity(&self.kernel, allowed)
    }

    /// `sched_setscheduler` of the running task of `cpu` on itself; a deadline policy must have been
    /// [admitted](Sched::admit).
    pub fn set_scheduling_of_current(&mut self, cpu: CpuId, scheduling: Scheduling) {
        let Some(task) = self.kernel.rq(cpu).curr else { return };
        let old = self.kernel.task(task).scheduling;
        if old == scheduling {
            return;
        }
        let class = self.kernel.task(task).class;
        let bracket = self.bracket_of_policy(task, scheduling);
        self.change(task, bracket, |scheduler| {
            let switching = scheduler.kernel.switching;
            scheduler.kernel.uclamp_used |= scheduling.has_clamps();
            scheduler.kernel.task_mut(task).set_scheduling(scheduling, switching);
            scheduler.mirror_scheduling_scx(task);
            scheduler.fair.reweight(&scheduler.kernel, task);
            scheduler.reweight_task_scx(task, class);
            if matches!(scheduling.policy, Policy::Deadline { .. }) {
                scheduler.dl.reserve(&scheduler.kernel, task);
            }
        });
    }

    /// How the kernel surrounds the change to `scheduling`: a nice value alone is set by `set_user_nice`; all else is set by
    /// `__sched_setscheduler`, which lets a task whose priority stays the same keep its place.
    fn bracket_of_policy(&self, task: TaskId, scheduling: Scheduling) -> Bracket {
        let before = self.kernel.task(task);
        let nice_alone = std::mem::discriminant(&before.scheduling.policy)
            == std::mem::discriminant(&scheduling.policy)
            && before.class >= ClassId::Fair;
        let mut after = Task::new(task, before.scheduling, None, self.kernel.switching);
        (after.inherits, after.nice) = (before.inherits, before.nice);
        after.set_scheduling(scheduling, self.kernel.switching);
        let (old, new) = (before.kernel_priority(), after.kernel_priority());
        if nice_alone || old == new { Bracket::Save } else { Bracket::Move { head: old < new } }
    }

    /// `rt_mutex_setprio`: the most urgent task that waits for `task` is `donor`; `None`: no task above fair waits.
    pub fn rt_mutex_setprio(&mut self, task: TaskId, donor: Option<TaskId>) {
        let top = donor.map(|donor| self.kernel.task(donor)).filter(|donor| donor.class < ClassId::Fair);
        let inherits = top.map(|donor| (donor.class, donor.rt_priority));
        let deadline = self.deadline_donor(task, top);
        let before = self.kernel.task(task);
        // Among deadline tasks the reservation counts, which may be another one although the priority is the same.
        let involves_dl = before.class == ClassId::Dl || deadline.is_some();
        if before.state == TaskState::Dead || (before.inherits == inherits && !involves_dl) {
            return;
        }
        self.change(task, Bracket::Move { head: false }, |scheduler| {
            let switching = scheduler.kernel.switching;
            let task = scheduler.kernel.task_mut(task);
            task.inherits = inherits;
            task.set_scheduling(task.scheduling, switching);
            let id = task.id;
            if involves_dl {
                scheduler.dl.set_boost(id, deadline);
            }
            scheduler.mirror_scheduling_scx(id);
        });
    }

    /// The task with the reservation that `task` is to use: a deadline task which waits for it, unless its own deadline
    /// is earlier.
    fn deadline_donor(&self, task: TaskId, top: Option<&Task>) -> Option<TaskId> {
        let donor = top.filter(|donor| donor.class == ClassId::Dl)?.id;
        let own = matches!(self.kernel.task(task).scheduling.policy, Policy::Deadline { .. });
        (!own || self.dl.may_boost(donor, task)).then_some(donor)
    }

    /// Takes `task` off its queue, lets `how` change its class and priority, and puts it back. What `bracket` says only a
    /// loaded scheduler can tell.
    pub(super) fn change(&mut self, task: TaskId, bracket: Bracket, how: impl FnOnce(&mut Self)) {
        let cpu = self.kernel.task(task).cpu;
        let running = self.kernel.rq(cpu).curr == Some(task);
        let old = self.kernel.task(task);
        let (class, rt_priority, priority) = (old.class, old.rt_priority, old.kernel_priority());
        let queued = old.state == TaskState::Runnable;
        self.book_runtime_scx(cpu);
        if queued {
            self.dequeue_to_change(task, bracket);
        } else {
            // Asleep, it must not stay on the queue of a class that it leaves.
            self.fair.finish_delayed(&mut self.kernel, task);
        }
        if running {
            class_of!(self, task, put_prev_task, cpu, task);
        }
        how(self);
        if class == ClassId::Fair && self.kernel.task(task).class != ClassId::Fair {
            self.fair.detach(&mut self.kernel, task);
        }
        if class == ClassId::Dl && self.kernel.task(task).class != ClassId::Dl {
            self.dl.switched_from(&mut self.kernel, task);
        }
        self.check_class_changing(task, class);
        if queued {
            // A task that does not become more urgent stays before its new equals.
            let first = class < ClassId::Fair && self.kernel.task(task).rt_priority <= rt_priority;
            self.enqueue_changed(task, bracket, first);
        }
        if running {
            class_of!(self, task, set_next_task, cpu, task);
            self.begin_runtime_scx(cpu, task);
        }
        self.switched_from(task, class);
        if queued {
            self.pull_after_change(cpu, task, running, (class, priority));
            self.check_class_changed(cpu, task, running, (class, priority));
        }
    }

    /// A queued `task` of `cpu` that had this class and priority has others now, or another reservation: waiting tasks of its
    /// old class may come here (`switched_from_rt`, `prio_changed_rt`, `switched_from_dl`, `prio_changed_dl`).
    fn pull_after_change(&mut self, cpu: CpuId, task: TaskId, running: bool, (class, priority): (ClassId, i32)) {
        let changed = self.kernel.task(task);
        let (stays, less_urgent) = (changed.class == class, changed.kernel_priority() > priority);
        match class {
            ClassId::Rt if !stays => self.rt.switched_from(&mut self.kernel, cpu),
            ClassId::Rt if running && less_urgent => self.rt.rt_queue_pull_task(&mut self.kernel, cpu),
            ClassId::Dl if stays && !self.dl.is_overloaded(cpu) || !stays && self.kernel.rq(cpu).dl_nr_running == 0 => {
                self.dl.deadline_queue_pull_task(&mut self.kernel, cpu);
            }
            ClassId::Rt | ClassId::Dl | ClassId::Fair | ClassId::Ext => {}
        }
    }

    fn dequeue_to_change(&mut self, task: TaskId, bracket: Bracket) {
        if self.kernel.task(task).class == ClassId::Ext {
            return self.dequeue_to_change_scx(task, bracket);
        }
        class_of!(self, task, dequeue_task, task, Dequeue::Save);
    }

    fn enqueue_changed(&mut self, task: TaskId, bracket: Bracket, first: bool) {
        if self.kernel.task(task).class == ClassId::Ext {
            return self.enqueue_changed_scx(task, bracket);
        }
        let why = if first { Enqueue::RestoreHead } else { Enqueue::Restore };
        class_of!(self, task, enqueue_task, task, why);
    }

    /// `check_class_changed`: having become less urgent, a running task may have to go; having become more urgent, a
    /// waiting one may come.
    fn check_class_changed(&mut self, cpu: CpuId, task: TaskId, running: bool, old: (ClassId, i32)) {
        let changed = self.kernel.task(task);
        let (class, priority) = (changed.class, changed.kernel_priority());
        if class == ClassId::Ext {
            // `switched_to_scx` does nothing, whatever runs.
            return;
        }
        if !running {
            self.wakeup_preempt(cpu, task);
        } else if class != old.0 && class == ClassId::Fair || class > old.0 || priority > old.1 || class == ClassId::Dl
        {
            self.kernel.resched_curr(cpu);
        }
    }

    /// How urgent `task` is among those that wait for a mutex.
    pub fn urgency(&self, task: TaskId) -> Urgency {
        let priority = self.kernel.task(task).rt_priority;
        let is_deadline = self.kernel.task(task).class == ClassId::Dl;
        let deadline = if is_deadline { self.dl.deadline(task) } else { 0 };
        Urgency { priority, deadline: std::cmp::Reverse(deadline) }
    }
}
