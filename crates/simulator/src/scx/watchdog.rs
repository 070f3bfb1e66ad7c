// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wait too long (`scx_watchdog_workfn`).

/// When tasks are next looked after.
#[derive(Debug, Default)]
pub struct Watchdog {}
