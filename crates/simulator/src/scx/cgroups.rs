// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroup callbacks.

/// Cgroups and what the scheduler knows of them.
#[derive(Debug, Default)]
pub struct Cgroups {}
