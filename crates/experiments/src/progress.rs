// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is heard of runs while they go on.

/// Hears of runs while they go on, so that a person who waits can be told. Each method does nothing unless it is written.
pub trait Progress: Sync {
    /// `simulations` are made ready: their files are read, their schedulers loaded. `what` says what they are for.
    fn prepare(&self, what: &str, simulations: usize) {
        let _ = (what, simulations);
    }

    /// One of them is ready.
    fn prepared(&self) {}

    /// `runs` simulations begin. `what` says what they are for; it is empty where there is nothing to say.
    fn begin(&self, what: &str, runs: usize) {
        let _ = (what, runs);
    }

    /// One of them is done. Several threads call this at once.
    fn run_done(&self) {}

    /// All of them are ready or done, or one has failed and the others are not waited for.
    fn end(&self) {}

    /// Whether a person has asked to stop: no other simulation is begun then, and those under way are waited for. Once true,
    /// this stays true.
    fn stopped(&self) -> bool {
        false
    }

    /// A file has something odd in it that is no mistake.
    fn warn(&self, warning: &str) {
        let _ = warning;
    }
}

/// Hears of nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
