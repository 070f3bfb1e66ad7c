// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much a user may ask: what one asks costs time that others' requests wait.

use std::time::{Duration, Instant};

use super::Request;

/// Points that a user gets a second.
const A_SECOND: u32 = 1000;
/// Points that a user has at most: a program may have its 4,096 threads say how long they are all at once.
const MOST: u32 = 5000;

/// A user's points. Who has none left waits until there are some; nothing is refused for it. Root needs none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    points: u32,
    /// Up to when points were given.
    given: Instant,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { points: MOST, given: now }
    }

    /// When the user may ask next.
    pub(super) fn ready(&self) -> Instant {
        if self.points > 0 { self.given } else { self.given + Duration::from_secs(1) / A_SECOND }
    }

    /// Whether the user may ask now.
    pub(super) fn may_ask(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.points > 0
    }

    /// Takes what a request costs. Who had a point may ask for anything, and waits longer afterwards.
    pub(super) fn spend(&mut self, cost: u32) {
        let debt = cost.saturating_sub(self.points);
        self.points = self.points.saturating_sub(cost);
        self.given += Duration::from_secs(1) * debt / A_SECOND;
    }

    /// Whether nothing is known of the user that a new one would not have.
    pub(super) fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.points == MOST
    }

    fn refill(&mut self, now: Instant) {
        let whole = now.saturating_duration_since(self.given).as_millis() * u128::from(A_SECOND) / 1000;
        let more = u32::try_from(whole).unwrap_or(u32::MAX);
        self.points = self.points.saturating_add(more).min(MOST);
        self.given += Duration::from_secs(1) * more.min(MOST) / A_SECOND;
        if self.points == MOST {
            self.given = self.given.max(now);
        }
    }
}

/// Points that a line costs. `None`: a line that is no request.
pub(super) fn cost(request: Option<&Request>) -> u32 {
    match request {
        Some(Request::Hint { .. } | Request::HintNext { .. }) | None => 1,
        Some(Request::Application { .. }) => 10,
        // Its answer is long.
        Some(Request::Status) => 50,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of that cost that are let through in so many milliseconds.
    fn asked(pace: &mut Pace, from: Instant, ms: u64, cost: u32) -> u32 {
        let mut asked = 0;
        for now in (0..ms).map(|ms| from + Duration::from_millis(ms)) {
            while pace.may_ask(now) {
                pace.spend(cost);
                asked += 1;
            }
        }
        asked
    }

    #[test]
    fn a_user_has_five_thousand_hints_at_once_and_a_thousand_a_second_then() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!(asked(&mut pace, now, 1, 1), 5000);
        assert_eq!(asked(&mut pace, now, 1001, 1), 1000);
        // Rest is not saved up for ever.
        let later = now + Duration::from_secs(3600);
        assert!(pace.is_full(later));
        assert_eq!(asked(&mut pace, later, 1, 1), 5000);
    }

    #[test]
    fn a_user_has_twenty_statuses_a_second_in_the_long_run() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!(asked(&mut pace, now, 1, 50), 100);
        assert_eq!(asked(&mut pace, now + Duration::from_millis(1), 10_000, 50), 200);
    }
}
