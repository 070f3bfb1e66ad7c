// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy: power integrated over time, one meter per thing that draws.

use crate::units::{Nanos, seconds};

/// What a power is drawn for, as far as a machine's description has values of their own for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cause {
    /// A core that runs, less its leakage; a cluster or a package of which a core is awake.
    #[default]
    Awake,
    /// Leakage of a core that runs.
    Leakage,
    /// A core, or an uncore, that idles.
    Idle,
    /// A cluster, or a package, in an idle state of its own.
    Asleep,
}

/// Joules by [`Cause`].
pub type Causes = [f64; 4];

/// A power, and what it is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Power {
    pub watts: f64,
    pub cause: Cause,
    /// How much of it is [`Cause::Leakage`], 0..=1.
    pub leakage_share: f64,
}

impl Power {
    /// All of it for one thing.
    pub fn of(watts: f64, cause: Cause) -> Self {
        Self { watts, cause, leakage_share: 0.0 }
    }
}

/// Integrates one power over time. The setter pays for the state being left before it enters the new one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    watts: f64,
    since: Nanos,
    joules: f64,
    /// Until when less is drawn, and how much.
    until: Nanos,
    reduced: f64,
    /// Joules that the power does not show: lumps, less what was not drawn of it.
    unseen: f64,
    split: Split,
}

/// The energy of a meter by what it was drawn for. Paid for by itself: what is drawn for something else at the same power is no
/// change of the meter's.
#[derive(Debug, Clone, Copy, Default)]
struct Split {
    cause: Cause,
    leakage_share: f64,
    since: Nanos,
    /// What the reduced power is drawn for.
    reduced: Cause,
    joules: Causes,
}

impl Meter {
    /// Draws this power from `now` on; whether it is more or less than before.
    #[inline]
    pub fn enter(&mut self, now: Nanos, power: Power) -> bool {
        let Power { watts, cause, leakage_share } = power;
        let changed = self.watts != watts;
        if changed && self.split.since == self.since && self.until <= self.since {
            self.pay_both(now);
            self.watts = watts;
            (self.split.cause, self.split.leakage_share) = (cause, leakage_share);
            return true;
        }
        if changed || (self.split.cause, self.split.leakage_share) != (cause, leakage_share) {
            self.pay_split(now);
            (self.split.cause, self.split.leakage_share) = (cause, leakage_share);
        }
        if changed {
            self.pay(now);
            self.watts = watts;
        }
        changed
    }

    /// Draws `watts` at most from `now` to `until`, whatever is entered meanwhile.
    pub fn reduce(&mut self, now: Nanos, until: Nanos, watts: f64) {
        self.pay_split(now);
        self.pay(now);
        (self.until, self.reduced, self.split.reduced) = (until, watts, self.split.cause);
    }

    /// Adds a lump, for what lasts too short to be a state of its own.
    pub fn add(&mut self, joules: f64) {
        self.split.joules[self.split.cause as usize] += joules;
        self.joules += joules;
        self.unseen += joules;
    }

    /// What all powers of [`Self::enter`] leave out of the energy, up to the last change; negative where less was drawn.
    pub fn unseen(&self) -> f64 {
        self.unseen
    }

    /// Energy up to `now`.
    pub fn read(&mut self, now: Nanos) -> f64 {
        self.pay(now);
        self.joules
    }

    /// Energy up to `now`, without paying for it: a payment more rounds differently.
    pub fn so_far(&self, now: Nanos) -> f64 {
        self.joules + self.drawn(now)
    }

    /// Power drawn at present.
    pub fn watts(&self) -> f64 {
        self.watts
    }

    #[inline]
    fn pay(&mut self, now: Nanos) {
        let joules = self.drawn(now);
        if self.since < self.until {
            self.unseen += joules - self.watts * seconds(now - self.since);
        }
        self.joules += joules;
        self.since = now;
    }

    /// [`Self::pay_split`] and [`Self::pay`] where both were last done at the same time, and nothing is reduced.
    #[inline]
    fn pay_both(&mut self, now: Nanos) {
        let joules = self.watts * seconds(now - self.since);
        self.joules += joules;
        self.split.pay(joules);
        (self.since, self.split.since) = (now, now);
    }

    /// Joules since the last payment.
    #[inline]
    fn drawn(&self, now: Nanos) -> f64 {
        if self.since >= self.until {
            return self.watts * seconds(now - self.since);
        }
        let end = self.until.min(now);
        self.reduced.min(self.watts) * seconds(end - self.since) + self.watts * seconds(now - end)
    }

    /// Energy up to `now` by what it was drawn for, in the order of [`Cause`].
    pub fn read_causes(&mut self, now: Nanos) -> Causes {
        self.pay_split(now);
        self.split.joules
    }

    #[inline]
    fn pay_split(&mut self, now: Nanos) {
        let split = &mut self.split;
        let mut reduced_until = split.since;
        // Nearly always nothing is reduced any more.
        if self.until > split.since {
            reduced_until = self.until.min(now.max(split.since));
            split.joules[split.reduced as usize] += self.reduced.min(self.watts) * seconds(reduced_until - split.since);
        }
        let joules = self.watts * seconds(now - reduced_until);
        split.pay(joules);
        split.since = now;
    }
}

impl Split {
    /// So many joules were drawn for what is drawn for at present.
    #[inline]
    fn pay(&mut self, joules: f64) {
        let leakage = joules * self.leakage_share;
        self.joules[Cause::Leakage as usize] += leakage;
        self.joules[self.cause as usize] += joules - leakage;
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

    fn awake(watts: f64) -> Power {
        Power::of(watts, Cause::Awake)
    }

    #[test]
    fn each_state_pays_for_its_own_time() {
        // 10 s idle at 0.1 W, then 1 s busy at 0.6 W: 1.0 J + 0.6 J.
        let mut meter = Meter::default();
        meter.enter(0, awake(0.1));
        meter.enter(10 * SEC, awake(0.6));
        assert!((meter.read(11 * SEC) - 1.6).abs() < 1e-12);
    }

    #[test]
    fn ten_seconds_at_a_hundred_watts_are_a_thousand_joules() {
        let mut meter = Meter::default();
        meter.enter(0, awake(100.0));
        assert_eq!(meter.read(10 * SEC), 1000.0);
        assert_eq!(meter.read(10 * SEC), 1000.0);
    }

    #[test]
    fn a_reduced_power_ends_by_itself() {
        // 2 s at 1 W, then 3 s at 4 W, whatever changes meanwhile; a power that is lower anyway stays.
        let mut meter = Meter::default();
        meter.enter(0, awake(4.0));
        meter.reduce(0, 2 * SEC, 1.0);
        meter.enter(SEC, awake(4.0));
        assert_eq!((meter.so_far(3 * SEC), meter.read(5 * SEC)), (6.0, 14.0));
        meter.enter(5 * SEC, awake(0.5));
        meter.reduce(5 * SEC, 7 * SEC, 1.0);
        assert_eq!(meter.read(6 * SEC), 14.5);
    }

    #[test]
    fn what_energy_was_drawn_for_is_told_apart() {
        // 1 s idle at 1 W; then 4 W of which a quarter leaks, but for the first of 3 s still asleep at 1 W; then 2 s idle at
        // the same 4 W, and a lump of 0.5 J for going there.
        let mut meter = Meter::default();
        meter.enter(0, Power::of(1.0, Cause::Idle));
        meter.reduce(SEC, 2 * SEC, 1.0);
        meter.enter(SEC, Power { watts: 4.0, cause: Cause::Awake, leakage_share: 0.25 });
        assert!(!meter.enter(4 * SEC, Power::of(4.0, Cause::Idle)), "the power is the same");
        meter.add(0.5);
        let (awake, leakage, idle) = (2.0 * 3.0, 2.0 * 1.0, 1.0 + 1.0 + 2.0 * 4.0 + 0.5);
        assert_eq!(meter.read_causes(6 * SEC), [awake, leakage, idle, 0.0]);
        assert_eq!(meter.read(6 * SEC), awake + leakage + idle);
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
