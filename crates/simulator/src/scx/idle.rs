// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs are idle (`scx_pick_idle_cpu`, `__scx_update_idle`).

/// The built-in idle masks.
#[derive(Debug, Default)]
pub struct IdleTracking {}
