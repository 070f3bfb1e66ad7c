// SPDX-License-Identifier: MIT OR Apache-2.0
//! The enumerations of sched_ext that programs and loaders ask for by name.
//!
//! Sources: `include/linux/sched/ext.h`, `kernel/sched/ext.c` (7.x: `ext_internal.h`), `kernel/sched/sched.h`.

use super::{Profile, Version};

/// An enumerator: its name, and its values in 6.12, 6.18 and 7.1; `None` where the kernel has none of the name.
type Row = (&'static str, [Option<u64>; 3]);

/// An enumeration of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelEnum {
    /// The enumeration's tag.
    pub name: &'static str,
    /// Names and values, in the kernel's order.
    pub values: Vec<(&'static str, u64)>,
}

impl Profile {
    /// The enumerations that the kernel has.
    pub fn enums(self) -> Vec<KernelEnum> {
        let mut enums = Vec::new();
        for (name, rows) in TABLE {
            let value = |row: &Row| Some((row.0, self.value_of(row)?));
            let values: Vec<_> = rows.iter().filter_map(value).collect();
            if !values.is_empty() {
                enums.push(KernelEnum { name, values });
            }
        }
        enums
    }

    /// Value of the enumerator `name`, whatever its enumeration: what a loader writes into `__NAME`.
    pub fn enum_value(self, name: &str) -> Option<u64> {
        TABLE.iter().flat_map(|(_, rows)| *rows).filter(|row| row.0 == name).find_map(|row| self.value_of(row))
    }

    fn value_of(self, row: &Row) -> Option<u64> {
        row.1[match self.version {
            Version::V6_12 => 0,
            Version::V6_18 => 1,
            Version::V7 => 2,
        }]
    }
}

/// In all kernels.
const fn all(name: &'static str, value: u64) -> Row {
    (name, [Some(value); 3])
}

/// With another value in 7.1.
const fn moved(name: &'static str, until_v6_18: u64, v7: u64) -> Row {
    (name, [Some(until_v6_18), Some(until_v6_18), Some(v7)])
}

/// With its value in 6.12 only.
const fn v6_12(name: &'static str, value: u64) -> Row {
    (name, [Some(value), None, None])
}

/// Up to 6.18.
const fn old(name: &'static str, value: u64) -> Row {
    (name, [Some(value), Some(value), None])
}

/// From 6.18 on (the first one that is modelled to have it).
const fn since(name: &'static str, value: u64) -> Row {
    (name, [None, Some(value), Some(value)])
}

/// In 7.1.
const fn new(name: &'static str, value: u64) -> Row {
    (name, [None, None, Some(value)])
}

const BUILTIN: u64 = super::SCX_DSQ_FLAG_BUILTIN;

#[rustfmt::skip]
const TABLE: &[(&str, &[Row])] = &[
    ("scx_public_consts", &[
        all("SCX_OPS_NAME_LEN", 128),
        all("SCX_SLICE_DFL", super::SCX_SLICE_DFL),
        new("SCX_SLICE_BYPASS", 5_000_000),
        all("SCX_SLICE_INF", super::SCX_SLICE_INF),
    ]),
    ("scx_dsq_id_flags", &[
        all("SCX_DSQ_FLAG_BUILTIN", BUILTIN),
        all("SCX_DSQ_FLAG_LOCAL_ON", 1 << 62),
        all("SCX_DSQ_INVALID", BUILTIN),
        all("SCX_DSQ_GLOBAL", BUILTIN | 1),
        all("SCX_DSQ_LOCAL", BUILTIN | 2),
        new("SCX_DSQ_BYPASS", BUILTIN | 3),
        all("SCX_DSQ_LOCAL_ON", BUILTIN | 1 << 62),
        all("SCX_DSQ_LOCAL_CPU_MASK", 0xffff_ffff),
    ]),
    ("scx_ent_flags", &[
        all("SCX_TASK_QUEUED", 1),
        new("SCX_TASK_IN_CUSTODY", 1 << 1),
        all("SCX_TASK_RESET_RUNNABLE_AT", 1 << 2),
        all("SCX_TASK_DEQD_FOR_SLEEP", 1 << 3),
        new("SCX_TASK_SUB_INIT", 1 << 4),
        new("SCX_TASK_IMMED", 1 << 5),
        all("SCX_TASK_STATE_SHIFT", 8),
        all("SCX_TASK_STATE_BITS", 2),
        all("SCX_TASK_STATE_MASK", 0x300),
        new("SCX_TASK_NONE", 0),
        new("SCX_TASK_INIT", 0x100),
        new("SCX_TASK_READY", 0x200),
        new("SCX_TASK_ENABLED", 0x300),
        new("SCX_TASK_REENQ_REASON_SHIFT", 12),
        new("SCX_TASK_REENQ_REASON_BITS", 2),
        new("SCX_TASK_REENQ_REASON_MASK", 0x3000),
        new("SCX_TASK_REENQ_NONE", 0),
        new("SCX_TASK_REENQ_KFUNC", 0x1000),
        new("SCX_TASK_REENQ_IMMED", 0x2000),
        new("SCX_TASK_REENQ_PREEMPTED", 0x3000),
        all("SCX_TASK_CURSOR", 1 << 31),
    ]),
    ("scx_task_state", &[
        old("SCX_TASK_NONE", 0),
        old("SCX_TASK_INIT", 1),
        old("SCX_TASK_READY", 2),
        old("SCX_TASK_ENABLED", 3),
        old("SCX_TASK_NR_STATES", 4),
    ]),
    ("scx_ent_dsq_flags", &[all("SCX_TASK_DSQ_ON_PRIQ", 1)]),
    ("scx_dsq_lnode_flags", &[
        all("SCX_DSQ_LNODE_ITER_CURSOR", 1),
        all("__SCX_DSQ_LNODE_PRIV_SHIFT", 16),
    ]),
    ("scx_dsq_iter_flags", &[
        all("SCX_DSQ_ITER_REV", 1 << 16),
        all("__SCX_DSQ_ITER_HAS_SLICE", 1 << 30),
        all("__SCX_DSQ_ITER_HAS_VTIME", 1 << 31),
        all("__SCX_DSQ_ITER_USER_FLAGS", 1 << 16),
        all("__SCX_DSQ_ITER_ALL_FLAGS", 0xc001_0000),
    ]),
    ("scx_rq_flags", &[
        all("SCX_RQ_ONLINE", 1),
        all("SCX_RQ_CAN_STOP_TICK", 1 << 1),
        old("SCX_RQ_BAL_PENDING", 1 << 2),
        all("SCX_RQ_BAL_KEEP", 1 << 3),
        old("SCX_RQ_BYPASSING", 1 << 4),
        since("SCX_RQ_CLK_VALID", 1 << 5),
        since("SCX_RQ_BAL_CB_PENDING", 1 << 6),
        all("SCX_RQ_IN_WAKEUP", 1 << 16),
        all("SCX_RQ_IN_BALANCE", 1 << 17),
    ]),
    ("scx_wake_flags", &[
        all("SCX_WAKE_FORK", 4),
        all("SCX_WAKE_TTWU", 8),
        all("SCX_WAKE_SYNC", 0x10),
    ]),
    ("scx_enq_flags", &[
        all("SCX_ENQ_WAKEUP", 1),
        moved("SCX_ENQ_HEAD", 0x10, 0x1_0000),
        moved("SCX_ENQ_CPU_SELECTED", 0x400, 0x10_0000),
        all("SCX_ENQ_PREEMPT", 1 << 32),
        new("SCX_ENQ_IMMED", 1 << 33),
        all("SCX_ENQ_REENQ", 1 << 40),
        all("SCX_ENQ_LAST", 1 << 41),
        all("__SCX_ENQ_INTERNAL_MASK", 0xff << 56),
        all("SCX_ENQ_CLEAR_OPSS", 1 << 56),
        all("SCX_ENQ_DSQ_PRIQ", 1 << 57),
        new("SCX_ENQ_NESTED", 1 << 58),
        new("SCX_ENQ_GDSQ_FALLBACK", 1 << 59),
    ]),
    ("scx_deq_flags", &[
        all("SCX_DEQ_SLEEP", 1),
        all("SCX_DEQ_CORE_SCHED_EXEC", 1 << 32),
        new("SCX_DEQ_SCHED_CHANGE", 1 << 33),
    ]),
    ("scx_reenq_flags", &[new("SCX_REENQ_ANY", 1)]),
    ("scx_pick_idle_cpu_flags", &[
        all("SCX_PICK_IDLE_CORE", 1),
        since("SCX_PICK_IDLE_IN_NODE", 1 << 1),
    ]),
    ("scx_kick_flags", &[
        all("SCX_KICK_IDLE", 1),
        all("SCX_KICK_PREEMPT", 1 << 1),
        all("SCX_KICK_WAIT", 1 << 2),
    ]),
    ("scx_tg_flags", &[all("SCX_TG_ONLINE", 1), all("SCX_TG_INITED", 1 << 1)]),
    ("scx_ops_flags", &[
        all("SCX_OPS_KEEP_BUILTIN_IDLE", 1),
        all("SCX_OPS_ENQ_LAST", 1 << 1),
        all("SCX_OPS_ENQ_EXITING", 1 << 2),
        all("SCX_OPS_SWITCH_PARTIAL", 1 << 3),
        since("SCX_OPS_ENQ_MIGRATION_DISABLED", 1 << 4),
        since("SCX_OPS_ALLOW_QUEUED_WAKEUP", 1 << 5),
        since("SCX_OPS_BUILTIN_IDLE_PER_NODE", 1 << 6),
        new("SCX_OPS_ALWAYS_ENQ_IMMED", 1 << 7),
        old("SCX_OPS_HAS_CGROUP_WEIGHT", 1 << 16),
        ("SCX_OPS_ALL_FLAGS", [Some(0x1_000f), Some(0x1_007f), Some(0xff)]),
        since("__SCX_OPS_INTERNAL_MASK", 0xff << 56),
        since("SCX_OPS_HAS_CPU_PREEMPT", 1 << 56),
    ]),
    ("scx_exit_kind", &[
        all("SCX_EXIT_NONE", 0),
        all("SCX_EXIT_DONE", 1),
        all("SCX_EXIT_UNREG", 64),
        all("SCX_EXIT_UNREG_BPF", 65),
        all("SCX_EXIT_UNREG_KERN", 66),
        all("SCX_EXIT_SYSRQ", 67),
        new("SCX_EXIT_PARENT", 68),
        all("SCX_EXIT_ERROR", 1024),
        all("SCX_EXIT_ERROR_BPF", 1025),
        all("SCX_EXIT_ERROR_STALL", 1026),
    ]),
    ("scx_exit_code", &[
        all("SCX_ECODE_RSN_HOTPLUG", 1 << 32),
        new("SCX_ECODE_RSN_CGROUP_OFFLINE", 2 << 32),
        all("SCX_ECODE_ACT_RESTART", 1 << 48),
    ]),
    ("scx_exit_flags", &[("SCX_EFLAG_INITIALIZED", [None, Some(0), Some(1)])]),
    ("scx_cpu_preempt_reason", &[
        all("SCX_CPU_PREEMPT_RT", 0),
        all("SCX_CPU_PREEMPT_DL", 1),
        all("SCX_CPU_PREEMPT_STOP", 2),
        all("SCX_CPU_PREEMPT_UNKNOWN", 3),
    ]),
    ("scx_consts", &[
        all("SCX_DSP_DFL_MAX_BATCH", 32),
        all("SCX_DSP_MAX_LOOPS", 32),
        all("SCX_EXIT_BT_LEN", 64),
        all("SCX_EXIT_MSG_LEN", 1024),
        all("SCX_EXIT_DUMP_DFL_LEN", 32768),
        all("SCX_CPUPERF_ONE", 1024),
        v6_12("SCX_OPS_TASK_ITER_BATCH", 32),
        since("SCX_TASK_ITER_BATCH", 32),
        new("SCX_REENQ_LOCAL_MAX_REPEAT", 256),
    ]),
];
