// SPDX-License-Identifier: MIT OR Apache-2.0
//! What applications lose by sharing a machine, computed instead of simulated.
//!
//! The analytical model of T. Y. Morad, A. Kolodny and U. C. Weiser, "Task Scheduling Based On Thread Essence and
//! Resource Limitations", section "Analytical model". Numbers in parentheses are the paper's numbers of equations, and
//! tables have the paper's names.
//!
//! There are `n` cores, one of them faster than the others by the factor `a`. An application has one thread in a serial
//! phase and `n` threads in a parallel one. All threads are always ready, compute, and run faster on a faster core by
//! its full factor. A *speedup* is an application's speed beside others, relative to its own speed alone in the same
//! phase.
//!
//! - `model` ([`Model`]): cores and asymmetry, and what an application alone attains.
//! - `two`: two applications, by the phases that both are in (Tables 1, 2, 3, 5).
//! - `many`: bounds for more applications (Tables 4, 6).
//! - `fit` ([`OneLargeCore`]): which described machines the model covers.
//! - `fixed` ([`fixed_state`]): the same situations as workloads, to be simulated beside the theory.
//!
//! **Left out:** how long phases last and when they change, caches and memory, the cost of switching and migrating,
//! what balancing does to a placement while it lasts. Who could tell: anybody who measures; `fixed` exists for that.

mod fit;
mod fixed;
mod many;
mod model;
mod two;

pub use fit::{NotCovered, OneLargeCore};
pub use fixed::fixed_state;
pub use many::{Bounds, ManyApplications};
pub use model::{Model, ModelError, Phase, Policy};
pub use two::{Fairness, Speedup, State};
