// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which idle state a CPU enters: Linux's `menu` governor (`drivers/cpuidle/governors/menu.c`).
//!
//! Two predictions of the coming idle time, and the shorter one counts: the typical one of the last eight, if they
//! agree with each other, and the time to the next timer, times what such a time has been worth before (one factor
//! per order of magnitude). The deepest state whose residency fits the prediction and whose exit latency is allowed
//! is entered; the tick stops only if the prediction exceeds a tick.
//!
//! [`MenuDevice`] is one CPU's memory: [`MenuDevice::select`] when it goes idle, [`MenuDevice::reflect`] when it wakes.
//!
//! Left out: polling (x86's state 0 that spins; a description's first state is entered at once, so idle times of a
//! microsecond or two cost what C1 costs), states disabled by hand, drivers that reject a state, and the timer
//! wheel's rounding (every timer is a high-resolution one). A program that measures wakeups closer than 2 µs, or
//! timers of drivers in jiffies, could tell. Times beyond an hour saturate where the kernel's 32-bit microseconds wrap.

mod sample;

use super::{FAR, IdleEntry, Selection, StateTimes};
use crate::kernel::release::Release;
use crate::units::{MSEC, Nanos, USEC};
use sample::Sample;

/// Idle times remembered (`INTERVALS`).
const INTERVALS: usize = 8;
/// Orders of magnitude of the time to the next timer (`BUCKETS`).
const BUCKETS: usize = 6;
/// Fixed-point one of a correction factor, before `DECAY` (`RESOLUTION`).
const RESOLUTION: u64 = 1024;
/// A new sample weighs 1/8 in a correction factor (`DECAY`).
const DECAY: u64 = 8;
/// From here on an idle time counts as long, whatever it is (`MAX_INTERESTING`).
const MAX_INTERESTING: Nanos = 50 * MSEC;
/// A prediction up to this is believed without asking for the next timer (`RESIDENCY_THRESHOLD_NS`).
const RESIDENCY_THRESHOLD: Nanos = 15 * USEC;

/// One CPU's memory of its idle times (`struct menu_device`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuDevice {
    /// Time to the next timer at the last selection.
    next_timer: Nanos,
    /// How long the CPU was last idle.
    last_residency: Nanos,
    /// Exit latency of the state it was in.
    last_exit: Nanos,
    /// Factor by order of magnitude, `RESOLUTION * DECAY` for 1.
    correction_factor: [u32; BUCKETS],
    /// The last idle times in µs; `u32::MAX` for unknown.
    intervals: [u32; INTERVALS],
    next_interval: u8,
    bucket: u8,
    needs_update: bool,
    tick_wakeup: bool,
}

impl Default for MenuDevice {
    fn default() -> Self {
        Self {
            next_timer: 0,
            last_residency: 0,
            last_exit: 0,
            correction_factor: [(RESOLUTION * DECAY) as u32; BUCKETS],
            intervals: [0; INTERVALS],
            next_interval: 0,
            bucket: 0,
            needs_update: false,
            tick_wakeup: false,
        }
    }
}

fn which_bucket(duration: Nanos) -> u8 {
    match duration / (10 * USEC) {
        0 => 0,
        1..10 => 1,
        10..100 => 2,
        100..1_000 => 3,
        1_000..10_000 => 4,
        _ => 5,
    }
}

impl MenuDevice {
    /// Chooses an idle state (`menu_select`). `states` go from shallow to deep, both times ascending; of an empty or
    /// single-entry list the choice is 0.
    pub fn select(&mut self, states: &[StateTimes], entry: &IdleEntry, release: &Release) -> Selection {
        self.learn(entry.tick);
        if states.len() <= 1 {
            // The idle loop asks no governor then: the tick goes on until it has found the CPU idle once.
            return Selection { state: 0, predicted: entry.next_event(), stop_tick: self.tick_wakeup };
        }
        let (predicted, next_event) = self.predict(entry, release);
        let shallow_only = self.next_timer < states[1].residency || entry.latency_limit < states[1].exit;
        if entry.latency_limit == 0 || shallow_only {
            return Selection { state: 0, predicted, stop_tick: true };
        }
        let (state, predicted) = deepest_fitting(states, predicted, next_event, entry);
        if predicted >= entry.tick || entry.tick_stopped {
            return Selection { state, predicted, stop_tick: true };
        }
        // The tick goes on and will wake the CPU: do not go deeper than that allows.
        let state = (1..=state).rev().find(|&s| states[s].residency <= next_event).unwrap_or(0);
        Selection { state, predicted, stop_tick: false }
    }

    /// The CPU woke after `measured` ns in a state of exit latency `exit`, that latency included; `by_tick` if the
    /// tick woke it (`menu_reflect`).
    #[inline]
    pub fn reflect(&mut self, measured: Nanos, exit: Nanos, by_tick: bool) {
        self.last_residency = measured;
        self.last_exit = exit;
        self.needs_update = true;
        self.tick_wakeup = by_tick;
    }

    /// Takes in what happened since the last selection.
    fn learn(&mut self, tick: Nanos) {
        if self.needs_update {
            self.needs_update = false;
            self.menu_update(tick);
        } else if self.last_residency == 0 {
            self.menu_update_intervals(u32::MAX);
        }
    }

    /// The predicted idle time, and the time to the next event as far as it is known.
    fn predict(&mut self, entry: &IdleEntry, release: &Release) -> (Nanos, Nanos) {
        let typical = self.get_typical_interval(release.typical_interval_both_ends);
        if typical <= RESIDENCY_THRESHOLD && !entry.tick_stopped {
            // Looking for the timer would cost more than it can tell. Assume it is far, and the tick half a period.
            self.next_timer = FAR;
            self.bucket = which_bucket(FAR);
            return (typical, entry.tick / 2);
        }
        self.next_timer = entry.next_timer.unwrap_or(FAR).min(FAR);
        self.bucket = which_bucket(self.next_timer);
        let factor = u64::from(self.correction_factor[usize::from(self.bucket)]);
        let unit = RESOLUTION * DECAY * USEC;
        let timer_us = (unit / 2 + self.next_timer * factor) / unit;
        let predicted = typical.min(timer_us * USEC);
        let soon = release.safe_timer_range && self.next_timer <= 2 * entry.tick;
        if entry.tick_stopped && predicted < entry.tick && !soon {
            // Without a tick nothing corrects a short prediction, so the CPU might stay shallow for long; from 7.1 on unless a
            // timer does soon.
            return (self.next_timer, entry.next_event());
        }
        (predicted, entry.next_event())
    }

    /// The average of the last idle times in ns, outliers left out until they agree; "far" if they never do. Up to 6.14 outliers
    /// are the longest times, later whichever end is farther from the average.
    ///
    /// Idle times agree if their standard deviation is at most 20 µs or less than a sixth of the average. At least three
    /// quarters of them must take part in the latter.
    fn get_typical_interval(&self, both_ends: bool) -> Nanos {
        const NONE: Nanos = u32::MAX as Nanos * USEC;
        let mut sample = Sample::new(self.intervals, if both_ends { u32::MAX } else { i32::MAX as u32 + 1 });
        while let Some((min, max)) = sample.bounds().filter(|(_, max)| *max > 0) {
            let (count, average) = (sample.count(), sample.average());
            let variance = sample.variance(both_ends);
            let most = count * 4 >= INTERVALS as u64 * 3;
            let close = most && variance <= u64::MAX / 36 && average * average > variance * 36;
            if close || variance <= 400 {
                return average * USEC;
            }
            if count * 4 <= INTERVALS as u64 * 3 {
                return NONE;
            }
            if both_ends && average - u64::from(min) > u64::from(max) - average {
                sample.drop_shortest(min);
            } else {
                sample.drop_longest(max);
            }
        }
        NONE
    }

    /// Corrects factor and intervals by what the last idle time turned out to be.
    fn menu_update(&mut self, tick: Nanos) {
        let measured = self.idle_time(tick).min(self.next_timer);
        let factor = &mut self.correction_factor[usize::from(self.bucket)];
        *factor -= *factor / DECAY as u32;
        let interesting = self.next_timer > 0 && measured < MAX_INTERESTING;
        *factor += if interesting { RESOLUTION * measured / self.next_timer } else { RESOLUTION } as u32;
        self.menu_update_intervals(u32::try_from(measured / USEC).unwrap_or(u32::MAX));
    }

    /// How long the CPU was idle until the wakeup began.
    fn idle_time(&self, tick: Nanos) -> Nanos {
        if self.tick_wakeup && self.next_timer > tick {
            // Woken by a tick that should have been stopped: it could have been long.
            return 9 * MAX_INTERESTING / 10;
        }
        if self.last_residency > 2 * self.last_exit {
            self.last_residency - self.last_exit
        } else {
            self.last_residency / 2
        }
    }

    fn menu_update_intervals(&mut self, interval_us: u32) {
        self.intervals[usize::from(self.next_interval)] = interval_us;
        self.next_interval = (self.next_interval + 1) % INTERVALS as u8;
    }
}

/// The deepest state that fits `predicted` and the latency limit, and the prediction that goes with it.
fn deepest_fitting(states: &[StateTimes], predicted: Nanos, next_event: Nanos, entry: &IdleEntry) -> (usize, Nanos) {
    let allowed = 1 + states[1..].iter().take_while(|state| state.exit <= entry.latency_limit).count();
    let fits = |state: &&StateTimes| state.residency <= predicted;
    let fitting = states[..allowed].iter().take_while(fits).count().saturating_sub(1);
    if fitting + 1 == allowed || predicted < entry.tick {
        return (fitting, predicted);
    }
    if !entry.tick_stopped {
        // A longer stay was predicted than this state is made for: keep the tick, it lets the governor try again.
        return (fitting, states[fitting].residency);
    }
    let next = &states[fitting + 1];
    let reaches = states[fitting].residency < entry.tick && next.residency <= next_event;
    (if reaches { fitting + 1 } else { fitting }, predicted)
}

#[cfg(test)]
mod tests;
