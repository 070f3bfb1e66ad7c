// SPDX-License-Identifier: MIT OR Apache-2.0
//! What joins the scheduling classes to a kernel: the only room that knows both `kernel`'s classes and `scx`, the class
//! that does what a loaded program decides.
//!
//! - [`core`]: wakeup, schedule, tick, fork, exit. Start there.
//! - [`ext`]: tasks change into and out of the class of a loaded scheduler.
//! - [`priority`]: a task changes class or priority, for good or while it holds what a more urgent one waits for.
//! - `affinity`: which CPUs a task may use. [`migration`]: tasks that stay on their CPU for a while.
//! - `tick`: CPUs that do without one.
//! - [`cgroup`]: tasks change their group; groups come and go. [`hotplug`]: CPUs come and go.

mod affinity;
mod cgroup;
pub mod core;
pub mod ext;
pub mod hotplug;
mod migration;
pub mod priority;
#[cfg(test)]
mod tests;
mod tick;
