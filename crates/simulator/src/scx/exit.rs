// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a scheduler went (`struct scx_exit_info`).

/// Whether and why the scheduler goes or went.
#[derive(Debug, Default)]
pub struct ExitState {}
