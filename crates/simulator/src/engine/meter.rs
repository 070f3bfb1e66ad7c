// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy: power integrated over time, one meter per thing that draws.

use crate::units::{Nanos, seconds};

/// Integrates one power over time. The setter pays for the state being left before it enters the new one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    watts: f64,
    since: Nanos,
    joules: f64,
}

impl Meter {
    /// Draws `watts` from `now` on.
    pub fn enter(&mut self, now: Nanos, watts: f64) {
        self.pay(now);
        self.watts = watts;
    }

    /// Adds a lump, for what lasts too short to be a state of its own.
    pub fn add(&mut self, joules: f64) {
        self.joules += joules;
    }

    /// Energy up to `now`.
    pub fn read(&mut self, now: Nanos) -> f64 {
        self.pay(now);
        self.joules
    }

    /// Energy up to `now`, without paying for it: a payment more rounds differently.
    pub fn so_far(&self, now: Nanos) -> f64 {
        self.joules + self.watts * seconds(now - self.since)
    }

    /// Power drawn at present.
    pub fn watts(&self) -> f64 {
        self.watts
    }

    fn pay(&mut self, now: Nanos) {
        self.joules += self.watts * seconds(now - self.since);
        self.since = now;
    }
}

/// Time spent in each of a few states.
#[derive(Debug, Clone, Default)]
pub struct Residency {
    spent: Vec<Nanos>,
    state: usize,
    since: Nanos,
}

impl Residency {
    /// Starts in `state` at time 0.
    pub fn new(states: usize, state: usize) -> Self {
        Self { spent: vec![0; states], state, since: 0 }
    }

    /// Is in `state` from `now` on.
    pub fn enter(&mut self, now: Nanos, state: usize) {
        self.spent[self.state] += now - self.since;
        (self.state, self.since) = (state, now);
    }

    /// Moves `span` of the time spent in `from` to `to`.
    pub fn shift(&mut self, from: usize, to: usize, span: Nanos) {
        let span = span.min(self.spent[from]);
        self.spent[from] -= span;
        self.spent[to] += span;
    }

    /// Time in all states up to `now`.
    pub fn total(&self, now: Nanos) -> Nanos {
        self.spent.iter().sum::<Nanos>() + (now - self.since)
    }

    /// Time per state up to `now`.
    pub fn read(&mut self, now: Nanos) -> &[Nanos] {
        self.enter(now, self.state);
        &self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SEC;

    #[test]
    fn each_state_pays_for_its_own_time() {
        // 10 s idle at 0.1 W, then 1 s busy at 0.6 W: 1.0 J + 0.6 J.
        let mut meter = Meter::default();
        meter.enter(0, 0.1);
        meter.enter(10 * SEC, 0.6);
        assert!((meter.read(11 * SEC) - 1.6).abs() < 1e-12);
    }

    #[test]
    fn ten_seconds_at_a_hundred_watts_are_a_thousand_joules() {
        let mut meter = Meter::default();
        meter.enter(0, 100.0);
        assert_eq!(meter.read(10 * SEC), 1000.0);
        assert_eq!(meter.read(10 * SEC), 1000.0);
    }

    #[test]
    fn residencies_add_up_to_the_time() {
        let mut residency = Residency::new(2, 0);
        residency.enter(3, 1);
        residency.enter(10, 0);
        assert_eq!(residency.read(11), [4, 7]);
        residency.shift(1, 0, 2);
        assert_eq!(residency.read(11), [6, 5]);
    }
}
