// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel version whose interface and rules hold.

/// A kernel version's interface and rules.
#[derive(Debug, Default)]
pub struct Profile {}
