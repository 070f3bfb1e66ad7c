// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends the search when a case does not end, and says which one.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time that a case may take, in seconds of this computer: cases take milliseconds.
const LONGEST: Duration = Duration::from_secs(120);
/// How often the watchdog looks.
const EVERY: Duration = Duration::from_secs(1);

/// The case that is being tried, and since when.
type UnderWay = Arc<Mutex<Option<(u64, Instant)>>>;

/// A thread that ends the process when a case takes too long.
#[derive(Debug)]
pub struct Watchdog(UnderWay);

impl Watchdog {
    /// Starts to watch the cases of `seed`.
    pub fn start(seed: u64) -> Self {
        let under_way = UnderWay::default();
        let watched = Arc::clone(&under_way);
        thread::spawn(move || {
            loop {
                thread::sleep(EVERY);
                let case = *watched.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((number, since)) = case
                    && since.elapsed() > LONGEST
                {
                    println!("Case {number} of seed {seed} does not end within {} s", LONGEST.as_secs());
                    println!("To try it again: make swarm SEED={seed} CASE={number}");
                    process::exit(1);
                }
            }
        });
        Self(under_way)
    }

    /// Case `number` begins.
    pub fn begins(&self, number: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, Instant::now()));
    }

    /// The case is through.
    pub fn ends(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
