// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler takes over, and goes (`scx_ops_enable_workfn`, `scx_ops_disable_workfn`).
//!
//! What changes tasks' classes is in [`crate::sched::ext`], beside the other classes; [`tasks`](super::tasks) has what a
//! scheduler hears of single tasks.

use super::Ctx;
use super::abi::guest::args::ExitRecord;
use super::abi::profile::Profile;
use super::dispatch::DispatchBuffers;
use super::errno::EINVAL;
use super::exit::{ExitInfo, ExitKind, SCX_ECODE_ACT_RESTART, SCX_ECODE_RSN_HOTPLUG};
use super::ops::{Op, Ops};
use super::origin::Origin;
use super::tasks::ScxTaskState;
use super::timers::Timer;
use super::watchdog::SCX_WATCHDOG_MAX_TIMEOUT_MS;
use crate::kernel::Kernel;
use crate::kernel::task::TaskState;
use crate::units::{CpuId, TaskId};

/// `ops.flags`: the last runnable task of a CPU is enqueued when its slice ends, too.
pub const SCX_OPS_ENQ_LAST: u64 = 1 << 1;
/// `ops.flags`: only tasks with the policy `SCHED_EXT` belong to the scheduler.
pub const SCX_OPS_SWITCH_PARTIAL: u64 = 1 << 3;

/// `SCX_OPS_NAME_LEN`, the null byte included.
const SCX_OPS_NAME_LEN: usize = 128;

/// How far a scheduler is loaded (`enum scx_ops_enable_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EnableState {
    /// There is none.
    #[default]
    Disabled,
    /// It is being loaded.
    Enabling,
    /// It schedules.
    Enabled,
    /// It is being unloaded.
    Disabling,
}

/// How far the scheduler is loaded, and what of it may be called.
#[derive(Debug, Default)]
pub struct Enable {
    /// How far the scheduler is loaded.
    pub state: EnableState,
    /// Tasks may belong to the scheduler (`scx_enabled`).
    pub enabled: bool,
    /// The scheduler hears of tasks that come (`scx_ops_init_task_enabled`).
    pub init_task: bool,
    /// The scheduler hears of CPUs that come and go.
    pub hotplug: bool,
    /// The CPU on which it is loaded.
    pub cpu: CpuId,
    /// Tasks with `SCHED_EXT` that it refused (`nr_rejected`).
    pub nr_rejected: u64,
}

impl Enable {
    /// The CPU that changes the class of `task`: where the scheduler is being loaded or unloaded, else the task's.
    pub(super) fn changing_cpu(&self, kernel: &Kernel, task: TaskId) -> CpuId {
        match self.state {
            EnableState::Enabling | EnableState::Disabling => self.cpu,
            EnableState::Enabled | EnableState::Disabled => kernel.task(task).cpu,
        }
    }
}

/// A description of a scheduler that the kernel refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOps {
    /// `-EINVAL`.
    #[error("`flags` {0:#x} has bits that this kernel does not know")]
    Flags(u64),
    /// `-E2BIG`.
    #[error("`timeout_ms` {0} is above 30000")]
    Timeout(u32),
    /// `-E2BIG`.
    #[error("`dispatch_max_batch` {0} is above 2147483647")]
    MaxBatch(u32),
    /// `-EINVAL`.
    #[error("`name` \"{0}\" must have 1 to 127 letters, digits, `_` and `.`, and nothing else")]
    Name(String),
    /// `-EINVAL`.
    #[error("`{}` must not sleep: its program belongs in a section `struct_ops/`, not `struct_ops.s/`", .0.name())]
    Sleepable(Op),
}

/// What the kernel checks of the members of `struct sched_ext_ops` (`bpf_scx_init_member`).
///
/// # Errors
/// The first member that it refuses, in the order of the structure.
pub fn check_ops(ops: &Ops, profile: Profile) -> Result<(), InvalidOps> {
    if ops.dispatch_max_batch > i32::MAX as u32 {
        return Err(InvalidOps::MaxBatch(ops.dispatch_max_batch));
    }
    if ops.flags & !profile.ops_flags() != 0 {
        return Err(InvalidOps::Flags(ops.flags));
    }
    if ops.timeout_ms > SCX_WATCHDOG_MAX_TIMEOUT_MS {
        return Err(InvalidOps::Timeout(ops.timeout_ms));
    }
    let letters = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
    if ops.name.is_empty() || ops.name.len() >= SCX_OPS_NAME_LEN || !letters(&ops.name) {
        return Err(InvalidOps::Name(ops.name.clone()));
    }
    Ok(())
}

/// What the kernel checks of a callback's program (`bpf_scx_check_member`).
///
/// # Errors
/// It may sleep and the callback must not.
pub fn check_member(op: Op, sleepable: bool) -> Result<(), InvalidOps> {
    let may_sleep = matches!(
        op,
        Op::InitTask
            | Op::CgroupInit
            | Op::CgroupExit
            | Op::CgroupPrepMove
            | Op::CgroupSetBandwidth
            | Op::CgroupSetIdle
            | Op::CpuOnline
            | Op::CpuOffline
            | Op::Init
            | Op::Exit
    );
    if sleepable && !may_sleep { Err(InvalidOps::Sleepable(op)) } else { Ok(()) }
}

/// The scheduler has `ENQ_LAST` without an `enqueue` that would get the task (`validate_ops`).
fn enq_last_without_enqueue(ops: &Ops) -> bool {
    ops.flags & SCX_OPS_ENQ_LAST != 0 && !ops.has(Op::Enqueue)
}

impl Ctx<'_> {
    /// Loads the scheduler up to where tasks become its own; `init` and its like run on `cpu`. In this order: `init`, the
    /// check for CPUs that came or went meanwhile, bypass, `cgroup_init`, `init_task`.
    ///
    /// # Errors
    /// The negative errno; the exit is claimed.
    pub fn scx_ops_enable(&mut self, cpu: CpuId) -> Result<(), i32> {
        self.scx.enable = Enable { state: EnableState::Enabling, cpu, ..Enable::default() };
        self.scx.exit.arm();
        let result = self.try_enable();
        if let Err(errno) = result {
            // What has failed has mostly said so itself, and then this is not heard.
            self.ops_error(format!("scx_ops_enable() failed ({errno})"));
        }
        result
    }

    fn try_enable(&mut self) -> Result<(), i32> {
        let nr_cpus = self.kernel.topology.nr_cpus;
        self.scx.cpuperf.reset(nr_cpus);
        if let Err(fault) = self.scx.scx_idle_enable(&mut self.vm.memory, &self.kernel.topology) {
            self.scx_fault(&fault.into());
            return Err(-(EINVAL as i32));
        }
        self.scx_init()?;
        self.scx.enable.hotplug = true;
        if let Some(message) = self.scx.hotplug.check_seq(&self.scx.ops) {
            self.scx_ops_exit_kind(ExitKind::UnregKern, SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG, message);
        }
        if enq_last_without_enqueue(&self.scx.ops) {
            let message = "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented";
            self.ops_error(message.to_owned());
            return Err(-(EINVAL as i32));
        }
        self.scx.buffers = DispatchBuffers::new(nr_cpus);
        self.scx.watchdog.start(self.scx.ops.timeout_ms, self.kernel);
        self.scx.timers.arm(Timer::Watchdog, self.scx.watchdog.next_look(self.kernel), self.scx.enable.cpu);
        self.scx_ops_bypass(true);
        self.scx.enable.init_task = true;
        let result = self.scx_cgroup_init().and_then(|()| self.init_all_tasks());
        match result {
            Ok(()) => self.scx.enable.enabled = true,
            Err(_) => self.scx_ops_bypass(false),
        }
        result
    }

    /// Calls `init`.
    fn scx_init(&mut self) -> Result<(), i32> {
        let returned = self.call_op(Op::Init, self.scx.enable.cpu, None, [None; 2], &[]).unwrap_or(0) as i32;
        // A program that was stopped has not initialised anything.
        if self.scx.exit.claimed().is_some_and(|info| info.kind == ExitKind::Error) && returned == 0 {
            return Err(-(EINVAL as i32));
        }
        if returned == 0 {
            return Ok(());
        }
        Err(self.blaming(Origin::returned(self.vm, Op::Init, self.scx.enable.cpu), |ctx| {
            let errno = ctx.ops_sanitize_err(Op::Init, i64::from(returned));
            ctx.ops_error(format!("ops.init() failed ({errno})"));
            errno
        }))
    }

    fn init_all_tasks(&mut self) -> Result<(), i32> {
        let cpu = self.scx.enable.cpu;
        for task in (0..self.kernel.tasks.len()).map(TaskId::at) {
            if self.kernel.task(task).state == TaskState::Dead {
                continue;
            }
            if let Err(errno) = self.scx_ops_init_task(task, cpu, false) {
                let message = format!("ops.init_task() failed ({errno}) for {}", self.task(task).comm_pid());
                let origin = Origin::returned(self.vm, Op::InitTask, cpu);
                self.blaming(origin, |ctx| ctx.ops_error(message));
                return Err(errno);
            }
            self.task(task).set_state(ScxTaskState::Ready);
        }
        Ok(())
    }

    /// All tasks have their class: the scheduler is asked from now on.
    pub fn scx_ops_enabled(&mut self) {
        self.scx_ops_bypass(false);
        if !self.scx.exit.pending() {
            self.scx.enable.state = EnableState::Enabled;
        }
    }

    /// Begins to carry out a claimed exit: the dump, bypass, `cgroup_exit`. `None` if there is none.
    pub fn scx_ops_disable_begin(&mut self) -> Option<ExitInfo> {
        let claimed = self.scx.exit.claimed()?;
        let dump = if claimed.kind.is_error() { self.scx_dump_state(&claimed.clone()) } else { String::new() };
        let info = ExitInfo { dump, ..self.scx.exit.take()? };
        // The kernel does it in a thread of its own, which may run anywhere.
        let online = &self.kernel.topology.online;
        self.scx.enable.cpu = if online.test(info.cpu) { info.cpu } else { online.first().unwrap_or(info.cpu) };
        self.scx_ops_bypass(true);
        self.scx.enable.state = EnableState::Disabling;
        self.scx_cgroup_exit();
        self.scx.enable.init_task = false;
        Some(info)
    }

    /// No task belongs to the scheduler any more: `exit`, and what it leaves is cleared away. Its timers end with its maps,
    /// which the loader frees; no program can tell that from ending at once.
    pub fn scx_ops_disable_end(&mut self, info: &ExitInfo) {
        self.scx.enable.enabled = false;
        self.scx.enable.hotplug = false;
        self.scx.idle.disable();
        self.call_exit(info);
        self.scx.timers.clear();
        for id in self.scx.dsqs.user_ids() {
            let destroyed = self.queues().destroy(id);
            self.accept(destroyed);
        }
        self.scx.cpuperf.clear();
        for cpu in self.kernel.topology.online.iter().collect::<Vec<_>>() {
            self.kernel.cpufreq_update_util(cpu);
        }
        self.scx.enable.state = EnableState::Disabled;
        self.scx_ops_bypass(false);
    }

    fn call_exit(&mut self, info: &ExitInfo) {
        let record = ExitRecord {
            kind: info.kind.value(),
            exit_code: info.exit_code,
            flags: 0,
            reason: info.reason,
            message: &info.message,
            dump: &info.dump,
        };
        // Without memory for it the scheduler is not told, as it is not in a kernel without memory.
        if let Ok(address) = self.scx.guest.exit_info(&mut self.vm.memory, &record) {
            self.call_op(Op::Exit, self.scx.enable.cpu, None, [None; 2], &[address]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(change: impl FnOnce(&mut Ops)) -> Ops {
        let mut ops = Ops::default();
        ops.name = "simple_1.0".to_owned();
        change(&mut ops);
        ops
    }

    fn check(change: impl FnOnce(&mut Ops)) -> Result<(), InvalidOps> {
        check_ops(&ops(change), Profile::V6_12)
    }

    #[test]
    fn a_name_is_needed_and_has_only_letters_digits_underscores_and_dots() {
        assert_eq!(check(|_| {}), Ok(()));
        for name in ["", "two words", "a-b", "ä"] {
            assert_eq!(check(|ops| ops.name = name.to_owned()), Err(InvalidOps::Name(name.to_owned())));
        }
        assert_eq!(check(|ops| ops.name = "x".repeat(127)), Ok(()));
        assert!(check(|ops| ops.name = "x".repeat(128)).is_err());
    }

    #[test]
    fn the_longest_timeout_is_half_a_minute() {
        assert_eq!(check(|ops| ops.timeout_ms = 30_000), Ok(()));
        assert_eq!(check(|ops| ops.timeout_ms = 30_001), Err(InvalidOps::Timeout(30_001)));
    }

    #[test]
    fn flags_are_those_of_the_kernels_version() {
        assert_eq!(check(|ops| ops.flags = 0x1_000f), Ok(()));
        assert_eq!(check(|ops| ops.flags = 0x10), Err(InvalidOps::Flags(0x10)));
        assert_eq!(check_ops(&ops(|ops| ops.flags = 0x10), Profile::V7), Ok(()));
    }

    #[test]
    fn a_batch_fits_a_signed_number() {
        assert_eq!(check(|ops| ops.dispatch_max_batch = i32::MAX as u32), Ok(()));
        assert_eq!(check(|ops| ops.dispatch_max_batch = 1 << 31), Err(InvalidOps::MaxBatch(1 << 31)));
    }

    #[test]
    fn only_callbacks_without_a_locked_run_queue_may_sleep() {
        assert_eq!(check_member(Op::Init, true), Ok(()));
        assert_eq!(check_member(Op::Enqueue, false), Ok(()));
        assert_eq!(check_member(Op::Enqueue, true), Err(InvalidOps::Sleepable(Op::Enqueue)));
        let message = InvalidOps::Sleepable(Op::ExitTask).to_string();
        assert!(message.starts_with("`exit_task` must not sleep"), "{message}");
    }
}
