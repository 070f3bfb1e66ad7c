// SPDX-License-Identifier: MIT OR Apache-2.0
//! `struct sched_ext_ops`.

use crate::scx::abi::profile::{Profile, Version};
use crate::scx::ops::Op;

/// What a member of `struct sched_ext_ops` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A callback.
    Callback(Op),
    /// A callback that the simulator does not call.
    Refused,
    /// An unsigned number of this many bytes.
    Number(u64),
    /// `name`: text of this many bytes.
    Text(u64),
    /// A pointer that the kernel uses.
    Private,
}

/// A member of `struct sched_ext_ops`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpsMember {
    /// Name.
    pub name: &'static str,
    /// What it is.
    pub kind: MemberKind,
}

/// `SCX_OPS_NAME_LEN`.
pub const NAME_LEN: u64 = 128;

/// Members that are no callbacks in every kernel.
const VALUES: &[OpsMember] = &[
    OpsMember { name: "dispatch_max_batch", kind: MemberKind::Number(4) },
    OpsMember { name: "flags", kind: MemberKind::Number(8) },
    OpsMember { name: "timeout_ms", kind: MemberKind::Number(4) },
    OpsMember { name: "exit_dump_len", kind: MemberKind::Number(4) },
    OpsMember { name: "hotplug_seq", kind: MemberKind::Number(8) },
];

/// What only the kernel uses, from 6.18 on.
const PRIVATE: OpsMember = OpsMember { name: "priv", kind: MemberKind::Private };

/// Members that 7.x adds beside callbacks of [`Op`]. Sub-schedulers are refused.
const V7_VALUES: &[OpsMember] = &[
    OpsMember { name: "sub_attach", kind: MemberKind::Refused },
    OpsMember { name: "sub_detach", kind: MemberKind::Refused },
    OpsMember { name: "sub_cgroup_id", kind: MemberKind::Number(8) },
];

/// The members that the kernel's `struct sched_ext_ops` has.
pub fn members(profile: Profile) -> impl Iterator<Item = OpsMember> {
    let (v6_18, v7) = (profile.version >= Version::V6_18, profile.version >= Version::V7);
    let known = move |op: &Op| match op {
        Op::CgroupSetBandwidth => v6_18,
        Op::CgroupSetIdle => v7,
        _ => true,
    };
    let callbacks = Op::ALL.iter().copied().filter(known);
    callbacks
        .map(|op| OpsMember { name: op.name(), kind: MemberKind::Callback(op) })
        .chain(VALUES.iter().copied())
        .chain(V7_VALUES.iter().copied().filter(move |_| v7))
        .chain(v6_18.then_some(PRIVATE))
        .chain([OpsMember { name: "name", kind: MemberKind::Text(NAME_LEN) }])
}
