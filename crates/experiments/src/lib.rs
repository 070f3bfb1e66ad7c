// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments with simulations: many runs at once, and what their numbers say.

mod parallel;
mod progress;
mod simulator;
mod statistics;

pub use parallel::run_all;
pub use progress::{Progress, Silent};
pub use simulator::{Linux, Simulator};
pub use statistics::{Estimate, jitter, mean};
