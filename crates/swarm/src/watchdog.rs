// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends the search when a case does not end, and says which one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, process, thread};

/// Longest time that a case may take, of a CPU of this computer: cases take milliseconds. Other programs, or a stop, take
/// none of it.
const LONGEST: Duration = Duration::from_secs(120);
/// How often the watchdog looks.
const EVERY: Duration = Duration::from_secs(1);

/// The case that is being tried, and how long this process had run when it began.
type UnderWay = Arc<Mutex<Option<(u64, Duration)>>>;

/// CPU time of the thread that tries cases, the first of this process (`/proc/self/schedstat`); none where a kernel does not
/// count it.
fn run_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let run = stat.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(run.unwrap_or_default())
}

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
                    && run_time().saturating_sub(since) > LONGEST
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
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, run_time()));
    }

    /// The case is through.
    pub fn ends(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_on_a_cpu_counts() {
        let before = run_time();
        thread::sleep(Duration::from_millis(50));
        // Tests have threads of their own: the first one of the process only waits for them.
        assert!(run_time().saturating_sub(before) < Duration::from_millis(40));
        assert!(run_time() > Duration::ZERO);
    }
}
