// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C for commands that end in order: the first one asks them to stop, the second one ends the program. What ends at once
//! says here how far it has come.

use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::SIGINT;

/// A command asked to be told of the first interrupt. Before, an interrupt ends the program at once.
const AWAITED: u8 = 1;
/// The first one came.
const ARRIVED: u8 = 2;
/// A command asked to be told of the first signal of any kind.
const ALL_AWAITED: u8 = 3;

/// Whether an interrupt is awaited, whether one came, and what it would end. Clones share that.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    phase: AtomicU8,
    /// The signal that came.
    signal: AtomicI32,
    /// How far the run has come that an interrupt would end, in words.
    reached: Mutex<Option<String>>,
}

impl Interrupt {
    /// From now on the first interrupt is only remembered.
    pub fn awaited(&self) {
        self.0.phase.store(AWAITED, Ordering::Relaxed);
    }

    /// From now on the first signal that would end the program is only remembered: of what somebody changed for a while, all must
    /// be given back, also if a terminal is closed.
    pub fn all_awaited(&self) {
        self.0.phase.store(ALL_AWAITED, Ordering::Relaxed);
    }

    /// Takes note of a signal. Whether it was the first awaited one, so that the program goes on.
    pub fn arrive(&self, signal: i32) -> bool {
        let became =
            |phase| self.0.phase.compare_exchange(phase, ARRIVED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let is_first = became(ALL_AWAITED) || signal == SIGINT && became(AWAITED);
        if is_first {
            self.0.signal.store(signal, Ordering::Relaxed);
        }
        is_first
    }

    /// The signal that came, which may be another one than an interrupt only if all were awaited.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// From now on a run has come so far, in words; `None`: there is no run any more.
    pub fn reached(&self, words: Option<String>) {
        *self.0.reached.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    /// How far the run has come that ends now, if there is one.
    pub fn how_far(&self) -> Option<String> {
        self.0.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether an awaited interrupt came.
    pub fn has_arrived(&self) -> bool {
        self.0.phase.load(Ordering::Relaxed) == ARRIVED
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGHUP, SIGTERM};

    use super::*;

    #[test]
    fn only_the_first_interrupt_of_those_awaited_is_survived() {
        let interrupt = Interrupt::default();
        assert!(!interrupt.arrive(SIGINT) && !interrupt.has_arrived());
        interrupt.awaited();
        assert!(!interrupt.has_arrived());
        assert!(interrupt.arrive(SIGINT) && interrupt.has_arrived());
        assert!(!interrupt.arrive(SIGINT));
    }

    #[test]
    fn other_signals_end_the_program_unless_all_are_awaited() {
        let interrupt = Interrupt::default();
        interrupt.awaited();
        assert!(!interrupt.arrive(SIGTERM) && interrupt.signal().is_none());
        interrupt.all_awaited();
        assert!(interrupt.arrive(SIGHUP) && interrupt.has_arrived() && interrupt.signal() == Some(SIGHUP));
        assert!(!interrupt.arrive(SIGTERM), "the second one ends the program");
    }
}
