// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks go into and between dispatch queues (`scx_dispatch_commit`, `finish_dispatch`).

/// Per-CPU dispatch buffers (`scx_dsp_ctx`).
#[derive(Debug, Default)]
pub struct DispatchBuffers {}
