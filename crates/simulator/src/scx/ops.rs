// SPDX-License-Identifier: MIT OR Apache-2.0
//! The callbacks of a scheduler (`struct sched_ext_ops`).

use tandem_bpf_vm::instance::ProgramId;

macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// A callback, named as its member of `struct sched_ext_ops`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Op { $($(#[$doc])* $variant),* }

        impl Op {
            /// All callbacks.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The member's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

ops! {
    /// `s32 (task, prev_cpu, wake_flags)`
    SelectCpu = "select_cpu",
    /// `void (task, enq_flags)`
    Enqueue = "enqueue",
    /// `void (task, deq_flags)`
    Dequeue = "dequeue",
    /// `void (cpu, prev)`
    Dispatch = "dispatch",
    /// `void (task)`
    Tick = "tick",
    /// `void (task, enq_flags)`
    Runnable = "runnable",
    /// `void (task)`
    Running = "running",
    /// `void (task, runnable)`
    Stopping = "stopping",
    /// `void (task, deq_flags)`
    Quiescent = "quiescent",
    /// `bool (from, to)`
    Yield = "yield",
    /// `bool (a, b)`
    CoreSchedBefore = "core_sched_before",
    /// `void (task, weight)`
    SetWeight = "set_weight",
    /// `void (task, cpumask)`
    SetCpumask = "set_cpumask",
    /// `void (cpu, idle)`
    UpdateIdle = "update_idle",
    /// `void (cpu, args)`
    CpuAcquire = "cpu_acquire",
    /// `void (cpu, args)`
    CpuRelease = "cpu_release",
    /// `s32 (task, args)`
    InitTask = "init_task",
    /// `void (task, args)`
    ExitTask = "exit_task",
    /// `void (task)`
    Enable = "enable",
    /// `void (task)`
    Disable = "disable",
    /// `void (ctx)`
    Dump = "dump",
    /// `void (ctx, cpu, idle)`
    DumpCpu = "dump_cpu",
    /// `void (ctx, task)`
    DumpTask = "dump_task",
    /// `s32 (cgroup, args)`
    CgroupInit = "cgroup_init",
    /// `void (cgroup)`
    CgroupExit = "cgroup_exit",
    /// `s32 (task, from, to)`
    CgroupPrepMove = "cgroup_prep_move",
    /// `void (task, from, to)`
    CgroupMove = "cgroup_move",
    /// `void (task, from, to)`
    CgroupCancelMove = "cgroup_cancel_move",
    /// `void (cgroup, weight)`
    CgroupSetWeight = "cgroup_set_weight",
    /// `void (cgroup, period_us, quota_us, burst_us)`; 7.x only.
    CgroupSetBandwidth = "cgroup_set_bandwidth",
    /// `void (cgroup, idle)`; 7.x only.
    CgroupSetIdle = "cgroup_set_idle",
    /// `void (cpu)`
    CpuOnline = "cpu_online",
    /// `void (cpu)`
    CpuOffline = "cpu_offline",
    /// `s32 ()`
    Init = "init",
    /// `void (exit_info)`
    Exit = "exit",
}

/// `SCX_DSP_DFL_MAX_BATCH`: dispatches that a buffer has room for where the scheduler does not say.
pub const SCX_DSP_DFL_MAX_BATCH: u32 = 32;

/// What a scheduler's `struct sched_ext_ops` says.
#[derive(Debug, Clone, Default)]
pub struct Ops {
    /// `name`.
    pub name: String,
    /// `flags` (`SCX_OPS_*`).
    pub flags: u64,
    /// `timeout_ms`, as given.
    pub timeout_ms: u32,
    /// `dispatch_max_batch`, as given.
    pub dispatch_max_batch: u32,
    /// `exit_dump_len`, as given.
    pub exit_dump_len: u32,
    /// `hotplug_seq`, as given.
    pub hotplug_seq: u64,
    /// The callbacks' programs, in the order of [`Op::ALL`].
    programs: Vec<Option<ProgramId>>,
}

impl Ops {
    /// The program of `op`, if the scheduler has one.
    #[inline]
    pub fn program(&self, op: Op) -> Option<ProgramId> {
        self.programs.get(op as usize).copied().flatten()
    }

    /// Sets the program of `op`.
    pub fn set_program(&mut self, op: Op, program: ProgramId) {
        self.programs.resize(Op::ALL.len(), None);
        self.programs[op as usize] = Some(program);
    }

    /// `scx_dsp_max_batch`: dispatches that a CPU's buffer has room for.
    pub fn dsp_max_batch(&self) -> u32 {
        match self.dispatch_max_batch {
            0 => SCX_DSP_DFL_MAX_BATCH,
            batch => batch,
        }
    }

    /// Whether the scheduler has `op` (`SCX_HAS_OP`).
    #[inline]
    pub fn has(&self, op: Op) -> bool {
        self.program(op).is_some()
    }
}
