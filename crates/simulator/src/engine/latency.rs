// SPDX-License-Identifier: MIT OR Apache-2.0
//! A histogram of latencies that is exact to 1/16 and takes memory only for what it has seen.

use crate::metrics::Latency;
use crate::units::Nanos;

/// Linear steps per power of two.
const STEPS: u64 = 16;

/// Latencies gathered before the histogram is touched: its memory is far away, and this is the hot path.
const GATHERED: usize = 15;

/// A log-linear histogram.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    gathered: [u32; GATHERED],
    pending: u32,
    counts: Vec<u32>,
    total: u64,
    max: Nanos,
}

impl Latencies {
    /// Adds one latency.
    #[inline]
    pub fn add(&mut self, latency: Nanos) {
        let Ok(short) = u32::try_from(latency) else {
            // Four seconds and more are rare.
            self.count(latency);
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
            self.count(Nanos::from(self.gathered[index]));
        }
    }

    fn count(&mut self, latency: Nanos) {
        let bucket = bucket_of(latency);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.total += 1;
        self.max = self.max.max(latency);
    }

    /// Median, 99th percentile and maximum; `None` if nothing was added.
    pub fn summary(&mut self) -> Option<Latency> {
        self.sort_in();
        (self.total > 0).then(|| Latency { p50: self.quantile(0.5), p99: self.quantile(0.99), max: self.max })
    }

    /// The upper end of the bucket that holds the quantile.
    fn quantile(&self, share: f64) -> Nanos {
        let rank = (share * self.total as f64).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return upper_end(bucket).min(self.max);
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
    let step = (latency >> (exponent - 4)) - STEPS;
    ((exponent - 3) * STEPS + step) as usize
}

fn upper_end(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (exponent, step) = (bucket / STEPS + 3, bucket % STEPS);
    ((STEPS + step + 1) << (exponent - 4)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_hundred() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.summary(), None);
        for latency in 1..=100 {
            latencies.add(latency * 1000);
        }
        let summary = latencies.summary().unwrap();
        assert!((50_000..=53_200).contains(&summary.p50) && (99_000..=100_000).contains(&summary.p99), "{summary:?}");
        assert_eq!(summary.max, 100_000);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_was_put_there(latency in 0u64..u64::MAX / 2) {
            let end = upper_end(bucket_of(latency));
            prop_assert!(end >= latency && end - latency <= latency / 16);
        }
    }
}
