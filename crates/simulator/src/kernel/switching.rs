// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tasks belong to a loaded sched_ext scheduler.

use super::Kernel;
use super::task::ClassId;
use crate::workload::Policy;

/// Which tasks a loaded scheduler has (`scx_enabled`, `scx_switching_all`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// No task: there is no scheduler, or it goes.
    #[default]
    Off,
    /// Tasks with the policy `SCHED_EXT` (`SCX_OPS_SWITCH_PARTIAL`).
    Partial,
    /// All tasks that would be fair.
    All,
}

impl Switching {
    /// The class of a task with `policy`, unless it is a real-time or deadline policy (`task_should_scx`).
    pub fn class(self, policy: Policy) -> ClassId {
        match self {
            Self::All => ClassId::Ext,
            Self::Partial if policy.is_ext() => ClassId::Ext,
            Self::Partial | Self::Off => ClassId::Fair,
        }
    }
}

impl Kernel {
    /// Whether a scheduler is loaded and in charge (`scx_enabled`).
    #[inline]
    pub fn scx_enabled(&self) -> bool {
        self.switching != Switching::Off
    }
}
