// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's types and objects as programs see them.

pub mod profile;

/// Kernel objects in the programs' memory: tasks, masks, cgroups, run queues, and whose they are.
#[derive(Debug)]
pub struct Guest {}
