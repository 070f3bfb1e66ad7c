// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timer-events-oriented governor: Linux 6.12's `teo` (`drivers/cpuidle/governors/teo.c`).
//!
//! Most wakeups of a CPU come from its timers, and the time to the next one is known. Each state has a bin that counts, decaying by
//! an eighth at each wakeup, how often the CPU woke by its timer in it (*hits*) and how often by something earlier
//! (*intercepts*). The deepest state is a candidate unless intercepts say that wakeups come before it pays; then the time to the
//! next timer is asked for, and bounds it.
//!
//! [`TeoDevice`] is one CPU's memory: [`TeoDevice::select`] when it goes idle, [`TeoDevice::reflect`] when it wakes.
//!
//! Left out, as for [`menu`](super::menu): polling, states disabled by hand, rounding of timers. What the kernel measures around the
//! idle state (`local_clock` before and after) is the time in it here.

use super::{FAR, IdleEntry, Selection, StateTimes};
use crate::units::Nanos;

/// What one wakeup adds to a bin (`PULSE`).
const PULSE: u32 = 1024;
/// Bins decay by 1/8 at each wakeup (`DECAY_SHIFT`).
const DECAY_SHIFT: u32 = 3;

/// What is remembered of a state (`struct teo_bin`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bin {
    /// Wakeups by the timer that was expected.
    hits: u32,
    /// Wakeups before it.
    intercepts: u32,
}

/// One CPU's memory of its idle times (`struct teo_cpu`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeoDevice {
    /// How long the last pause was, as the governor sees it.
    time_span: Nanos,
    /// How long the last pause was, leaving it included.
    measured: Nanos,
    /// Time to the next timer at the last selection.
    sleep_length: Nanos,
    bins: Vec<Bin>,
    /// Sum of all bins.
    total: u32,
    /// Hits beyond a tick, where all residencies are shorter.
    tick_hits: u32,
    /// The state of a pause that has ended and has not been counted yet.
    last_state: Option<usize>,
}

impl TeoDevice {
    /// Of a CPU with so many states.
    pub fn new(states: usize) -> Self {
        Self {
            time_span: 0,
            measured: 0,
            sleep_length: 0,
            bins: vec![Bin::default(); states],
            total: 0,
            tick_hits: 0,
            last_state: None,
        }
    }

    /// Chooses an idle state (`teo_select`).
    pub fn select(&mut self, states: &[StateTimes], entry: &IdleEntry) -> Selection {
        if let Some(last) = self.last_state.take() {
            self.update(states, last, entry.tick);
        }
        self.sleep_length = FAR;
        let keep_tick = |state: usize| Selection { state, predicted: entry.next_event(), stop_tick: false };
        if states.len() < 2 {
            return keep_tick(0);
        }
        let deepest = states.len() - 1;
        let constraint = states.iter().rposition(|state| state.exit <= entry.latency_limit).unwrap_or(0);
        let candidate = self.not_intercepted(states, entry);
        let sleep_length = entry.next_timer.unwrap_or(FAR).min(FAR);
        if candidate == 0 {
            // Asked for nonetheless, to know after the wakeup whether the guess was right.
            self.sleep_length = sleep_length;
            return keep_tick(0);
        }
        let candidate = candidate.min(constraint);
        if candidate == 0 {
            return keep_tick(0);
        }
        self.sleep_length = sleep_length;
        let state = shallower(states, candidate, sleep_length);
        let intercepts: u32 = self.bins[..=deepest].iter().map(|bin| bin.intercepts).sum();
        let before_tick = states[state].residency < entry.tick && intercepts > self.total / 2 + self.total / 8;
        let expected = if before_tick { entry.tick / 2 } else { sleep_length };
        if expected >= entry.tick || entry.tick_stopped {
            return Selection { state, predicted: expected, stop_tick: true };
        }
        // The tick goes on and will wake the CPU.
        Selection { state: shallower(states, state, entry.next_event()), predicted: expected, stop_tick: false }
    }

    /// The CPU woke after `measured` ns in `state`; `by_tick` if the tick woke it (`teo_reflect`).
    pub fn reflect(&mut self, state: usize, measured: Nanos, by_tick: bool) {
        self.last_state = Some(state);
        self.measured = measured;
        // A tick that should have been stopped says nothing of when the CPU would have woken. The kernel compares with the tick's
        // length, which `update` knows.
        self.time_span = if by_tick { Nanos::MAX } else { measured };
    }

    /// The deepest state, or the deepest that more than half of the early wakeups would have let pay, where these are the majority.
    fn not_intercepted(&self, states: &[StateTimes], entry: &IdleEntry) -> usize {
        let deepest = states.len() - 1;
        let intercepts: u32 = self.bins[..deepest].iter().map(|bin| bin.intercepts).sum();
        let hits: u32 = self.bins[..deepest].iter().map(|bin| bin.hits).sum();
        if 2 * intercepts <= self.total - hits {
            return deepest;
        }
        // Without a tick nothing wakes the CPU out of a state that turns out too shallow.
        let deep_enough = |state: usize| !entry.tick_stopped || states[state].residency >= entry.tick;
        let mut suitable = deepest;
        let mut deeper = 0;
        for state in (0..deepest).rev() {
            deeper += self.bins[state].intercepts;
            if 2 * deeper > intercepts {
                return if deep_enough(state) { state } else { suitable };
            }
            if deep_enough(state) {
                suitable = state;
            } else if suitable == deepest {
                break;
            }
        }
        deepest
    }

    /// Counts the pause that has ended (`teo_update`).
    fn update(&mut self, states: &[StateTimes], last: usize, tick: Nanos) {
        let by_tick = self.time_span == Nanos::MAX;
        let as_expected = if by_tick && self.sleep_length <= tick { self.measured } else { self.time_span };
        let measured = if as_expected >= self.sleep_length {
            Nanos::MAX
        } else if self.measured >= states[last].exit {
            // Leaving is not likely to take the longest time each time: half of it counts.
            self.measured - states[last].exit / 2
        } else {
            self.measured / 2
        };
        self.decay();
        let by_timer = deepest_within(states, self.sleep_length);
        let by_duration = deepest_within(&states[..=by_timer], measured);
        let short = states.last().is_some_and(|deepest| deepest.residency < tick);
        if short {
            self.tick_hits -= self.tick_hits >> DECAY_SHIFT;
            self.total += self.tick_hits;
        }
        let beyond_tick = short && tick <= self.sleep_length;
        if beyond_tick && tick <= measured {
            self.tick_hits += PULSE;
        } else if !beyond_tick && by_timer == by_duration {
            self.bins[by_timer].hits += PULSE;
        } else {
            self.bins[by_duration].intercepts += PULSE;
        }
        self.total += PULSE;
    }

    fn decay(&mut self) {
        self.total = 0;
        for bin in &mut self.bins {
            bin.hits -= bin.hits >> DECAY_SHIFT;
            bin.intercepts -= bin.intercepts >> DECAY_SHIFT;
            self.total += bin.hits + bin.intercepts;
        }
    }
}

/// The deepest state whose residency is within `time`; the first if none is.
fn deepest_within(states: &[StateTimes], time: Nanos) -> usize {
    states.iter().rposition(|state| state.residency <= time).unwrap_or(0)
}

/// `state`, or the next shallower one that pays within `time` (`teo_find_shallower_state`).
fn shallower(states: &[StateTimes], state: usize, time: Nanos) -> usize {
    if states[state].residency <= time { state } else { deepest_within(&states[..state], time) }
}

#[cfg(test)]
mod tests;
