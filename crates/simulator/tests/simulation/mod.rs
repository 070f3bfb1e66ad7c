// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole simulations: numbers that a reader can check in the head, and properties of any machine and any workload.
//!
//! - [`support`]: small machines and workloads in a few words, observers that check a run while it goes on, and
//!   generators of random ones.
//! - `speed`, `energy`, `idle`, `costs`, `waiting`, `loops`, `classes`, `clocks`, `uncore`, `limits`: checkable by hand, one topic each.
//! - `nodes`: memory of another node. `numa`: threads and their memory find each other. `chiplets`: links of caches to memory.
//! - `paths`: what the kernel's own code and its locks take.
//! - `hotplug`: CPUs that come and go, under Linux's own scheduler and under loaded ones.
//! - `invariants`, `determinism`, `work_conservation`, `loaded`, `explained_waits`: properties of random runs.

mod chiplets;
mod classes;
mod clocks;
mod costs;
mod determinism;
mod energy;
mod explained_waits;
mod hotplug;
mod idle;
mod invariants;
mod limits;
mod loaded;
mod loops;
mod nodes;
mod numa;
mod paths;
mod speed;
pub mod support;
mod uncore;
mod waiting;
mod work_conservation;
