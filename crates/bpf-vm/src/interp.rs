// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs decoded instructions.

/// Decoded instructions of all functions of an instance, and where each function and source line begins.
#[derive(Debug, Default)]
pub struct Code {}

/// Where a running instance is: call frames, its stack, the budget left.
#[derive(Debug, Default)]
pub struct Execution {}
