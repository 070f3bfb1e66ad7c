// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that shall reschedule (`scx_bpf_kick_cpu`).

/// CPUs to kick.
#[derive(Debug, Default)]
pub struct Kicks {}
