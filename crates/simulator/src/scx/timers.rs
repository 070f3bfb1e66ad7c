// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is due when: `bpf_timer`s, the watchdog.

/// What is due when.
#[derive(Debug, Default)]
pub struct TimerQueue {}
