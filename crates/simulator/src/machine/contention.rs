// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory contention: the factor λ by which running threads slow each other's memory accesses down.
//!
//! λ is the fixed point of `λ = 1 + c·U²` with `U` the domain's utilisation, which itself falls as λ slows the threads;
//! where the demand exceeds the bandwidth even so, λ is what makes it fit (`U = 1`). All threads of a domain see the same
//! λ, so they share bandwidth in proportion to what they ask for.

use super::speed::Pace;

/// Relative accuracy of λ.
const ACCURACY: f64 = 1e-9;
/// Steps after which Newton's method gives way to bisection; from a good start it needs three to five.
const MAX_STEPS: u32 = 40;

/// Threads that go at the same pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Their pace.
    pub pace: Pace,
    /// The λ that a narrower path slows them by already; 1 where there is none.
    pub own: f64,
    /// How many they are.
    pub threads: u32,
}

/// λ of a domain with `bandwidth` bytes per nanosecond and growth `contention`, for these threads. `guess` is where to
/// look first: the λ of a similar situation, or 1.
pub fn solve(flows: &[Flow], bandwidth: f64, contention: f64, guess: f64) -> f64 {
    let saturated = 1.0 + contention;
    if traffic(flows, saturated).0 > bandwidth {
        // The traffic falls convexly, so Newton's method approaches from below.
        let excess = |lambda: f64| {
            let (bytes, slope) = traffic(flows, lambda);
            (bytes - bandwidth, slope)
        };
        return root((saturated, guess), || upper_bound(flows, bandwidth, saturated), excess);
    }
    let wanted = |lambda: f64| {
        let (bytes, slope) = traffic(flows, lambda);
        let used = bytes / bandwidth;
        if used >= 1.0 {
            return (saturated - lambda, -1.0);
        }
        (1.0 + contention * used * used - lambda, 2.0 * contention * used * slope / bandwidth - 1.0)
    };
    if contention == 0.0 || wanted(1.0).0 <= 0.0 {
        return 1.0;
    }
    root((1.0, 1.0), || saturated, wanted)
}

/// Bytes per nanosecond that all threads move under `lambda`, and how that changes with it.
fn traffic(flows: &[Flow], lambda: f64) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for flow in flows {
        let time = flow.pace.time(lambda.max(flow.own));
        let bytes = f64::from(flow.threads) * flow.pace.bytes / time;
        sum.0 += bytes;
        if lambda >= flow.own {
            sum.1 -= bytes * flow.pace.stretch / time;
        }
    }
    sum
}

/// A λ at which the traffic surely fits: each thread's traffic is below `bytes / (stretch·(λ−1))`, or it is slowed
/// enough already.
fn upper_bound(flows: &[Flow], bandwidth: f64, least: f64) -> f64 {
    let movers = flows.iter().filter(|flow| flow.pace.bytes > 0.0);
    let sum: f64 = movers.map(|flow| f64::from(flow.threads) * flow.pace.bytes / flow.pace.stretch).sum();
    least.max(1.0 + sum / bandwidth)
}

/// Where a falling function with value and slope `f`, positive at `low`, reaches zero: by Newton's method from `guess`,
/// and by bisection up to `high` should that fail (a thread slowed elsewhere puts a kink into the function).
fn root((low, guess): (f64, f64), high: impl Fn() -> f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut lambda = guess.max(low);
    for _ in 0..MAX_STEPS {
        let (value, slope) = f(lambda);
        // Level where all are slowed more elsewhere: nothing says how far away the root is.
        if slope >= 0.0 {
            break;
        }
        let next = (lambda - value / slope).max(low);
        if (next - lambda).abs() <= ACCURACY * lambda {
            return next;
        }
        lambda = next;
    }
    bisect(low, high(), |lambda| f(lambda).0 > 0.0)
}

/// The λ between `low` and `high` where `too_low` turns false.
fn bisect(mut low: f64, mut high: f64, too_low: impl Fn(f64) -> bool) -> f64 {
    while high - low > ACCURACY * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if too_low(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(bytes: f64) -> Pace {
        Pace { base: 1.0, clock: 0.0, stretch: 1.0, bytes }
    }

    fn flow(pace: Pace, own: f64, threads: u32) -> Flow {
        Flow { pace, own, threads }
    }

    #[test]
    fn two_streams_on_a_bus_for_one_take_twice_as_long() {
        let lambda = solve(&[flow(stream(10.0), 1.0, 2)], 10.0, 0.0, 1.0);
        assert!((stream(10.0).time(lambda) - 2.0).abs() < 1e-6, "{lambda}");
    }

    #[test]
    fn below_saturation_the_factor_follows_the_utilisation() {
        // U = 0.5 at λ = 1 and falls as λ grows: λ = 1 + 0.4·(0.5/λ)² has its root near 1.085.
        let lambda = solve(&[flow(stream(5.0), 1.0, 1)], 10.0, 0.4, 1.0);
        assert!((lambda - (1.0 + 0.4 * (0.5 / lambda).powi(2))).abs() < 1e-6, "{lambda}");
        assert!((lambda - 1.085).abs() < 0.001, "{lambda}");
    }

    #[test]
    fn nobody_who_moves_nothing_contends() {
        assert_eq!(solve(&[flow(stream(0.0), 1.0, 1)], 10.0, 0.5, 1.0), 1.0);
    }

    #[test]
    fn who_is_held_back_elsewhere_leaves_bandwidth_to_others() {
        // The first moves 10/5 = 2 at its own λ; the second wants 6 of the 10: no contention here.
        assert_eq!(solve(&[flow(stream(10.0), 5.0, 1), flow(stream(6.0), 1.0, 1)], 10.0, 0.0, 1.0), 1.0);
    }

    #[test]
    fn who_is_held_back_elsewhere_is_held_back_further_where_that_is_too_much() {
        // Two that move 10/2 = 5 each at their own λ; 4 fit, so that λ = 20/4, from wherever the search begins.
        for guess in [1.0, 3.0, 7.0] {
            let lambda = solve(&[flow(stream(10.0), 2.0, 2)], 4.0, 0.5, guess);
            assert!((lambda - 5.0).abs() < 1e-6, "{guess}: {lambda}");
        }
    }

    proptest! {
        /// Traffic never exceeds the bandwidth, and a further thread never makes others faster.
        #[test]
        fn bandwidth_is_never_exceeded(
            threads in prop::collection::vec((0.1f64..5.0, 0.01f64..5.0, 0.0f64..20.0), 1..12),
            bandwidth in 0.5f64..50.0,
            contention in 0.0f64..2.0,
        ) {
            let flow_of = |(base, stretch, bytes): &(f64, f64, f64)| {
                flow(Pace { base: base + stretch, clock: *base, stretch: *stretch, bytes: *bytes }, 1.0, 1)
            };
            let flows: Vec<Flow> = threads.iter().map(flow_of).collect();
            let lambda = solve(&flows, bandwidth, contention, 1.0);
            let traffic: f64 = flows.iter().map(|flow| flow.pace.bytes / flow.pace.time(lambda)).sum();
            prop_assert!(lambda >= 1.0 && traffic <= bandwidth * (1.0 + 1e-6));
            let guessed = solve(&flows, bandwidth, contention, 7.0);
            prop_assert!((guessed - lambda).abs() <= 1e-6 * lambda, "{guessed} {lambda}");
            let fewer = solve(&flows[1..], bandwidth, contention, 1.0);
            prop_assert!(fewer <= lambda * (1.0 + 1e-6));
        }
    }
}
