// SPDX-License-Identifier: MIT OR Apache-2.0
//! From which callbacks a kernel function may be called (`enum scx_kf_mask`, `scx_kf_allowed`).
//!
//! The kernel keeps the callbacks at work as bits of the current task. Here they are [`Calls::active`], outermost first.

use crate::scx::Ctx;
use crate::scx::callbacks::{Active, Calls};
use crate::scx::ops::Op;
use crate::units::{CpuId, TaskId};

/// `SCX_KF_UNLOCKED`: no run queue is locked.
pub const UNLOCKED: u32 = 0;
/// `SCX_KF_CPU_RELEASE`.
pub const CPU_RELEASE: u32 = 1;
/// `SCX_KF_DISPATCH`; `enqueue` may run inside it.
pub const DISPATCH: u32 = 1 << 1;
/// `SCX_KF_ENQUEUE`.
pub const ENQUEUE: u32 = 1 << 2;
/// `SCX_KF_SELECT_CPU`.
pub const SELECT_CPU: u32 = 1 << 3;
/// `SCX_KF_REST`: other callbacks with a locked run queue.
pub const REST: u32 = 1 << 4;
/// `__SCX_KF_RQ_LOCKED`.
pub const RQ_LOCKED: u32 = CPU_RELEASE | DISPATCH | ENQUEUE | SELECT_CPU | REST;

/// From where a kernel function may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Anywhere.
    Any,
    /// From a callback that allows one of these bits, with nothing nested inside it that does not.
    Mask(u32),
    /// From a callback that allows one of these bits, as [`Context::Mask`], or while no callback that locks a run queue
    /// is at work.
    MaskOrUnlocked(u32),
    /// From a callback that locks a run queue, on the task that it is about.
    ArgTask,
    /// From a callback that may sleep.
    Sleepable,
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No callback at work allows it.
    #[error("kfunc with mask 0x{mask:x} called from an operation only allowing 0x{allowed:x}")]
    Mask {
        /// What the function needs.
        mask: u32,
        /// What the callbacks at work allow.
        allowed: u32,
    },
    /// A callback that allows it is at work, but one inside it is calling.
    #[error("{0} kfunc called from a nested operation")]
    Nested(&'static str),
    /// The callback is about another task.
    #[error("called on a task not being operated on")]
    OtherTask,
    /// The callback must not sleep. (The kernel's verifier refuses to load such a program.)
    #[error("kfunc that may sleep called from ops.{0}(), which must not")]
    Sleeps(&'static str),
}

/// What `op` allows, in bits of `enum scx_kf_mask`; timers and `syscall` programs allow as little as `init`.
pub fn mask_of(op: Option<Op>) -> u32 {
    match op {
        Some(Op::SelectCpu) => ENQUEUE | SELECT_CPU,
        Some(Op::Enqueue) => ENQUEUE,
        Some(Op::Dispatch) => DISPATCH,
        Some(Op::CpuRelease) => CPU_RELEASE,
        Some(
            Op::Dequeue
            | Op::Tick
            | Op::Runnable
            | Op::Running
            | Op::Stopping
            | Op::Quiescent
            | Op::Yield
            | Op::CoreSchedBefore
            | Op::SetWeight
            | Op::SetCpumask
            | Op::UpdateIdle
            | Op::CpuAcquire
            | Op::ExitTask
            | Op::Enable
            | Op::Disable
            | Op::DumpCpu
            | Op::DumpTask,
        ) => REST,
        Some(_) | None => UNLOCKED,
    }
}

/// Whether `op` may sleep.
pub fn may_sleep(op: Op) -> bool {
    matches!(
        op,
        Op::InitTask
            | Op::CgroupInit
            | Op::CgroupExit
            | Op::CgroupPrepMove
            | Op::CpuOnline
            | Op::CpuOffline
            | Op::Init
            | Op::Exit
    )
}

impl Context {
    /// Whether the callbacks at work in `calls` allow a call, on `task` where the function has one.
    ///
    /// # Errors
    /// Why not.
    #[inline]
    pub fn check(self, calls: &Calls, task: Option<TaskId>) -> Result<(), Refused> {
        match self {
            Self::Any => Ok(()),
            Self::Mask(mask) => scx_kf_allowed(calls.kf_mask(), mask),
            Self::MaskOrUnlocked(mask) => match calls.kf_mask() {
                UNLOCKED => Ok(()),
                allowed => scx_kf_allowed(allowed, mask),
            },
            Self::ArgTask => {
                scx_kf_allowed(calls.kf_mask(), RQ_LOCKED)?;
                let tasks = calls.active.last().map_or([None; 2], arg_tasks);
                if task.is_some() && tasks.contains(&task) { Ok(()) } else { Err(Refused::OtherTask) }
            }
            Self::Sleepable => match calls.active.last().and_then(|active| active.op) {
                Some(op) if !may_sleep(op) => Err(Refused::Sleeps(op.name())),
                Some(_) | None => Ok(()),
            },
        }
    }
}

/// The tasks that a callback is about (`kf_tasks`); the previous task of `dispatch` is none.
fn arg_tasks(active: &Active) -> [Option<TaskId>; 2] {
    match active.op {
        Some(Op::Dispatch | Op::CpuRelease | Op::DumpTask) | None => [None; 2],
        Some(_) => active.tasks,
    }
}

/// `scx_kf_allowed`: a function that needs one of `mask` is called where `allowed` is.
fn scx_kf_allowed(allowed: u32, mask: u32) -> Result<(), Refused> {
    if allowed & mask == 0 {
        return Err(Refused::Mask { mask, allowed });
    }
    // A callback nested inside has a higher bit.
    let highest = 1 << mask.ilog2();
    let nested = allowed & !(2 * highest - 1) != 0;
    match highest {
        CPU_RELEASE if nested => Err(Refused::Nested("cpu_release")),
        DISPATCH if nested => Err(Refused::Nested("dispatch")),
        _ => Ok(()),
    }
}

impl Calls {
    /// What the callbacks at work allow (`current->scx.kf_mask`).
    #[inline]
    pub fn kf_mask(&self) -> u32 {
        self.active.iter().fold(UNLOCKED, |mask, active| mask | mask_of(active.op))
    }

    /// The CPU whose run queue is locked around the innermost callback (`scx_locked_rq`).
    #[inline]
    pub fn locked_cpu(&self) -> Option<CpuId> {
        self.active.last().and_then(|active| active.locked)
    }
}

impl Ctx<'_> {
    /// Whether a function with `context` may be called now, on `task` where it has one; an error if not.
    #[inline]
    pub(super) fn permits(&mut self, context: Context, task: Option<TaskId>) -> bool {
        self.accept(context.check(&self.scx.calls, task)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Callbacks at work, outermost first, each about task 7.
    fn calls(ops: &[Option<Op>]) -> Calls {
        let tasks = [Some(TaskId(7)), None];
        let active = |op: &Option<Op>| Active { op: *op, tasks, ..Active::outside(CpuId(0), false) };
        let mut calls = Calls::default();
        calls.active.extend(ops.iter().map(active));
        calls
    }

    fn allowing(context: Context) -> Vec<&'static str> {
        let allows = |op: &&Op| context.check(&calls(&[Some(**op)]), Some(TaskId(7))).is_ok();
        Op::ALL.iter().filter(allows).map(|op| op.name()).collect()
    }

    #[test]
    fn tasks_are_inserted_from_select_cpu_enqueue_and_dispatch() {
        assert_eq!(allowing(super::super::insert::CONTEXT), ["select_cpu", "enqueue", "dispatch"]);
    }

    #[test]
    fn each_group_has_its_callbacks() {
        assert_eq!(allowing(Context::Mask(SELECT_CPU)), ["select_cpu"]);
        assert_eq!(allowing(Context::Mask(DISPATCH)), ["dispatch"]);
        assert_eq!(allowing(Context::Mask(CPU_RELEASE)), ["cpu_release"]);
        assert_eq!(allowing(Context::Any).len(), Op::ALL.len());
        let sleepable = [
            "init_task",
            "cgroup_init",
            "cgroup_exit",
            "cgroup_prep_move",
            "cpu_online",
            "cpu_offline",
            "init",
            "exit",
        ];
        assert_eq!(allowing(Context::Sleepable), sleepable);
    }

    #[test]
    fn moves_need_dispatch_or_no_locked_run_queue() {
        let context = Context::MaskOrUnlocked(DISPATCH);
        let allowed = allowing(context);
        for op in ["dispatch", "init", "init_task", "cgroup_move", "dump", "cpu_online"] {
            assert!(allowed.contains(&op), "{op}");
        }
        for op in ["select_cpu", "enqueue", "running", "tick", "update_idle", "cpu_release"] {
            assert!(!allowed.contains(&op), "{op}");
        }
        assert_eq!(context.check(&calls(&[None]), None), Ok(()), "a timer holds no run queue");
    }

    #[test]
    fn the_cgroup_of_a_task_is_told_to_callbacks_about_it() {
        let allowed = allowing(Context::ArgTask);
        for op in ["select_cpu", "enqueue", "running", "stopping", "set_weight", "enable", "yield"] {
            assert!(allowed.contains(&op), "{op}");
        }
        for op in ["dispatch", "cgroup_move", "init_task", "init", "dump_task"] {
            assert!(!allowed.contains(&op), "{op}");
        }
        let other = Context::ArgTask.check(&calls(&[Some(Op::Enqueue)]), Some(TaskId(8)));
        assert_eq!(other, Err(Refused::OtherTask));
        assert!(Context::ArgTask.check(&calls(&[Some(Op::Enqueue)]), None).is_err(), "no task is not its task");
    }

    #[test]
    fn a_refusal_says_what_was_needed_and_what_was_there() {
        let refused = Context::Mask(ENQUEUE | DISPATCH).check(&calls(&[Some(Op::Running)]), None).unwrap_err();
        assert_eq!(refused.to_string(), "kfunc with mask 0x6 called from an operation only allowing 0x10");
    }

    #[test]
    fn what_dispatch_may_is_not_for_callbacks_inside_it() {
        let nested = calls(&[Some(Op::Dispatch), Some(Op::Dequeue)]);
        assert_eq!(Context::Mask(DISPATCH).check(&nested, None), Err(Refused::Nested("dispatch")));
        let release = calls(&[Some(Op::CpuRelease), Some(Op::Enqueue)]);
        assert_eq!(Context::Mask(CPU_RELEASE).check(&release, None), Err(Refused::Nested("cpu_release")));
        assert_eq!(super::super::insert::CONTEXT.check(&release, None), Ok(()), "enqueue may insert wherever it is");
    }
}
