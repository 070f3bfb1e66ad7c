// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch queues (`struct scx_dispatch_q`).

/// All dispatch queues.
#[derive(Debug, Default)]
pub struct Dsqs {}
