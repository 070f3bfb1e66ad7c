// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real sched_ext objects in whole runs: they run unmodified, and dispatch as a 6.12 kernel would.
//!
//! - `long`: the kernel's own examples over all bundled workloads.
//! - `simple`, `qmap`: the order of context switches, worked out by hand from the kernel's source.
//! - `callbacks`: which callback comes when, and with what arguments. `counters`: performance counters. `relations`:
//!   processes, parents, wakers. `cpuperf`: clocks that are asked for.
//! - `profile`: instructions by source line.
//! - `locks`: what all CPUs want at once.
//! - `selftests`: the kernel's own.
//! - `chooser`: settings that are refused, counters of a scheduler's own, states.

mod callbacks;
mod chooser;
mod counters;
mod cpuperf;
mod long {
    mod whole_runs;
}
mod locks;
mod profile;
mod qmap;
mod relations;
mod selftests;
mod simple;
mod steering;
pub mod support;
