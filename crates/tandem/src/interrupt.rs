// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C for commands that end in order: the first one asks them to stop, the second one ends the program. What ends at once
//! says here how far it has come; and so does what another program waits for, in a file that this program names
//! (`TANDEM_PROGRESS`): the page of `tandem ui` shows that.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGINT;

/// The variable that names the file in which another program reads how far this one is.
pub const PROGRESS: &str = "TANDEM_PROGRESS";
/// Least time between two changes of that file.
const PAUSE: Duration = Duration::from_millis(100);

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
    /// The file for another program, and when it was last written.
    told: Option<(PathBuf, Mutex<Option<Instant>>)>,
}

impl Interrupt {
    /// One that tells how far runs are in this file, too, if there is one.
    pub fn telling(file: Option<PathBuf>) -> Self {
        Self(Arc::new(State { told: file.map(|file| (file, Mutex::default())), ..State::default() }))
    }

    /// Tells the other program so, unless it was told just before. The file appears whole; what cannot be written is not known there.
    pub fn tell(&self, words: &str) {
        let Some((file, last)) = &self.0.told else { return };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        *last = Some(Instant::now());
        let new = file.with_extension("new");
        let _ = fs::write(&new, words).and_then(|()| fs::rename(&new, file));
    }

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
    fn another_program_reads_how_far_it_is_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("progress.txt");
        let interrupt = Interrupt::telling(Some(file.clone()));
        interrupt.tell("1 of 40 runs");
        // Too soon; nobody could read so fast.
        interrupt.tell("2 of 40 runs");
        assert!(["1 of 40 runs", "2 of 40 runs"].contains(&fs::read_to_string(&file).unwrap().as_str()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        Interrupt::default().tell("nobody reads that");
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
