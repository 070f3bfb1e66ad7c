// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wanted performance (`scx_bpf_cpuperf_set`).

/// Wanted performance of each CPU.
#[derive(Debug, Default)]
pub struct Cpuperf {}
