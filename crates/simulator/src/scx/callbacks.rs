// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calling a scheduler's callbacks (`SCX_CALL_OP` and its kin).

use super::Ctx;
use super::ops::Op;
use crate::units::{CpuId, TaskId};

/// Callbacks at work, and the instructions they took.
#[derive(Debug, Default)]
pub struct Calls {
    /// Callbacks at work, outermost first; programs of timers count as callbacks without an [`Op`].
    pub active: Vec<Active>,
    /// Instructions executed on each CPU since the engine last charged them.
    pub executed: Vec<(CpuId, u64)>,
}

/// A callback at work.
#[derive(Debug, Clone, Copy)]
pub struct Active {
    /// Which; `None` for timers and `syscall` programs.
    pub op: Option<Op>,
    /// The CPU that executes it.
    pub cpu: CpuId,
    /// The CPU whose run queue is locked around it (`scx_locked_rq`).
    pub locked: Option<CpuId>,
    /// The tasks that are its arguments (`kf_tasks`).
    pub tasks: [Option<TaskId>; 2],
}
