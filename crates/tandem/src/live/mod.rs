// SPDX-License-Identifier: GPL-2.0-only
//! Tandem on the kernel that is running.
//!
//! - [`report`]: what a run was.

pub mod report;
