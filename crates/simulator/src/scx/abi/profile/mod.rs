// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel version whose interface and rules hold.
//!
//! An object is built for one numbering of flags. Objects without `__SCX_*` symbols hold the numbers of the headers that
//! they were compiled with; others take them from the kernel they are loaded into.

pub mod enums;
pub mod rules;

use std::fmt;
use std::str::FromStr;

use crate::kernel::release::Linux;

/// Which interface and rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Version {
    /// Linux 6.12 with its stable updates.
    #[default]
    V6_12,
    /// Linux 6.18 with its stable updates.
    V6_18,
    /// Linux 7.1.
    V7,
}

/// A kernel version's interface and rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Profile {
    /// Which interface and rules.
    pub version: Version,
}

/// There is no such profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kernel interface is called `{name}`; expected `6.12`, `6.18` or `7.1`{}", .nearest.map_or_else(String::new, |nearest| format!(", of which {nearest} is the newest that is not newer")))]
pub struct UnknownProfile {
    /// As written.
    pub name: String,
    /// The newest profile that is not newer, if it is a version and not older than all of them.
    pub nearest: Option<Profile>,
}

impl UnknownProfile {
    fn new(name: &str) -> Self {
        let numbers = |text: &str| {
            let mut parts = text.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().ok());
            Some((parts.next()??, parts.next().unwrap_or(Some(0))?))
        };
        let not_newer = |profile: &Profile| numbers(name) >= numbers(&profile.to_string());
        let nearest = numbers(name).and_then(|_| Profile::ALL.into_iter().rev().find(not_newer));
        Self { name: name.to_owned(), nearest }
    }
}

/// `SCX_ENQ_WAKEUP`, `ENQUEUE_WAKEUP`.
pub const SCX_ENQ_WAKEUP: u64 = 1;
/// `ENQUEUE_RESTORE`.
pub const ENQUEUE_RESTORE: u64 = 2;
/// `ENQUEUE_MOVE`.
pub const ENQUEUE_MOVE: u64 = 4;
/// `ENQUEUE_NOCLOCK`.
pub const ENQUEUE_NOCLOCK: u64 = 8;
/// `SCX_ENQ_PREEMPT`.
pub const SCX_ENQ_PREEMPT: u64 = 1 << 32;
/// `SCX_ENQ_REENQ`.
pub const SCX_ENQ_REENQ: u64 = 1 << 40;
/// `SCX_ENQ_LAST`.
pub const SCX_ENQ_LAST: u64 = 1 << 41;
/// `__SCX_ENQ_INTERNAL_MASK`: programs must not give any of these.
pub const SCX_ENQ_INTERNAL_MASK: u64 = 0xff << 56;
/// `SCX_ENQ_CLEAR_OPSS`.
pub const SCX_ENQ_CLEAR_OPSS: u64 = 1 << 56;
/// `SCX_ENQ_DSQ_PRIQ`.
pub const SCX_ENQ_DSQ_PRIQ: u64 = 1 << 57;
/// `SCX_DEQ_SLEEP`, `DEQUEUE_SLEEP`.
pub const SCX_DEQ_SLEEP: u64 = 1;
/// `DEQUEUE_SAVE`.
pub const DEQUEUE_SAVE: u64 = 2;
/// `DEQUEUE_MOVE`.
pub const DEQUEUE_MOVE: u64 = 4;
/// `DEQUEUE_NOCLOCK`.
pub const DEQUEUE_NOCLOCK: u64 = 8;
/// `SCX_DEQ_CORE_SCHED_EXEC`.
pub const SCX_DEQ_CORE_SCHED_EXEC: u64 = 1 << 32;
/// `SCX_WAKE_FORK`, `WF_FORK`.
pub const SCX_WAKE_FORK: u64 = 4;
/// `SCX_WAKE_TTWU`, `WF_TTWU`.
pub const SCX_WAKE_TTWU: u64 = 8;
/// `SCX_WAKE_SYNC`, `WF_SYNC`.
pub const SCX_WAKE_SYNC: u64 = 0x10;
/// `SCX_SLICE_DFL`, ns.
pub const SCX_SLICE_DFL: u64 = 20_000_000;
/// `SCX_SLICE_INF`.
pub const SCX_SLICE_INF: u64 = u64::MAX;
/// `SCX_DSQ_FLAG_BUILTIN`.
pub const SCX_DSQ_FLAG_BUILTIN: u64 = 1 << 63;
/// `SCX_DSQ_FLAG_LOCAL_ON`.
pub const SCX_DSQ_FLAG_LOCAL_ON: u64 = 1 << 62;
/// `SCX_DSQ_INVALID`.
pub const SCX_DSQ_INVALID: u64 = SCX_DSQ_FLAG_BUILTIN;
/// `SCX_DSQ_GLOBAL`.
pub const SCX_DSQ_GLOBAL: u64 = SCX_DSQ_FLAG_BUILTIN | 1;
/// `SCX_DSQ_LOCAL`.
pub const SCX_DSQ_LOCAL: u64 = SCX_DSQ_FLAG_BUILTIN | 2;
/// `SCX_DSQ_LOCAL_ON`; the CPU is in [`SCX_DSQ_LOCAL_CPU_MASK`].
pub const SCX_DSQ_LOCAL_ON: u64 = SCX_DSQ_FLAG_BUILTIN | SCX_DSQ_FLAG_LOCAL_ON;
/// `SCX_DSQ_LOCAL_CPU_MASK`.
pub const SCX_DSQ_LOCAL_CPU_MASK: u64 = 0xffff_ffff;
/// `SCX_TASK_QUEUED`.
pub const SCX_TASK_QUEUED: u32 = 1;
/// `SCX_TASK_IN_CUSTODY`, 7.x: the scheduler has it, or it is in a queue that the scheduler made.
pub const SCX_TASK_IN_CUSTODY: u32 = 1 << 1;
/// `SCX_TASK_RESET_RUNNABLE_AT`.
pub const SCX_TASK_RESET_RUNNABLE_AT: u32 = 1 << 2;
/// `SCX_TASK_DEQD_FOR_SLEEP`.
pub const SCX_TASK_DEQD_FOR_SLEEP: u32 = 1 << 3;
/// `SCX_TASK_IMMED`, 7.x: it shall run at once on the CPU whose local queue it went to, or be given back.
pub const SCX_TASK_IMMED: u32 = 1 << 5;
/// `SCX_TASK_REENQ_KFUNC`, 7.x: it is given back because the scheduler asked for it.
pub const SCX_TASK_REENQ_KFUNC: u32 = 1 << 12;
/// `SCX_TASK_REENQ_IMMED`, 7.x: because it could not run at once.
pub const SCX_TASK_REENQ_IMMED: u32 = 2 << 12;
/// `SCX_TASK_REENQ_PREEMPTED`, 7.x: because a more urgent class took its CPU.
pub const SCX_TASK_REENQ_PREEMPTED: u32 = 3 << 12;
/// `SCX_TASK_REENQ_REASON_MASK`.
pub const SCX_TASK_REENQ_REASON_MASK: u32 = 3 << 12;
/// `SCX_REENQ_ANY`, 7.x.
pub const SCX_REENQ_ANY: u64 = 1;
/// `SCX_REENQ_LOCAL_MAX_REPEAT`, 7.x.
pub const SCX_REENQ_LOCAL_MAX_REPEAT: u32 = 256;
/// `SCX_TASK_STATE_SHIFT`: where the two bits of the task's state are.
pub const SCX_TASK_STATE_SHIFT: u32 = 8;
/// `PF_IDLE`.
pub const PF_IDLE: u32 = 0x2;
/// `PF_EXITING`.
pub const PF_EXITING: u32 = 0x4;
/// `PF_KTHREAD`.
pub const PF_KTHREAD: u32 = 0x20_0000;
/// `PF_NO_SETAFFINITY`.
pub const PF_NO_SETAFFINITY: u32 = 0x400_0000;

impl Profile {
    /// Linux 6.12.117.
    pub const V6_12: Self = Self { version: Version::V6_12 };
    /// Linux 6.18.
    pub const V6_18: Self = Self { version: Version::V6_18 };
    /// Linux 7.1.
    pub const V7: Self = Self { version: Version::V7 };
    /// All profiles, the oldest first.
    pub const ALL: [Self; 3] = [Self::V6_12, Self::V6_18, Self::V7];

    /// The kernel whose interface it is.
    pub fn linux(self) -> Linux {
        match self.version {
            Version::V6_12 => Linux::V6_12,
            Version::V6_18 => Linux::V6_18,
            Version::V7 => Linux::V7_1,
        }
    }

    /// Major, minor and patch number of the kernel that is modelled.
    pub fn release(self) -> (u32, u32, u32) {
        match self.version {
            Version::V6_12 => (6, 12, 117),
            Version::V6_18 => (6, 18, 32),
            Version::V7 => (7, 1, 5),
        }
    }

    /// `LINUX_VERSION_CODE`: what `KERNEL_VERSION()` makes of the release; the patch number stops at 255.
    pub fn version_code(self) -> u64 {
        let (major, minor, patch) = self.release();
        u64::from((major << 16) | (minor << 8) | patch.min(255))
    }

    /// `old` up to 6.18, `new` in 7.1.
    #[inline]
    fn pick(self, old: u64, new: u64) -> u64 {
        if self.version >= Version::V7 { new } else { old }
    }

    /// `SCX_ENQ_HEAD`, `ENQUEUE_HEAD`.
    #[inline]
    pub fn enq_head(self) -> u64 {
        self.pick(0x10, 0x1_0000)
    }

    /// `SCX_ENQ_CPU_SELECTED`, `ENQUEUE_RQ_SELECTED`.
    #[inline]
    pub fn enq_cpu_selected(self) -> u64 {
        self.pick(0x400, 0x10_0000)
    }

    /// `ENQUEUE_REPLENISH`.
    #[inline]
    pub fn enqueue_replenish(self) -> u64 {
        self.pick(0x20, 0x2_0000)
    }

    /// `ENQUEUE_MIGRATED`.
    #[inline]
    pub fn enqueue_migrated(self) -> u64 {
        self.pick(0x40, 0x4_0000)
    }

    /// `ENQUEUE_INITIAL`.
    #[inline]
    pub fn enqueue_initial(self) -> u64 {
        self.pick(0x80, 0x8_0000)
    }

    /// `ENQUEUE_MIGRATING`, `DEQUEUE_MIGRATING`.
    #[inline]
    pub fn migrating(self) -> u64 {
        self.pick(0x100, 0x10)
    }

    /// `ENQUEUE_DELAYED`, `DEQUEUE_DELAYED`.
    #[inline]
    pub fn delayed(self) -> u64 {
        self.pick(0x200, 0x20)
    }

    /// `ENQUEUE_CLASS`, `DEQUEUE_CLASS`; 0 where the kernel has none.
    #[inline]
    pub fn class_change(self) -> u64 {
        self.pick(0, 0x40)
    }

    /// `SCX_ENQ_IMMED`; 0 where the kernel has none.
    #[inline]
    pub fn enq_immed(self) -> u64 {
        self.pick(0, 1 << 33)
    }

    /// `SCX_OPS_ALWAYS_ENQ_IMMED`; 0 where the kernel has none.
    #[inline]
    pub fn ops_always_enq_immed(self) -> u64 {
        self.pick(0, 1 << 7)
    }

    /// `SCX_OPS_ALLOW_QUEUED_WAKEUP`; 0 where the kernel has none.
    #[inline]
    pub fn ops_allow_queued_wakeup(self) -> u64 {
        if self.version >= Version::V6_18 { 1 << 5 } else { 0 }
    }

    /// `SCX_DEQ_SCHED_CHANGE`; 0 where the kernel has none.
    #[inline]
    pub fn deq_sched_change(self) -> u64 {
        self.pick(0, 1 << 33)
    }

    /// `SCX_OPS_ALL_FLAGS`: what `ops.flags` may have. 7.1 no longer takes `SCX_OPS_HAS_CGROUP_WEIGHT`, which 6.18 ignores.
    pub fn ops_flags(self) -> u64 {
        match self.version {
            Version::V6_12 => 0x1_000f,
            Version::V6_18 => 0x1_007f,
            Version::V7 => 0xff,
        }
    }

    /// Whether the kernel's `struct sched_ext_ops` has the member `name`, callback or value.
    pub fn has_ops_member(self, name: &str) -> bool {
        super::types::ops::members(self).any(|member| member.name == name)
    }

    /// The kernel's types, functions and per-CPU variables.
    pub fn kernel_btf(self) -> std::sync::Arc<tandem_bpf_vm::btf::Btf> {
        super::types::kernel::kernel_btf(self)
    }

    /// A `__kconfig` variable: `LINUX_KERNEL_VERSION` or an option of a kernel with tick frequency `hz`; `None` is "not
    /// set".
    pub fn kconfig(self, name: &str, hz: u64) -> Option<u64> {
        Some(match name {
            "LINUX_KERNEL_VERSION" => self.version_code(),
            // libbpf's own: what the loading process may do, not what the kernel is.
            "LINUX_HAS_BPF_COOKIE" | "LINUX_HAS_SYSCALL_WRAPPER" => 1,
            "CONFIG_NR_CPUS" => super::types::CPUMASK_BITS,
            "CONFIG_HZ" => hz,
            "CONFIG_64BIT" | "CONFIG_X86_64" | "CONFIG_SMP" | "CONFIG_BPF_SYSCALL" | "CONFIG_DEBUG_INFO_BTF" => 1,
            "CONFIG_CGROUPS" | "CONFIG_CGROUP_SCHED" | "CONFIG_FAIR_GROUP_SCHED" => 1,
            "CONFIG_SCHED_CLASS_EXT" | "CONFIG_EXT_GROUP_SCHED" => 1,
            "CONFIG_PREEMPTION" | "CONFIG_PREEMPT_RCU" | "CONFIG_PREEMPT_DYNAMIC" => 1,
            "CONFIG_NO_HZ_COMMON" | "CONFIG_NO_HZ_IDLE" | "CONFIG_HIGH_RES_TIMERS" | "CONFIG_CPU_FREQ" => 1,
            _ => return None,
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.linux().fmt(f)
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        let named = |profile: &Self| profile.to_string() == text || (*profile == Self::V7 && text == "7");
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownProfile::new(text))
    }
}

#[cfg(test)]
mod tests;
