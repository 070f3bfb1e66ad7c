// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduling class must answer, with the hooks' kernel names.

use crate::kernel::Kernel;
use crate::units::{CpuId, TaskId};

/// Why a task is put on a run queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueue {
    /// A new task (`ENQUEUE_INITIAL`).
    New,
    /// The task woke (`ENQUEUE_WAKEUP`); `migrated`: on another CPU than it slept on.
    Wakeup {
        /// `ENQUEUE_MIGRATED`.
        migrated: bool,
    },
    /// The task was taken off for a moment (`ENQUEUE_RESTORE`): its parameters changed.
    Restore,
    /// The task comes from another CPU, where it was taken off (`ENQUEUE_MIGRATING`, `TASK_ON_RQ_MIGRATING`).
    Migrating,
    /// As [`Enqueue::Restore`], and the task goes before its equals (`ENQUEUE_HEAD`).
    RestoreHead,
}

/// Why a task is taken off its run queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeue {
    /// The task blocks (`DEQUEUE_SLEEP`).
    Sleep,
    /// The task ends, and must really leave (`DEQUEUE_SLEEP | DEQUEUE_SPECIAL`).
    Exit,
    /// The task comes back at once, here or elsewhere (`DEQUEUE_SAVE` or `DEQUEUE_MOVE`).
    Save,
}

/// Why a CPU is to be selected for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The task starts (`WF_FORK`).
    Fork,
    /// The task is woken (`WF_TTWU`); `sync`: the waker is about to sleep.
    Ttwu {
        /// `WF_SYNC`.
        sync: bool,
    },
}

/// A scheduling class as the kernel sees it. `Kernel` is the model that all classes share; no class sees the event
/// queue or the clock's source.
pub trait SchedClass {
    /// Makes room for a task that will belong to this class.
    fn task_new(&mut self, kernel: &Kernel, task: TaskId);
    /// Chooses a CPU for a waking or new task; `this_cpu` is where the waker runs.
    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId, wake: Wake) -> CpuId;
    /// Puts a task on its CPU's queue.
    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Enqueue);
    /// Takes a task off its CPU's queue. False: it blocks but stays queued until it has paid its debt
    /// (`DELAY_DEQUEUE`).
    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Dequeue) -> bool;
    /// Whether a woken task still stands on its queue, because its dequeue was delayed; then it is runnable again.
    fn requeue_delayed(&mut self, kernel: &mut Kernel, task: TaskId) -> bool;
    /// Reschedules `cpu` if `task`, just queued there, should run before the current task.
    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId);
    /// `task`, not queued, will next be queued on `cpu` instead of its present one (`migrate_task_rq`).
    fn migrate_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, cpu: CpuId);
    /// `cpu` is about to idle: pulls a task from elsewhere if balancing says so; true if it has work now.
    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool;
    /// The current task gives up its turn.
    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId);
    /// The task to run next; it may be the current one, which stays queued if runnable.
    fn pick_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId>;
    /// `task` stops being current.
    fn put_prev_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId);
    /// `task` becomes current.
    fn set_next_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId);
    /// The periodic tick found `task` running.
    fn task_tick(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId);
}
