// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler takes over, and goes (`scx_ops_enable_workfn`, `scx_ops_disable_workfn`).
