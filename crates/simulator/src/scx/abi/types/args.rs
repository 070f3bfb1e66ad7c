// SPDX-License-Identifier: MIT OR Apache-2.0
//! What callbacks get beside tasks.

use crate::scx::abi::layout::{Char, Described, Kind, Ptr, structures};

use super::cgroup::Cgroup;
use super::task::TaskStruct;

/// `enum scx_exit_kind`.
#[repr(transparent)]
pub struct ScxExitKind(u32);

impl Described for ScxExitKind {
    fn kind() -> Kind {
        Kind::Enum("scx_exit_kind")
    }
}

/// `enum scx_cpu_preempt_reason`.
#[repr(transparent)]
pub struct ScxCpuPreemptReason(u32);

impl Described for ScxCpuPreemptReason {
    fn kind() -> Kind {
        Kind::Enum("scx_cpu_preempt_reason")
    }
}

structures! {
    /// `struct scx_exit_info`.
    ScxExitInfo = "scx_exit_info" {
        exit_kind as "kind": ScxExitKind,
        exit_code: i64,
        flags: u64,
        reason: Ptr<Char>,
        bt: Ptr<u64>,
        bt_len: u32,
        msg: Ptr<Char>,
        dump: Ptr<Char>,
    }

    /// `struct scx_init_task_args`.
    ScxInitTaskArgs = "scx_init_task_args" { fork: bool, cgroup: Ptr<Cgroup> }

    /// `struct scx_exit_task_args`.
    ScxExitTaskArgs = "scx_exit_task_args" { cancelled: bool }

    /// `struct scx_cgroup_init_args`.
    ScxCgroupInitArgs = "scx_cgroup_init_args" {
        weight: u32,
        bw_period_us: u64,
        bw_quota_us: u64,
        bw_burst_us: u64,
    }

    /// `struct scx_cpu_acquire_args`.
    ScxCpuAcquireArgs = "scx_cpu_acquire_args" {}

    /// `struct scx_cpu_release_args`.
    ScxCpuReleaseArgs = "scx_cpu_release_args" { reason: ScxCpuPreemptReason, task: Ptr<TaskStruct> }

    /// `struct scx_dump_ctx`.
    ScxDumpCtx = "scx_dump_ctx" {
        exit_kind as "kind": ScxExitKind,
        exit_code: i64,
        reason: Ptr<Char>,
        at_ns: u64,
        at_jiffies: u64,
    }

    /// `struct scx_bpf_dsq_insert_vtime_args` (7.x).
    ScxBpfDsqInsertVtimeArgs = "scx_bpf_dsq_insert_vtime_args" {
        dsq_id: u64,
        slice: u64,
        vtime: u64,
        enq_flags: u64,
    }

    /// `struct scx_bpf_select_cpu_and_args` (7.x).
    ScxBpfSelectCpuAndArgs = "scx_bpf_select_cpu_and_args" {
        prev_cpu: i32,
        wake_flags: u64,
        flags: u64,
    }
}
