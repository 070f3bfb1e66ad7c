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

/// λ of a domain with `bandwidth` bytes per nanosecond and growth `contention`, for threads that a narrower path slows
/// by their own λ already (1 where there is none).
pub fn solve(threads: &[(Pace, f64)], bandwidth: f64, contention: f64) -> f64 {
    let saturated = 1.0 + contention;
    if traffic(threads, saturated).0 > bandwidth {
        // The traffic falls convexly, so Newton's method approaches from below.
        let excess = |lambda: f64| {
            let (bytes, slope) = traffic(threads, lambda);
            (bytes - bandwidth, slope)
        };
        return root(saturated, || upper_bound(threads, bandwidth, saturated), excess);
    }
    let wanted = |lambda: f64| {
        let (bytes, slope) = traffic(threads, lambda);
        let used = bytes / bandwidth;
        if used >= 1.0 {
            return (saturated - lambda, -1.0);
        }
        (1.0 + contention * used * used - lambda, 2.0 * contention * used * slope / bandwidth - 1.0)
    };
    if contention == 0.0 || wanted(1.0).0 <= 0.0 {
        return 1.0;
    }
    root(1.0, || saturated, wanted)
}

/// Bytes per nanosecond that all threads move under `lambda`, and how that changes with it.
fn traffic(threads: &[(Pace, f64)], lambda: f64) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for (pace, own) in threads {
        let time = pace.time(lambda.max(*own));
        let bytes = pace.bytes / time;
        sum.0 += bytes;
        if lambda >= *own {
            sum.1 -= bytes * pace.stretch / time;
        }
    }
    sum
}

/// A λ at which the traffic surely fits: each thread's traffic is below `bytes / (stretch·(λ−1))`, or it is slowed
/// enough already.
fn upper_bound(threads: &[(Pace, f64)], bandwidth: f64, least: f64) -> f64 {
    let movers = threads.iter().filter(|(pace, _)| pace.bytes > 0.0);
    let sum: f64 = movers.map(|(pace, _)| pace.bytes / pace.stretch).sum();
    least.max(1.0 + sum / bandwidth)
}

/// Where a falling function with value and slope `f`, positive at `low`, reaches zero: by Newton's method, and by
/// bisection up to `high` should that fail (a thread slowed elsewhere puts a kink into the function).
fn root(low: f64, high: impl Fn() -> f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut lambda = low;
    for _ in 0..MAX_STEPS {
        let (value, slope) = f(lambda);
        let next = (lambda - value / slope).max(low);
        if !next.is_finite() {
            break;
        }
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

    #[test]
    fn two_streams_on_a_bus_for_one_take_twice_as_long() {
        let lambda = solve(&[(stream(10.0), 1.0), (stream(10.0), 1.0)], 10.0, 0.0);
        assert!((stream(10.0).time(lambda) - 2.0).abs() < 1e-6, "{lambda}");
    }

    #[test]
    fn below_saturation_the_factor_follows_the_utilisation() {
        // U = 0.5 at λ = 1 and falls as λ grows: λ = 1 + 0.4·(0.5/λ)² has its root near 1.085.
        let lambda = solve(&[(stream(5.0), 1.0)], 10.0, 0.4);
        assert!((lambda - (1.0 + 0.4 * (0.5 / lambda).powi(2))).abs() < 1e-6, "{lambda}");
        assert!((lambda - 1.085).abs() < 0.001, "{lambda}");
    }

    #[test]
    fn nobody_who_moves_nothing_contends() {
        assert_eq!(solve(&[(stream(0.0), 1.0)], 10.0, 0.5), 1.0);
    }

    #[test]
    fn who_is_held_back_elsewhere_leaves_bandwidth_to_others() {
        // The first moves 10/5 = 2 at its own λ; the second wants 6 of the 10: no contention here.
        assert_eq!(solve(&[(stream(10.0), 5.0), (stream(6.0), 1.0)], 10.0, 0.0), 1.0);
    }

    proptest! {
        /// Traffic never exceeds the bandwidth, and a further thread never makes others faster.
        #[test]
        fn bandwidth_is_never_exceeded(
            threads in prop::collection::vec((0.1f64..5.0, 0.01f64..5.0, 0.0f64..20.0), 1..12),
            bandwidth in 0.5f64..50.0,
            contention in 0.0f64..2.0,
        ) {
            let pace = |(base, stretch, bytes): &(f64, f64, f64)| {
                (Pace { base: base + stretch, clock: *base, stretch: *stretch, bytes: *bytes }, 1.0)
            };
            let paces: Vec<(Pace, f64)> = threads.iter().map(pace).collect();
            let lambda = solve(&paces, bandwidth, contention);
            let traffic: f64 = paces.iter().map(|(pace, _)| pace.bytes / pace.time(lambda)).sum();
            prop_assert!(lambda >= 1.0 && traffic <= bandwidth * (1.0 + 1e-6));
            let fewer = solve(&paces[1..], bandwidth, contention);
            prop_assert!(fewer <= lambda * (1.0 + 1e-6));
        }
    }
}
