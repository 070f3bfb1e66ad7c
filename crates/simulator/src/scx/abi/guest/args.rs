// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of callbacks: one object for each kind, written before each call.

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::scx::abi::types::args::{
    ScxCgroupInitArgs, ScxCpuReleaseArgs, ScxDumpCtx, ScxExitInfo, ScxExitTaskArgs, ScxInitTaskArgs,
};
use crate::units::{CgroupId, Nanos, USEC};
use crate::workload::CpuMax;

use super::Guest;
use super::access::{self, at, put};

/// Bytes of a message, with its null byte (`SCX_EXIT_MSG_LEN`).
const MESSAGE: u64 = 1024;

/// The objects.
#[derive(Debug)]
pub(super) struct ArgObjects {
    init_task: u64,
    exit_task: u64,
    cgroup_init: u64,
    cpu_release: u64,
    dump: u64,
    dump_reason: u64,
    exit: u64,
    exit_reason: u64,
    exit_message: u64,
    exit_dump: u64,
}

/// What `ops.cgroup_init` is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CgroupInitArgs {
    /// `cpu.weight`, 1..=10000.
    pub weight: u32,
    /// Period of `cpu.max`, µs.
    pub bw_period_us: u64,
    /// Quota of `cpu.max`, µs; `u64::MAX` is none.
    pub bw_quota_us: u64,
    /// `cpu.max.burst`, µs.
    pub bw_burst_us: u64,
}

impl CgroupInitArgs {
    /// A cgroup of this weight and with this limit; without one the period is 100 ms (`default_bw_period_us`).
    pub fn of(weight: u32, max: Option<CpuMax>) -> Self {
        let unlimited = Self { weight, bw_period_us: 100_000, bw_quota_us: u64::MAX, bw_burst_us: 0 };
        max.map_or(unlimited, |max| Self {
            weight,
            bw_period_us: max.period / USEC,
            bw_quota_us: max.quota / USEC,
            bw_burst_us: max.burst / USEC,
        })
    }
}

/// What `ops.exit` is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExitRecord<'a> {
    /// `SCX_EXIT_*`.
    pub kind: u32,
    /// Exit code.
    pub exit_code: i64,
    /// `SCX_EFLAG_*`; 7.x only.
    pub flags: u64,
    /// The kind in words.
    pub reason: &'a str,
    /// The message; cut to 1,023 bytes.
    pub message: &'a str,
    /// The debug dump, already cut to what the scheduler wants.
    pub dump: &'a str,
}

/// What `ops.dump` and its kin are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DumpCtx<'a> {
    /// `SCX_EXIT_*`.
    pub kind: u32,
    /// Exit code.
    pub exit_code: i64,
    /// The kind in words.
    pub reason: &'a str,
    /// Now.
    pub at: Nanos,
    /// Now, in ticks.
    pub at_jiffies: u64,
}

impl ArgObjects {
    pub(super) fn new(memory: &mut Memory) -> Result<Self, FaultKind> {
        let mut alloc = |size: usize| memory.alloc(size as u64, Protection::ReadOnly);
        Ok(Self {
            init_task: alloc(size_of::<ScxInitTaskArgs>())?,
            exit_task: alloc(size_of::<ScxExitTaskArgs>())?,
            cgroup_init: alloc(size_of::<ScxCgroupInitArgs>())?,
            cpu_release: alloc(size_of::<ScxCpuReleaseArgs>())?,
            dump: alloc(size_of::<ScxDumpCtx>())?,
            dump_reason: alloc(MESSAGE as usize)?,
            exit: alloc(size_of::<ScxExitInfo>())?,
            exit_reason: alloc(MESSAGE as usize)?,
            exit_message: alloc(MESSAGE as usize)?,
            exit_dump: 0,
        })
    }
}

impl Guest {
    /// `struct scx_init_task_args`: on fork or not, and the cgroup that the task is in. Like all arguments it holds until
    /// the next call.
    pub fn init_task_args(&self, memory: &mut Memory, fork: bool, cgroup: Option<CgroupId>) -> u64 {
        let address = self.args.init_task;
        put::<1>(memory, address + at!(ScxInitTaskArgs, fork), u64::from(fork));
        let cgroup = cgroup.map_or(0, |cgroup| self.cgroup(cgroup));
        put::<8>(memory, address + at!(ScxInitTaskArgs, cgroup), cgroup);
        address
    }

    /// `struct scx_exit_task_args`: whether the task goes before it was in sched_ext.
    pub fn exit_task_args(&self, memory: &mut Memory, cancelled: bool) -> u64 {
        put::<1>(memory, self.args.exit_task + at!(ScxExitTaskArgs, cancelled), u64::from(cancelled));
        self.args.exit_task
    }

    /// `struct scx_cgroup_init_args`.
    pub fn cgroup_init_args(&self, memory: &mut Memory, args: CgroupInitArgs) -> u64 {
        let address = self.args.cgroup_init;
        put::<4>(memory, address + at!(ScxCgroupInitArgs, weight), u64::from(args.weight));
        put::<8>(memory, address + at!(ScxCgroupInitArgs, bw_period_us), args.bw_period_us);
        put::<8>(memory, address + at!(ScxCgroupInitArgs, bw_quota_us), args.bw_quota_us);
        put::<8>(memory, address + at!(ScxCgroupInitArgs, bw_burst_us), args.bw_burst_us);
        address
    }

    /// `struct scx_cpu_release_args`: `SCX_CPU_PREEMPT_*`, and the address of the task that takes the CPU.
    pub fn cpu_release_args(&self, memory: &mut Memory, reason: u32, task: u64) -> u64 {
        let address = self.args.cpu_release;
        put::<4>(memory, address + at!(ScxCpuReleaseArgs, reason), u64::from(reason));
        put::<8>(memory, address + at!(ScxCpuReleaseArgs, task), task);
        address
    }

    /// `struct scx_dump_ctx`.
    pub fn dump_ctx(&self, memory: &mut Memory, context: &DumpCtx<'_>) -> u64 {
        let address = self.args.dump;
        access::put_text(memory, self.args.dump_reason, MESSAGE, context.reason);
        put::<4>(memory, address + at!(ScxDumpCtx, exit_kind), u64::from(context.kind));
        put::<8>(memory, address + at!(ScxDumpCtx, exit_code), context.exit_code as u64);
        put::<8>(memory, address + at!(ScxDumpCtx, reason), self.args.dump_reason);
        put::<8>(memory, address + at!(ScxDumpCtx, at_ns), context.at);
        put::<8>(memory, address + at!(ScxDumpCtx, at_jiffies), context.at_jiffies);
        address
    }

    /// `struct scx_exit_info`.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if the dump does not fit into the memory.
    pub fn exit_info(&mut self, memory: &mut Memory, record: &ExitRecord<'_>) -> Result<u64, FaultKind> {
        let dump_size = record.dump.len() as u64 + 1;
        let dump = memory.alloc(dump_size, Protection::ReadOnly)?;
        access::put_text(memory, dump, dump_size, record.dump);
        let old_dump = std::mem::replace(&mut self.args.exit_dump, dump);
        if old_dump != 0 {
            access::free(memory, old_dump);
        }
        access::put_text(memory, self.args.exit_reason, MESSAGE, record.reason);
        access::put_text(memory, self.args.exit_message, MESSAGE, record.message);
        let address = self.args.exit;
        put::<4>(memory, address + at!(ScxExitInfo, exit_kind), u64::from(record.kind));
        put::<8>(memory, address + at!(ScxExitInfo, exit_code), record.exit_code as u64);
        put::<8>(memory, address + at!(ScxExitInfo, flags), record.flags);
        put::<8>(memory, address + at!(ScxExitInfo, reason), self.args.exit_reason);
        put::<8>(memory, address + at!(ScxExitInfo, msg), self.args.exit_message);
        put::<8>(memory, address + at!(ScxExitInfo, dump), dump);
        Ok(address)
    }
}
