// SPDX-License-Identifier: MIT OR Apache-2.0
//! While a scheduler must not be asked (`scx_ops_bypass`).

/// Whether the scheduler is bypassed.
#[derive(Debug, Default)]
pub struct Bypass {}
