// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler hears of single tasks: that they come, become its own, cease to be, and go (`scx_ops_init_task`,
//! `scx_ops_enable_task`, `scx_ops_disable_task`, `scx_ops_exit_task`).

use tandem_bpf_vm::fault::FaultKind;

use super::Ctx;
use super::abi::GuestTaskInfo;
use super::abi::profile::{SCX_SLICE_DFL, SCX_TASK_RESET_RUNNABLE_AT, SCX_TASK_STATE_SHIFT};
use super::ops::Op;
use super::origin::Origin;
use crate::kernel::task::NICE_0_WEIGHT;
use crate::units::{CpuId, TaskId};
use crate::workload::Policy;

/// How far the scheduler knows a task (`enum scx_task_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScxTaskState {
    /// The scheduler does not know the task.
    None,
    /// `init_task` was called.
    Init,
    /// The task may become the scheduler's own.
    Ready,
    /// The task is the scheduler's own (`enable` was called).
    Enabled,
}

/// Why a task cannot be forked.
#[derive(Debug, Clone, PartialEq)]
pub enum ForkError {
    /// The scheduler refuses it, with this negative errno.
    Refused(i32),
    /// The task's object does not fit into the simulated kernel's memory (`-ENOMEM`).
    Memory(FaultKind),
}

/// Bits of `scx.flags` that hold the state (`SCX_TASK_STATE_MASK`).
pub const SCX_TASK_STATE_MASK: u32 = 3 << SCX_TASK_STATE_SHIFT;

impl ScxTaskState {
    /// The state in `scx.flags`.
    pub fn of(flags: u32) -> Self {
        match (flags & SCX_TASK_STATE_MASK) >> SCX_TASK_STATE_SHIFT {
            0 => Self::None,
            1 => Self::Init,
            2 => Self::Ready,
            _ => Self::Enabled,
        }
    }

    /// The bits of `scx.flags` that say so.
    pub(super) fn bits(self) -> u32 {
        (self as u32) << SCX_TASK_STATE_SHIFT
    }
}

/// `sched_weight_to_cgroup`: load weight 1024 is 100; 1..=10000.
pub fn sched_weight_to_cgroup(weight: u32) -> u32 {
    let scaled = (u64::from(weight) * 100 + NICE_0_WEIGHT / 2) / NICE_0_WEIGHT;
    scaled.clamp(1, 10_000) as u32
}

impl Ctx<'_> {
    /// Makes the object of a task (`dup_task_struct`).
    ///
    /// # Errors
    /// The object does not fit into the memory; there is none then.
    pub fn scx_task_new(&mut self, task: TaskId, info: &GuestTaskInfo<'_>) -> Result<(), FaultKind> {
        self.scx.guest.task_new(&mut self.vm.memory, self.kernel, task, info)?;
        let cgroup = self.kernel.task(task).cgroup;
        // `init_scx_entity`; while a scheduler is loaded, the task's entity comes later.
        self.scx.guest.set_slice(&mut self.vm.memory, task, SCX_SLICE_DFL);
        self.scx.guest.set_task_cgroup(&mut self.vm.memory, task, cgroup);
        Ok(())
    }

    /// `init_task`, on fork or at load (`scx_ops_init_task`).
    ///
    /// # Errors
    /// The scheduler's negative errno.
    pub(super) fn scx_ops_init_task(&mut self, task: TaskId, cpu: CpuId, fork: bool) -> Result<(), i32> {
        self.scx.guest.set_disallow(&mut self.vm.memory, task, false);
        let cgroup = self.kernel.task(task).cgroup;
        let args = self.scx.guest.init_task_args(&mut self.vm.memory, fork, Some(cgroup));
        let address = self.scx.guest.task(task);
        let returned = self.call_op(Op::InitTask, cpu, None, [None; 2], &[address, args]).unwrap_or(0) as i32;
        if returned != 0 {
            let sanitize = |ctx: &mut Self| ctx.ops_sanitize_err(Op::InitTask, i64::from(returned));
            return Err(self.blaming(Origin::returned(self.vm, Op::InitTask, cpu), sanitize));
        }
        self.task(task).set_state(ScxTaskState::Init);
        if self.scx.guest.disallow(&self.vm.memory, task) {
            self.blaming(Origin::returned(self.vm, Op::InitTask, cpu), |ctx| ctx.reject(task, fork));
        }
        self.task(task).change_flags(0, SCX_TASK_RESET_RUNNABLE_AT);
        Ok(())
    }

    /// The scheduler does not want `task`: a task that asks for it becomes an ordinary one at load; on fork it is an error.
    /// (For other tasks it only forbids to ask later.)
    fn reject(&mut self, task: TaskId, fork: bool) {
        let Policy::Ext { nice } = self.kernel.task(task).scheduling.policy else { return };
        if fork {
            let who = self.task(task).comm_pid();
            let message = format!("ops.init_task() set task->scx.disallow for {who} during fork");
            self.ops_error(message);
            return;
        }
        self.kernel.task_mut(task).scheduling.policy = Policy::Other { nice, slice: None };
        self.scx.enable.nr_rejected += 1;
    }

    /// `task` becomes the scheduler's own: its weight, `enable`, `set_weight` (`scx_ops_enable_task`).
    fn scx_ops_enable_task(&mut self, task: TaskId, cpu: CpuId) {
        let weight = sched_weight_to_cgroup(self.kernel.task(task).weight);
        self.task(task).set_weight(weight);
        self.call_task_op(Op::Enable, task, cpu, &[]);
        self.task(task).set_state(ScxTaskState::Enabled);
        self.call_task_op(Op::SetWeight, task, cpu, &[u64::from(weight)]);
    }

    /// `task` ceases to be the scheduler's own: `disable` (`scx_ops_disable_task`).
    fn scx_ops_disable_task(&mut self, task: TaskId, cpu: CpuId) {
        self.scx.tasks[task].clear_direct_dispatch();
        self.call_task_op(Op::Disable, task, cpu, &[]);
        self.task(task).set_state(ScxTaskState::Ready);
    }

    /// The scheduler forgets `task`: `disable` if it was its own, `exit_task` (`scx_ops_exit_task`).
    pub fn scx_ops_exit_task(&mut self, task: TaskId, cpu: CpuId) {
        let state = self.task(task).state();
        match state {
            ScxTaskState::None => return,
            ScxTaskState::Enabled => self.scx_ops_disable_task(task, cpu),
            ScxTaskState::Init | ScxTaskState::Ready => {}
        }
        let cancelled = state == ScxTaskState::Init;
        let args = self.scx.guest.exit_task_args(&mut self.vm.memory, cancelled);
        self.call_task_op(Op::ExitTask, task, cpu, &[args]);
        self.task(task).set_state(ScxTaskState::None);
    }

    /// Calls `op` on `cpu`, with `task` as its first argument and the task's run queue locked.
    fn call_task_op(&mut self, op: Op, task: TaskId, cpu: CpuId, more: &[u64]) {
        self.scx.calls.set_this_cpu(cpu);
        self.call_op_task(op, task, more);
    }

    /// A new task: `init_task` (`scx_fork`), and `enable` if it is the scheduler's own (`scx_post_fork`); `maker`, or init,
    /// runs on `cpu` and makes it.
    ///
    /// # Errors
    /// The scheduler's negative errno: there is no task then (`scx_cancel_fork`).
    pub fn scx_fork(&mut self, task: TaskId, cpu: CpuId, maker: Option<TaskId>) -> Result<(), i32> {
        if !self.scx.enable.init_task {
            return Ok(());
        }
        let (maker, parent) = self.scx.guest.begin_fork(&mut self.vm.memory, task, maker);
        self.scx.calls.maker = Some(maker);
        let forked = self.scx_ops_init_task(task, cpu, true);
        self.scx.calls.maker = None;
        self.scx.guest.end_fork(&mut self.vm.memory, task, parent);
        if forked.is_err() {
            self.scx_ops_exit_task(task, cpu);
            return forked;
        }
        self.task(task).set_state(ScxTaskState::Ready);
        if self.kernel.task(task).is_ext() {
            self.scx_ops_enable_task(task, cpu);
        }
        Ok(())
    }

    /// A task's last reference is gone (`sched_ext_free`): the scheduler forgets it, and its object and what maps hold for
    /// it go. (7.x calls `exit_task` when the dead task leaves its CPU for the last time; the caller is to do the same.)
    pub fn sched_ext_free(&mut self, task: TaskId) {
        let cpu = self.kernel.task(task).cpu;
        self.scx_ops_exit_task(task, cpu);
        let address = self.scx.guest.task(task);
        if address != 0 {
            self.vm.storage_owner_gone(address);
            self.scx.guest.task_free(&mut self.vm.memory, task);
        }
    }

    /// `task` is about to be the scheduler's own: `enable`, `set_weight`, `set_cpumask` (`switching_to_scx`).
    pub fn switching_to_scx(&mut self, task: TaskId) {
        let cpu = self.scx.enable.changing_cpu(self.kernel, task);
        self.scx_ops_enable_task(task, cpu);
        let mask = self.scx.guest.cpus_ptr(&self.vm.memory, task);
        self.call_task_op(Op::SetCpumask, task, cpu, &[mask]);
    }

    /// `task` belongs to another class now: `disable` (`switched_from_scx`).
    pub fn switched_from_scx(&mut self, task: TaskId) {
        let cpu = self.scx.enable.changing_cpu(self.kernel, task);
        if self.task(task).state() == ScxTaskState::Enabled {
            self.scx_ops_disable_task(task, cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::task::weight_of_nice;

    #[test]
    fn weights_are_cgroup_weights() {
        let weights = [0, -20, 19].map(|nice| sched_weight_to_cgroup(weight_of_nice(nice)));
        assert_eq!(weights, [100, 8668, 1]);
        assert_eq!(sched_weight_to_cgroup(3), 1, "SCHED_IDLE would round to 0");
    }

    #[test]
    fn the_state_is_in_bits_8_and_9_and_the_others_say_nothing_of_it() {
        assert_eq!([ScxTaskState::Enabled.bits(), ScxTaskState::Init.bits()], [0x300, 0x100]);
        assert_eq!(ScxTaskState::of(0x205), ScxTaskState::Ready);
        assert_eq!(ScxTaskState::of(0x5), ScxTaskState::None);
    }
}
