// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines, workloads and Linux's scheduling, simulated with time and energy.
//!
//! # Start here
//!
//! A [`Machine`] and a [`Workload`], bundled or read from files, and [`Options`] (scheduler, governor, seed) go into
//! [`simulate`]; a [`Report`] of time and energy comes out, the same to the last bit each time. An [`Observer`] sees what
//! happens meanwhile; [`NoObserver`] looks at nothing.
//!
//! ```
//! use tandem_simulator::{Machine, NoObserver, Options, Workload, simulate};
//!
//! let machine = Machine::load("hikey960")?;
//! let workload = Workload::load("pipeline".as_ref())?;
//! let report = simulate(&machine, &workload, &Options::default(), &mut NoObserver)?;
//! assert!(report.time_s > 0.0 && report.energy_j.total > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/own_observer.rs` watches a run with an observer of its own.
//!
//! # The modules
//!
//! One run, top to bottom: *description → programs → events → decisions → progress and energy → metrics*.
//!
//! - [`machine`]: what a machine is, and how its description is read.
//! - [`workload`]: what threads do, and how rt-app files are read.
//! - [`simulation`]: what a caller asks for and gets: options, one run, why there is no report (`options`, `error`).
//! - `engine`: the only place with time: next event, progress, energy.
//! - `sched`: what joins scheduling classes to a kernel: wakeup, schedule, tick, priorities, hotplug, groups.
//! - `kernel`: Linux's scheduling: tasks, run queues, classes, balancing, cpufreq, cpuidle, locks. Has no event queue.
//! - `scx`: sched_ext, one more class, whose decisions a BPF object makes.
//! - [`metrics`]: the report of a run. [`observer`]: what a run shows while it goes on; [`trace`]: one observer;
//!   [`why`]: another, which says why threads waited.
//! - [`analysis`]: what applications lose by sharing a machine, computed by an analytical model.
//! - [`generated`]: machines and workloads of any size, for benchmarks.
//! - [`input`]: mistakes in files. [`units`]: identifiers and time. `streams`: the random numbers of a run.

pub mod analysis;
mod engine;
mod error;
pub mod generated;
mod kernel;
pub mod machine;
pub mod metrics;
pub mod observer;
mod options;
#[cfg(test)]
mod rooms;
mod sched;
mod scx;
pub mod simulation;
mod streams;
pub mod trace;
pub mod units;
pub mod why;
pub mod workload;

pub use input::InputError;
pub use machine::Machine;
pub use metrics::Report;
pub use observer::{NoObserver, Observer, PrevState, TaskInfo};
pub use simulation::{Governor, Options, SchedExt, Scheduler, SimulationError, simulate};
pub use tandem_loader::{bounded, input};
pub use workload::Workload;
