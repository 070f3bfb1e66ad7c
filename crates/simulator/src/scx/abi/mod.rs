// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's types and objects as programs see them.
//!
//! - [`profile`]: the kernel version whose interface holds: flag values, enumerations, kconfig.
//! - [`layout`]: C structures written once, for Rust's accessors and for BTF. [`types`]: the structures themselves.
//! - [`guest`]: the objects: tasks, masks, cgroups, run queues.

pub mod guest;
pub mod layout;
pub mod profile;
pub mod types;

pub use guest::{Guest, GuestTaskInfo, Mask};
