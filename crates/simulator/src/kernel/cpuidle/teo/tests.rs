// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::units::{MSEC, SEC, USEC};
use proptest::prelude::*;

const TICK: Nanos = 4 * MSEC;
/// WFI, core off, cluster off, as on the HiKey960.
const STATES: [StateTimes; 3] = [
    StateTimes { exit: USEC, residency: USEC },
    StateTimes { exit: 300 * USEC, residency: 2 * MSEC },
    StateTimes { exit: 1_600 * USEC, residency: 3_500 * USEC },
];

fn idle(next_timer: Option<Nanos>) -> IdleEntry {
    IdleEntry { next_timer, next_tick: TICK, tick: TICK, tick_stopped: false, latency_limit: Nanos::MAX }
}

/// A CPU that has gone idle `times` times for `length`, its next timer at `next_timer`.
fn habit(times: usize, length: Nanos, next_timer: Option<Nanos>) -> TeoDevice {
    let mut teo = TeoDevice::new(STATES.len());
    for _ in 0..times {
        let selection = teo.select(&STATES, &idle(next_timer));
        teo.reflect(selection.state, length, false);
    }
    teo
}

#[test]
fn a_new_cpu_believes_its_timer() {
    let choice = |timer| TeoDevice::new(3).select(&STATES, &idle(timer));
    assert_eq!(choice(Some(SEC)), Selection { state: 2, predicted: SEC, stop_tick: true });
    // 3 ms are enough for the second state, but not for a tick without work.
    assert_eq!(choice(Some(3 * MSEC)), Selection { state: 1, predicted: 3 * MSEC, stop_tick: false });
    assert!(choice(None).stop_tick);
}

#[test]
fn a_wakeup_by_the_timer_is_a_hit() {
    // 2.5 ms expected, 2.5 ms slept: a hit of the second state; the bins decay by an eighth each time.
    let mut teo = habit(1, 2_500 * USEC, Some(2_500 * USEC));
    teo.select(&STATES, &idle(Some(2_500 * USEC)));
    assert_eq!((teo.bins[1], teo.total), (Bin { hits: 1024, intercepts: 0 }, 1024));
    teo.reflect(1, 2_500 * USEC, false);
    teo.select(&STATES, &idle(None));
    assert_eq!((teo.bins[1], teo.total), (Bin { hits: 896 + 1024, intercepts: 0 }, 1920));
}

#[test]
fn early_wakeups_are_intercepts_and_make_the_choice_shallow() {
    // A second expected, 1 ms slept, again and again: intercepts of the first state, which soon outweigh everything.
    let mut teo = habit(20, MSEC, Some(SEC));
    assert!(teo.bins[0].intercepts > 4 * PULSE, "{teo:?}");
    assert_eq!(teo.select(&STATES, &idle(Some(SEC))).state, 0);
    // 2.5 ms slept in the second state, less half of its 300 us exit: 2.35 ms, still its bin.
    assert_eq!(habit(20, 2_500 * USEC, Some(SEC)).select(&STATES, &idle(Some(SEC))).state, 1);
}

#[test]
fn many_intercepts_keep_the_tick() {
    // 2.5 ms of a second, mostly: the second state, whose residency is below a tick, and the tick goes on to wake it.
    assert!(!habit(20, 2_500 * USEC, Some(SEC)).select(&STATES, &idle(Some(SEC))).stop_tick);
}

#[test]
fn a_cpu_forgets_its_habit() {
    let mut teo = habit(20, MSEC, Some(SEC));
    for _ in 0..12 {
        let selection = teo.select(&STATES, &idle(Some(10 * MSEC)));
        teo.reflect(selection.state, 10 * MSEC, false);
    }
    assert_eq!(teo.select(&STATES, &idle(Some(10 * MSEC))).state, 2);
}

#[test]
fn a_latency_limit_bounds_the_depth() {
    let limited = |limit| {
        let entry = IdleEntry { latency_limit: limit, ..idle(Some(SEC)) };
        TeoDevice::new(3).select(&STATES, &entry).state
    };
    assert_eq!((limited(Nanos::MAX), limited(300 * USEC), limited(0)), (2, 1, 0));
}

proptest! {
    #[test]
    fn whatever_happened_the_choice_is_a_state_that_the_timer_lets_pay(
        pauses in proptest::collection::vec((1u64..40_000, 1u64..50_000, any::<bool>(), any::<bool>()), 1..60),
    ) {
        let mut teo = TeoDevice::new(STATES.len());
        for (slept, timer, by_tick, tick_stopped) in pauses {
            let entry = IdleEntry { tick_stopped, ..idle(Some(timer * USEC)) };
            let selection = teo.select(&STATES, &entry);
            prop_assert!(selection.state < STATES.len());
            prop_assert!(selection.state == 0 || STATES[selection.state].residency <= timer * USEC);
            let sum: u32 = teo.bins.iter().map(|bin| bin.hits + bin.intercepts).sum::<u32>() + teo.tick_hits;
            prop_assert!(teo.total <= sum + PULSE && sum <= teo.total, "{teo:?}");
            teo.reflect(selection.state, slept * USEC, by_tick);
        }
    }
}
