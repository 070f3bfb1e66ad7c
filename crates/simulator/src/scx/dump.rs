// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of CPUs and tasks, written down after an error (`scx_dump_state`).

/// The text of a dump under way.
#[derive(Debug, Default)]
pub struct DumpData {}
