// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keeps fair tasks from starving under real-time ones: the fair server of Linux 6.12, seen from the other side.
//!
//! The kernel's server has `period - runtime` (50 ms) of every period (1 s), deferred: it acts only once fair tasks have
//! waited so long that their share would no longer fit. Here: from the moment fair tasks wait, real-time tasks may use
//! `runtime` (`sched_rt_runtime_us`) within a period; then they are held back until the period is over or no fair task
//! wants to run. Left out: the server's place among deadline tasks.

use crate::units::Nanos;

/// One CPU's fair server.
#[derive(Debug, Default)]
pub(super) struct FairServer {
    /// Start of the period; `None`: no fair task waits.
    start: Option<Nanos>,
    /// Time that real-time tasks used of it.
    used: Nanos,
    /// Real-time tasks are held back.
    pub throttled: bool,
}

impl FairServer {
    /// A real-time task ran for `delta` up to now.
    pub fn charge(&mut self, delta: Nanos) {
        if self.start.is_some() {
            self.used += delta;
        }
    }

    /// Takes note of whether fair tasks want to run; whether real-time ones are to be held back or let go has changed.
    pub fn update(&mut self, now: Nanos, fair_waits: bool, runtime: Nanos, period: Nanos) -> bool {
        let before = self.throttled;
        if !fair_waits {
            *self = Self::default();
            return before;
        }
        let start = *self.start.get_or_insert(now);
        if now - start >= period {
            *self = Self { start: Some(now - (now - start) % period), ..Self::default() };
        }
        self.throttled |= self.used >= runtime;
        self.throttled != before
    }

    /// When [`FairServer::update`] is next to be called, `running` if a real-time task runs.
    pub fn next(&self, now: Nanos, running: bool, runtime: Nanos, period: Nanos) -> Option<Nanos> {
        let end = self.start? + period;
        let used_up = now + runtime.saturating_sub(self.used);
        Some(if running && !self.throttled { end.min(used_up) } else { end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_tasks_get_their_runtime_from_when_fair_ones_wait() {
        let mut server = FairServer::default();
        server.charge(5_000);
        assert_eq!((server.update(5_000, true, 95, 100), server.next(5_000, true, 95, 100)), (false, Some(5_095)));
        server.charge(95);
        assert_eq!((server.update(5_095, true, 95, 100), server.throttled), (true, true));
        assert_eq!(server.next(5_095, false, 95, 100), Some(5_100));
        assert_eq!((server.update(5_100, true, 95, 100), server.throttled), (true, false));
    }

    #[test]
    fn nobody_is_held_back_for_fair_tasks_that_sleep() {
        let mut server = FairServer::default();
        server.update(0, true, 95, 100);
        server.charge(95);
        server.update(95, true, 95, 100);
        assert_eq!((server.update(97, false, 95, 100), server.throttled), (true, false));
        assert_eq!(server.next(97, true, 95, 100), None);
    }
}
