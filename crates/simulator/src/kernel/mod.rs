// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's scheduling and power management, without time: who asks decides when.
//!
//! - [`pelt`]: how busy tasks and CPUs have been (per-entity load tracking).
//! - [`cpufreq`]: which operating point a governor asks for.
//! - [`cpuidle`]: which idle state a CPU enters.

pub mod cpufreq;
pub mod cpuidle;
pub mod pelt;
