// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers here can be checked in the head: clocks of 500, 1000, 1500 and 2000 MHz, a tick of 4 ms.
use super::*;
use crate::machine::PerformanceDomain;
use crate::units::CpuId;

mod names;
mod pstate;
mod sampling;
mod schedutil;

const TICK: Nanos = 4 * MSEC;

fn domain(mhz: &[u32]) -> PerformanceDomain {
    let khz: Vec<u32> = mhz.iter().map(|mhz| mhz * 1_000).collect();
    PerformanceDomain { transition_latency: 300 * USEC, ..PerformanceDomain::for_tests(CpuId(0), &khz) }
}

fn policy() -> Policy {
    Policy::new(&domain(&[500, 1000, 1500, 2000]))
}

fn policy_within(min_opp: usize, max_opp: usize) -> Policy {
    Policy::new(&PerformanceDomain { min_opp, max_opp, ..domain(&[500, 1000, 1500, 2000]) })
}

fn policy_at(opp: usize) -> Policy {
    let mut policy = policy();
    policy.set_current(opp);
    policy
}

fn parse(written: &str) -> Governor {
    written.parse().unwrap()
}

#[test]
fn a_clock_between_operating_points_is_rounded_as_asked() {
    let policy = policy();
    let resolve = |mhz: u32| [Relation::Low, Relation::High, Relation::Closest].map(|r| policy.resolve(mhz * 1000, r));
    assert_eq!(resolve(1000), [1, 1, 1]);
    assert_eq!(resolve(1100), [2, 1, 1]);
    assert_eq!(resolve(1400), [2, 1, 2]);
    assert_eq!(resolve(1250), [2, 1, 1], "the lower one of two");
    assert_eq!(resolve(0), [0, 0, 0]);
    assert_eq!(resolve(9999), [3, 3, 3]);
}

#[test]
fn limits_bound_every_request() {
    let policy = policy_within(1, 2);
    assert_eq!(policy.resolve(0, Relation::High), 1);
    assert_eq!(policy.resolve(u32::MAX, Relation::Low), 2);
    assert_eq!((policy.min_khz(), policy.max_khz()), (1_000_000, 1_500_000));
}

#[test]
fn a_request_for_the_present_clock_is_none() {
    assert_eq!(policy_at(2).driver_target(1_500_000, Relation::Low), None);
    assert_eq!(policy_at(2).driver_target(1_600_000, Relation::Low), Some(3));
}

#[test]
fn the_transition_delay_is_one_and_a_half_latencies() {
    assert_eq!(policy().transition_delay(), 450 * USEC);
    let instant = PerformanceDomain { transition_latency: 999, ..domain(&[500]) };
    assert_eq!(Policy::new(&instant).transition_delay(), MSEC);
}

#[test]
fn fixed_governors_know_their_clock() {
    let target = |governor: &str| parse(governor).fixed_target(&policy());
    assert_eq!(target("performance"), Some(3));
    assert_eq!(target("powersave"), Some(0));
    assert_eq!(target("userspace"), Some(3));
    assert_eq!(target("userspace=1400MHz"), Some(2));
    assert_eq!(target("schedutil"), None);
}

#[test]
fn fixed_governors_follow_the_limits() {
    assert_eq!(parse("performance").fixed_target(&policy_within(0, 1)), Some(1));
    assert_eq!(parse("powersave").fixed_target(&policy_within(2, 3)), Some(2));
    assert_eq!(parse("userspace=2GHz").fixed_target(&policy_within(0, 2)), Some(2));
}

#[test]
fn the_sampling_period_is_at_least_two_ticks() {
    let period = |governor: &str, policy: &Policy| parse(governor).sampling_period(policy, TICK);
    assert_eq!(period("ondemand", &policy()), Some(8 * MSEC));
    let slow = Policy::new(&PerformanceDomain { transition_latency: 10 * MSEC, ..domain(&[500]) });
    assert_eq!(period("conservative", &slow), Some(15 * MSEC));
    assert_eq!(period("ondemand=10ms", &slow), Some(10 * MSEC));
    assert_eq!(period("schedutil", &slow), None);
}

#[test]
fn governors_that_look_at_load_listen() {
    assert!(parse("schedutil").listens() && parse("ondemand").listens());
    assert!(!parse("userspace").listens());
}
