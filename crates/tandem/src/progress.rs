// SPDX-License-Identifier: GPL-2.0-only
//! Lines that tell a log how far runs are: few, as each comes after twice the time of the one before.

use std::io::{Write, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When the first line comes. Runs that are done before have none.
const FIRST: Duration = Duration::from_secs(10);

/// The runs under way, for a standard error that nobody watches.
#[derive(Debug, Default)]
pub struct Lines(Mutex<Option<Runs>>);

#[derive(Debug)]
struct Runs {
    what: String,
    began: Instant,
    of: usize,
    done: usize,
    next: Duration,
}

impl Lines {
    /// So many runs begin.
    pub fn begin(&self, what: &str, runs: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Runs::new(what, runs));
    }

    /// One of them is done: says so if it is time.
    pub fn run_done(&self) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = runs.as_mut().and_then(|runs| runs.run_done(runs.began.elapsed()));
        if let Some(line) = line {
            let _ = writeln!(stderr(), "{line}");
        }
    }
}

impl Runs {
    fn new(what: &str, of: usize) -> Self {
        Self { what: what.to_owned(), began: Instant::now(), of, done: 0, next: FIRST }
    }

    /// The line that is due now that one more is done after so much time.
    fn run_done(&mut self, elapsed: Duration) -> Option<String> {
        self.done += 1;
        if elapsed < self.next {
            return None;
        }
        while self.next <= elapsed {
            self.next *= 2;
        }
        let Self { what, of, done, .. } = self;
        let prefix = if what.is_empty() { String::new() } else { format!("{what}: ") };
        let left = elapsed.as_secs_f64() / *done as f64 * (*of - (*done).min(*of)) as f64;
        Some(format!("{prefix}{done} of {of} runs after {} s, about {left:.0} s left", elapsed.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_comes_after_twice_the_time() {
        let mut runs = Runs::new("", 100);
        let mut lines = Vec::new();
        for second in 1..=100 {
            lines.extend(runs.run_done(Duration::from_secs(second)));
        }
        assert_eq!(
            lines,
            [
                "10 of 100 runs after 10 s, about 90 s left",
                "20 of 100 runs after 20 s, about 80 s left",
                "40 of 100 runs after 40 s, about 60 s left",
                "80 of 100 runs after 80 s, about 20 s left",
            ]
        );
    }

    #[test]
    fn long_runs_have_one_line_each_and_short_ones_none() {
        let mut runs = Runs::new("memory", 2);
        assert_eq!(runs.run_done(Duration::from_secs(9)), None);
        let line = runs.run_done(Duration::from_secs(1000)).unwrap();
        assert_eq!(line, "memory: 2 of 2 runs after 1000 s, about 0 s left");
        assert_eq!(runs.next, Duration::from_secs(1280));
    }
}
