// SPDX-License-Identifier: MIT OR Apache-2.0
//! A histogram of times: every one is counted, none is sampled.
//!
//! It is log-linear: each power of two is cut into 64 equal buckets, so a quantile is never below the true one, and above
//! it by at most 1/64 of it. Times below 128 ns and the largest are exact. The HdrHistogram crate counts alike, but keeps
//! the whole range from the smallest unit on, of which a thread uses some octaves: 22 KiB a thread at an error of 1/128.
//! Here memory goes to what lies between the smallest and the largest time seen.

use crate::metrics::Latency;
use crate::observer::TimesUpTo;
use crate::units::Nanos;

/// Linear steps per power of two, and the power of two that they are.
const STEPS: u64 = 1 << STEP_BITS;
const STEP_BITS: u64 = 6;

/// Times gathered before the histogram is touched: its memory is far away, and this is the hot path.
const GATHERED: usize = 15;

/// Times of one kind. Most of a million threads have none yet: only who has takes memory for them.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    histogram: Option<Box<Histogram>>,
}

/// A log-linear histogram.
#[derive(Debug, Clone, Default)]
struct Histogram {
    gathered: [u32; GATHERED],
    pending: u32,
    /// Bucket of the first count.
    first: usize,
    counts: Vec<u32>,
    total: u64,
    max: Nanos,
}

impl Latencies {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, latency: Nanos) {
        self.histogram.get_or_insert_default().add(latency);
    }

    /// Adds all times that `other` has.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.histogram, &other.histogram) {
            (_, None) => {}
            (Some(histogram), Some(other)) => histogram.merge(other),
            (none, Some(other)) => *none = Some(other.clone()),
        }
    }

    /// Quantiles and the maximum; `None` if nothing was added.
    pub fn summary(&mut self) -> Option<Latency> {
        self.histogram.as_mut()?.summary()
    }

    /// The whole histogram, shortest times first; empty buckets are left out.
    pub fn steps(&mut self) -> Vec<TimesUpTo> {
        let Some(histogram) = &mut self.histogram else { return Vec::new() };
        histogram.sort_in();
        let (first, max) = (histogram.first, histogram.max);
        let step = |(index, count): (usize, &u32)| TimesUpTo { most: upper_end(first + index).min(max), count: *count };
        histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(step).collect()
    }
}

impl Histogram {
    #[inline]
    fn add(&mut self, latency: Nanos) {
        let Ok(short) = u32::try_from(latency) else {
            // Four seconds and more are rare.
            self.count(latency, 1);
            return;
        };
        self.gathered[self.pending as usize] = short;
        self.pending += 1;
        if self.pending as usize == GATHERED {
            self.sort_in();
        }
    }

    /// Takes what was gathered into the histogram.
    #[cold]
    fn sort_in(&mut self) {
        for index in 0..std::mem::take(&mut self.pending) as usize {
            self.count(Nanos::from(self.gathered[index]), 1);
        }
    }

    fn count(&mut self, latency: Nanos, times: u32) {
        let bucket = bucket_of(latency);
        let known = bucket.wrapping_sub(self.first);
        let known = if known < self.counts.len() { known } else { self.reach(bucket) };
        self.counts[known] = self.counts[known].saturating_add(times);
        self.total += u64::from(times);
        self.max = self.max.max(latency);
    }

    /// The index of the count of `bucket`, for which there is room from now on.
    #[cold]
    fn reach(&mut self, bucket: usize) -> usize {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - bucket));
            self.first = bucket;
        }
        let index = bucket - self.first;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        index
    }

    fn merge(&mut self, other: &Self) {
        for gathered in &other.gathered[..other.pending as usize] {
            self.count(Nanos::from(*gathered), 1);
        }
        for (index, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.count(upper_end(other.first + index).min(other.max), *count);
        }
    }

    fn summary(&mut self) -> Option<Latency> {
        if self.total == 0 {
            return self.summary_of_gathered();
        }
        self.sort_in();
        (self.total > 0).then(|| Latency {
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max,
        })
    }

    /// The summary of what was gathered, if that is all: of a few times no histogram needs to be made.
    fn summary_of_gathered(&mut self) -> Option<Latency> {
        let times = &mut self.gathered[..self.pending as usize];
        times.sort_unstable();
        let max = Nanos::from(*times.last()?);
        let quantile = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            upper_end(bucket_of(Nanos::from(times[rank - 1]))).min(max)
        };
        Some(Latency { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99), max })
    }

    /// The upper end of the bucket that holds the quantile.
    fn quantile(&self, share: f64) -> Nanos {
        let rank = (share * self.total as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return upper_end(self.first + index).min(self.max);
            }
        }
        self.max
    }
}

fn bucket_of(latency: Nanos) -> usize {
    if latency < STEPS {
        return latency as usize;
    }
    let exponent = u64::from(latency.ilog2());
    let step = (latency >> (exponent - STEP_BITS)) - STEPS;
    ((exponent - STEP_BITS + 1) * STEPS + step) as usize
}

fn upper_end(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (exponent, step) = (bucket / STEPS + STEP_BITS - 1, bucket % STEPS);
    ((STEPS + step + 1) << (exponent - STEP_BITS)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(latencies: impl IntoIterator<Item = Nanos>) -> Latencies {
        let mut histogram = Latencies::default();
        latencies.into_iter().for_each(|latency| histogram.add(latency));
        histogram
    }

    #[test]
    fn quantiles_of_a_hundred() {
        assert_eq!(Latencies::default().summary(), None);
        let summary = of((1..=100).map(|latency| latency * 1000)).summary().unwrap();
        let near = |value: Nanos, exact: Nanos| (exact..=exact + exact / 64).contains(&value);
        assert!(near(summary.p50, 50_000) && near(summary.p95, 95_000) && near(summary.p99, 99_000), "{summary:?}");
        assert_eq!(summary.max, 100_000);
    }

    #[test]
    fn short_times_are_exact() {
        let summary = of(1..=100).summary().unwrap();
        assert_eq!((summary.p50, summary.p95, summary.p99, summary.max), (50, 95, 99, 100));
    }

    #[test]
    fn the_steps_are_all_times_and_the_last_one_is_the_longest() {
        assert_eq!(Latencies::default().steps(), []);
        let step = |most, count| TimesUpTo { most, count };
        // From 128 on, a bucket holds more than one time; the last ends with the longest time that was added.
        assert_eq!(of([5, 100, 5, 129, 4096]).steps(), [step(5, 2), step(100, 1), step(129, 1), step(4096, 1)]);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_was_put_there(latency in 0u64..u64::MAX / 2) {
            let end = upper_end(bucket_of(latency));
            prop_assert!(end >= latency && end - latency <= latency / 64);
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_times(
            mut times in prop::collection::vec(prop_oneof![0u64..1000, 0u64..1 << 40], 1..200),
        ) {
            let summary = of(times.iter().copied()).summary().unwrap();
            times.sort_unstable();
            for (share, value) in [(0.5, summary.p50), (0.95, summary.p95), (0.99, summary.p99)] {
                let exact = times[(share * times.len() as f64).ceil() as usize - 1];
                prop_assert!(value >= exact && value - exact <= exact / 64, "{value} for {exact}");
            }
            prop_assert_eq!(summary.max, times[times.len() - 1]);
        }

        #[test]
        fn a_few_times_are_summed_up_as_in_a_histogram(times in prop::collection::vec(0u64..1 << 32, 1..GATHERED)) {
            let mut sorted_in = of(times.iter().copied());
            if let Some(histogram) = &mut sorted_in.histogram {
                histogram.sort_in();
            }
            prop_assert_eq!(of(times).summary(), sorted_in.summary());
        }

        #[test]
        fn merged_histograms_are_that_of_all_times(
            first in prop::collection::vec(0u64..1 << 36, 0..60),
            second in prop::collection::vec(0u64..1 << 36, 0..60),
        ) {
            let mut merged = of(first.iter().copied());
            merged.merge(&of(second.iter().copied()));
            prop_assert_eq!(merged.summary(), of(first.into_iter().chain(second)).summary());
        }
    }
}
