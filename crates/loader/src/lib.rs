// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sched_ext scheduler's loader does before it loads an object.
//!
//! - [`machine`]: what a machine is, from the files of its kernel: CPUs, what they share, how fast they are, their clocks.
//! - [`tree`]: these files, below a root. [`cpus`]: sets of CPUs as they are written there. [`pmus`]: units that count events.
//! - [`input`]: mistakes in files: where, what, and what was expected.

pub mod backend;
pub mod cpus;
pub mod facts;
pub mod file;
pub mod input;
pub mod machine;
pub mod pmus;
pub mod statistics;
pub mod steps;
pub mod tree;
