// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a case is made of, at random: [`case`], [`machines`], [`workloads`], [`schedulers`].
//!
//! All are strategies of proptest, which shrinks what it has drawn. The simulator's own property tests have the same
//! shapes: their files are used here as they are.

pub mod case;
pub mod machines;
pub mod mutation;
pub mod schedulers;
pub mod workloads;

/// Changes of which CPUs are online.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/any_hotplug.rs"]
pub mod any_hotplug;
/// Machines of every shape.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/any_machine.rs"]
pub mod any_machine;
/// Governors, seeds, kernel parameters.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/any_options.rs"]
pub mod any_options;
/// Workloads of every kind of step.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/any_workload.rs"]
pub mod any_workload;
/// What an observer can check.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/audit.rs"]
pub mod audit;
/// Machines as data.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/machine.rs"]
pub mod machine;
/// Power that an observer is told.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/observers.rs"]
pub mod observers;
/// Workloads in a few words.
#[allow(dead_code, missing_docs, reason = "the simulator's tests use the rest")]
#[path = "../../../simulator/tests/simulation/support/workload.rs"]
pub mod workload;
