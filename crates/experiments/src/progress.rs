// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is heard of runs while they go on.

/// Hears of runs while they go on, so that a person who waits can be told. Each method does nothing unless it is written.
pub trait Progress: Sync {
    /// `runs` simulations begin. `what` says what they are for; it is empty where there is nothing to say.
    fn begin(&self, what: &str, runs: usize) {
        let _ = (what, runs);
    }

    /// One of them is done. Several threads call this at once.
    fn run_done(&self) {}

    /// All of them are done, or one has failed and the others are not waited for.
    fn end(&self) {}

    /// A file has something odd in it that is no mistake.
    fn warn(&self, warning: &str) {
        let _ = warning;
    }
}

/// Hears of nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
