// SPDX-License-Identifier: MIT OR Apache-2.0
//! What studies are given besides their paper.

use crate::library::Library;
use crate::progress::Progress;
use crate::scenario::pair::Schedulers;
use crate::simulator::Simulator;

/// What studies are given besides their paper.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The files of papers.
    pub library: &'a Library,
    /// Turns the names of schedulers into schedulers.
    pub schedulers: &'a dyn Schedulers,
    /// Runs the simulations.
    pub simulator: &'a dyn Simulator,
    /// Hears of runs while they go on.
    pub progress: &'a dyn Progress,
}
