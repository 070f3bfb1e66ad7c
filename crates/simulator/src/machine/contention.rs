// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory contention: the factor λ by which running threads slow each other's memory accesses down.
//!
//! A domain has one latency for all, `L = 1 + c·U²` with `U` its utilisation, which itself falls as `L` slows the threads;
//! where the demand exceeds the bandwidth even so, `L` is what makes it fit (`U = 1`). A thread's own speed was measured
//! alone, with its own traffic in: it is slowed by `λ = L / L_alone`, what the domain takes now over what it takes with this
//! thread only.

use super::speed::Pace;

/// Relative accuracy of the latency.
const ACCURACY: f64 = 1e-9;
/// Steps after which the search gives up on being accurate; from a good start it needs three to five.
const MAX_STEPS: u32 = 100;

/// Threads that go at the same pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Pace of each of the threads.
    pub pace: Pace,
    /// The λ that a narrower path slows them by already; 1 where there is none.
    pub own: f64,
    /// How many they are.
    pub threads: u32,
    /// Share of their waiting that this path causes; 1 where all of their memory is behind it.
    pub share: f64,
    /// What is added to their λ elsewhere, for the rest of their memory: mean of λ there times its share; 0 where there is none.
    pub rest: f64,
}

/// What a memory domain carries, and how its latency grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Bytes per nanosecond.
    pub bandwidth: f64,
    /// What full use adds to the latency of an idle path.
    pub contention: f64,
}

impl Path {
    /// The latency, in that of an idle path, under traffic of so many bytes per nanosecond that fits.
    fn latency(&self, bytes: f64) -> f64 {
        let used = (bytes / self.bandwidth).min(1.0);
        1.0 + self.contention * used * used
    }

    /// The latency that a thread of this pace meets when it is alone.
    #[inline]
    fn alone(&self, pace: &Pace) -> f64 {
        if pace.bytes > 0.0 { self.latency(pace.bytes / pace.base) } else { 1.0 }
    }

    /// The factor by which a `latency` slows the accesses of a thread of this pace down; 1 for a thread that is alone.
    #[inline]
    pub fn lambda(&self, latency: f64, pace: &Pace) -> f64 {
        (latency / self.alone(pace)).max(1.0)
    }

    /// The latency with these threads. `guess` is where to look first: that of a similar situation, or 1.
    pub fn solve(&self, flows: &[Flow], guess: f64) -> f64 {
        let saturated = 1.0 + self.contention;
        if self.traffic(flows, saturated).0 > self.bandwidth {
            let excess = |latency: f64| {
                let (bytes, slope) = self.traffic(flows, latency);
                (bytes - self.bandwidth, slope)
            };
            return root((saturated, guess, self.upper_bound(flows)), excess);
        }
        let wanted = |latency: f64| {
            let (bytes, slope) = self.traffic(flows, latency);
            let used = bytes / self.bandwidth;
            if used >= 1.0 {
                return (saturated - latency, -1.0);
            }
            (self.latency(bytes) - latency, 2.0 * self.contention * used * slope / self.bandwidth - 1.0)
        };
        root((1.0, 1.0, saturated), wanted)
    }

    /// Bytes per nanosecond that all threads move under `latency`, and how that changes with it.
    fn traffic(&self, flows: &[Flow], latency: f64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for flow in flows.iter().filter(|flow| flow.pace.bytes > 0.0) {
            let alone = self.alone(&flow.pace);
            let lambda = latency / alone;
            let time = flow.pace.time(flow.rest + flow.share * lambda.max(flow.own));
            let bytes = f64::from(flow.threads) * flow.pace.bytes / time;
            sum.0 += bytes;
            if lambda >= flow.own {
                sum.1 -= flow.share * bytes * flow.pace.slope(flow.rest + flow.share * lambda) / (time * alone);
            }
        }
        sum
    }

    /// A latency at which the traffic surely fits: each thread's traffic is below `bytes / (stretch·share·(λ−1))`, and no
    /// thread alone meets more than full use.
    fn upper_bound(&self, flows: &[Flow]) -> f64 {
        let movers = flows.iter().filter(|flow| flow.pace.bytes > 0.0);
        let sum: f64 =
            movers.map(|flow| f64::from(flow.threads) * flow.pace.bytes / (flow.pace.stretch * flow.share)).sum();
        (1.0 + self.contention) * (1.0 + sum / self.bandwidth)
    }
}

/// Where a falling function with value and slope `f`, positive at `low` (or zero there) and not at `high`, reaches zero: by
/// Newton's method from `guess`, and by halving where that leads astray (a thread that is slowed elsewhere or not at all puts
/// a kink into the function).
fn root((mut low, guess, mut high): (f64, f64, f64), f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut at = guess.clamp(low, high);
    for _ in 0..MAX_STEPS {
        let (value, slope) = f(at);
        // What is behind is known: the root lies on the other side.
        if value > 0.0 {
            low = at
        } else {
            high = at
        }
        let mut next = if slope < 0.0 { at - value / slope } else { f64::NAN };
        if (next - at).abs() <= ACCURACY * at {
            return next.clamp(low, high);
        }
        // Not a number, or behind.
        if !(low..=high).contains(&next) {
            next = 0.5 * (low + high);
        }
        if high - low <= ACCURACY * high {
            return high;
        }
        at = next;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(bytes: f64) -> Pace {
        Pace { base: 1.0, miss: 1.0, stretch: 1.0, bytes, ..Pace::default() }
    }

    fn flow(pace: Pace, own: f64, threads: u32) -> Flow {
        Flow { pace, own, threads, share: 1.0, rest: 0.0 }
    }

    fn solve(flows: &[Flow], bandwidth: f64, contention: f64, guess: f64) -> f64 {
        Path { bandwidth, contention }.solve(flows, guess)
    }

    #[test]
    fn two_streams_on_a_bus_for_one_take_twice_as_long() {
        let lambda = solve(&[flow(stream(10.0), 1.0, 2)], 10.0, 0.0, 1.0);
        assert!((stream(10.0).time(lambda) - 2.0).abs() < 1e-6, "{lambda}");
    }

    #[test]
    fn who_is_alone_is_not_slowed() {
        let path = Path { bandwidth: 10.0, contention: 0.4 };
        for bytes in [0.0, 3.0, 5.0, 10.0] {
            let latency = path.solve(&[flow(stream(bytes), 1.0, 1)], 1.0);
            assert!((latency - (1.0 + 0.4 * (bytes / 10.0).powi(2))).abs() < 1e-9, "{bytes}: {latency}");
            assert_eq!(path.lambda(latency, &stream(bytes)), 1.0);
        }
    }

    #[test]
    fn who_asks_for_more_than_there_is_gets_what_there_is() {
        let path = Path { bandwidth: 10.0, contention: 0.4 };
        let latency = path.solve(&[flow(stream(15.0), 1.0, 1)], 1.0);
        assert!((path.lambda(latency, &stream(15.0)) - 1.5).abs() < 1e-6, "{latency}");
    }

    #[test]
    fn below_saturation_the_latency_follows_the_utilisation() {
        // Two that alone use 0.4 and meet 1.064: together they use 0.8 / λ with λ = L / 1.064 and L = 1 + 0.4·(0.8 / λ)².
        // 0.8 / 1.12871 = 0.70877, so L = 1.20094, which is 1.12871 · 1.064.
        let path = Path { bandwidth: 10.0, contention: 0.4 };
        let latency = path.solve(&[flow(stream(4.0), 1.0, 2)], 1.0);
        let lambda = path.lambda(latency, &stream(4.0));
        assert!((lambda - latency / 1.064).abs() < 1e-9, "{lambda}");
        assert!((latency - (1.0 + 0.4 * (0.8 / lambda).powi(2))).abs() < 1e-6, "{latency}");
        assert!((lambda - 1.12871).abs() < 1e-5, "{lambda}");
    }

    #[test]
    fn who_hardly_uses_memory_meets_the_latency_that_others_cause() {
        // Another thread fills half of the bus: 1 + 0.4·0.25 for one that moves next to nothing, 1 for the one that fills it.
        let path = Path { bandwidth: 10.0, contention: 0.4 };
        let latency = path.solve(&[flow(stream(5.0), 1.0, 1), flow(stream(0.0), 1.0, 3)], 1.0);
        assert!((path.lambda(latency, &stream(0.0)) - 1.1).abs() < 1e-9, "{latency}");
        assert_eq!(path.lambda(latency, &stream(5.0)), 1.0);
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
        // Two that move 10/2 = 5 each at their own λ; 4 fit, so that λ = 20/4, from wherever the search begins. Alone each
        // would fill the path and meet 1.5.
        for guess in [1.0, 3.0, 7.0] {
            let latency = solve(&[flow(stream(10.0), 2.0, 2)], 4.0, 0.5, guess);
            assert!((latency - 5.0 * 1.5).abs() < 1e-6, "{guess}: {latency}");
        }
    }

    proptest! {
        /// Traffic never exceeds the bandwidth, a further thread never makes others faster, and a single one is slowed by
        /// what does not fit only.
        #[test]
        fn bandwidth_is_never_exceeded(
            threads in prop::collection::vec((0.1f64..5.0, 0.01f64..5.0, 0.0f64..20.0), 1..12),
            bandwidth in 0.5f64..50.0,
            contention in 0.0f64..2.0,
            overlap in prop_oneof![Just(1.0), 1.0f64..8.0],
        ) {
            // As of a machine: whose bytes do not fit waits for them.
            let flow_of = |(clock, miss, bytes): &(f64, f64, f64)| {
                let stretch = miss.max(bytes / bandwidth);
                let (clock, miss, bytes) = (*clock, *miss, *bytes);
                let pace = Pace { clock, core: clock, miss, stretch, bytes, overlap, ..Pace::default() };
                flow(Pace { base: pace.joined(miss), ..pace }, 1.0, 1)
            };
            let flows: Vec<Flow> = threads.iter().map(flow_of).collect();
            let path = Path { bandwidth, contention };
            let latency = path.solve(&flows, 1.0);
            let moved = |flow: &Flow| flow.pace.bytes / flow.pace.time(path.lambda(latency, &flow.pace));
            let traffic: f64 = flows.iter().map(moved).sum();
            prop_assert!(latency >= 1.0 && traffic <= bandwidth * (1.0 + 1e-6));
            let guessed = path.solve(&flows, 7.0);
            prop_assert!((guessed - latency).abs() <= 1e-6 * latency, "{guessed} {latency}");
            let fewer = path.solve(&flows[1..], 1.0);
            prop_assert!(fewer <= latency * (1.0 + 1e-6));
            let alone = path.lambda(path.solve(&flows[..1], 1.0), &flows[0].pace);
            let fits = flows[0].pace.bytes / flows[0].pace.base <= bandwidth;
            prop_assert_eq!(alone == 1.0, fits, "{}", alone);
        }
    }
}
