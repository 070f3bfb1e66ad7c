// SPDX-License-Identifier: MIT OR Apache-2.0
//! An attempt to balance: for which CPU, at which level, what is to be moved.

use super::IdleType;
use crate::kernel::topology::DomainId;
use crate::units::CpuId;

/// The unit of an imbalance (`enum migration_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Migration {
    Load,
    Util,
    Task,
    Misfit,
}

/// An attempt (`struct lb_env`).
#[derive(Debug)]
pub(super) struct LoadBalance {
    /// The CPU that makes the attempt.
    pub cpu: CpuId,
    /// Where tasks shall go: `cpu`, or another CPU of its group that pinned tasks may use.
    pub dst: CpuId,
    pub domain: DomainId,
    pub level: usize,
    pub idle: IdleType,
    pub migration: Migration,
    pub imbalance: i64,
    /// CPUs of the domain that are out of play: all their tasks are pinned, or they were `dst` before.
    pub excluded: Vec<CpuId>,
    /// No task seen so far may go to `dst` (`LBF_ALL_PINNED`).
    pub all_pinned: bool,
    /// Some task may not go to `dst` (`LBF_SOME_PINNED`).
    pub some_pinned: bool,
    /// A CPU of the group that such a task may go to (`LBF_DST_PINNED`, `new_dst_cpu`).
    pub new_dst: Option<CpuId>,
}

impl LoadBalance {
    /// Whether `cpu` has been tried in vain. Nearly always none has, and this is asked of every CPU of a domain.
    #[inline]
    pub fn is_excluded(&self, cpu: CpuId) -> bool {
        !self.excluded.is_empty() && self.excluded.contains(&cpu)
    }
}
