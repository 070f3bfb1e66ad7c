// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last idle times, some at either end left out: their average and variance at once, whichever are left out.
//!
//! The kernel goes through all eight for each sum, up to six times per choice of an idle state. Sorted once, with the sums up to each,
//! every question is a difference of two sums.

use std::ops::Range;

use super::INTERVALS;

/// Idle times in µs, ascending, of which some are in.
#[derive(Debug)]
pub(super) struct Sample {
    sorted: [u32; INTERVALS],
    /// Sum of those before each.
    sums: [u64; INTERVALS + 1],
    /// Sum of the squares of those before each.
    squares: [u128; INTERVALS + 1],
    /// Which are in.
    within: Range<usize>,
}

impl Sample {
    /// Of these idle times, those below `limit`.
    pub fn new(intervals: [u32; INTERVALS], limit: u32) -> Self {
        let mut sorted = intervals;
        sorted.sort_unstable();
        let (mut sums, mut squares) = ([0; INTERVALS + 1], [0; INTERVALS + 1]);
        for (index, value) in sorted.iter().map(|value| u64::from(*value)).enumerate() {
            sums[index + 1] = sums[index] + value;
            squares[index + 1] = squares[index] + u128::from(value * value);
        }
        let end = sorted.iter().take_while(|value| **value < limit).count();
        Self { sorted, sums, squares, within: 0..end }
    }

    /// The shortest and the longest.
    pub fn bounds(&self) -> Option<(u32, u32)> {
        let within = &self.sorted[self.within.clone()];
        within.first().copied().zip(within.last().copied())
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.within.len() as u64
    }

    fn sum(&self) -> u64 {
        self.sums[self.within.end] - self.sums[self.within.start]
    }

    /// The average of those that are in, rounded down.
    pub fn average(&self) -> u64 {
        self.sum() / self.count()
    }

    /// The variance of those that are in, at most what 64 bits hold: by their distances from the whole average, or by their squares.
    pub fn variance(&self, by_squares: bool) -> u64 {
        let squares = self.squares[self.within.end] - self.squares[self.within.start];
        let average = u128::from(self.average());
        if by_squares {
            let variance = squares / u128::from(self.count()) - average * average;
            return u64::try_from(variance).unwrap_or(u64::MAX);
        }
        // The sum of (v - a)² is that of v² - 2va + a².
        let distances = squares + u128::from(self.count()) * average * average - 2 * average * u128::from(self.sum());
        u64::try_from(distances).unwrap_or(u64::MAX) / self.count()
    }

    /// Leaves out those as short as `min`, the shortest.
    pub fn drop_shortest(&mut self, min: u32) {
        let dropped = self.sorted[self.within.clone()].iter().take_while(|value| **value == min).count();
        self.within.start += dropped;
    }

    /// Leaves out those as long as `max`, the longest.
    pub fn drop_longest(&mut self, max: u32) {
        let dropped = self.sorted[self.within.clone()].iter().rev().take_while(|value| **value == max).count();
        self.within.end -= dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same as the kernel works it out, from the idle times of a range.
    fn directly(intervals: [u32; INTERVALS], within: &Range<u32>, by_squares: bool) -> Option<(u64, u64, u64)> {
        let values = || intervals.iter().filter(|value| within.contains(value)).map(|value| u64::from(*value));
        let count = values().count() as u64;
        let average = values().sum::<u64>().checked_div(count)?;
        let variance = if by_squares {
            let squares: u128 = values().map(|value| u128::from(value) * u128::from(value)).sum();
            let variance = squares / u128::from(count) - u128::from(average * average);
            u64::try_from(variance).unwrap_or(u64::MAX)
        } else {
            values().map(|value| value.abs_diff(average).pow(2)).fold(0, u64::saturating_add) / count
        };
        Some((count, average, variance))
    }

    proptest! {
        #[test]
        fn sums_are_those_of_what_is_in(
            intervals in prop::array::uniform8(prop_oneof![0u32..40, 0u32..100_000, 0u32..=u32::MAX, Just(u32::MAX)]),
            drops in prop::collection::vec(any::<bool>(), 0..8),
            by_squares: bool,
        ) {
            let mut within = 0..if by_squares { u32::MAX } else { i32::MAX as u32 + 1 };
            let mut sample = Sample::new(intervals, within.end);
            for longest in drops {
                let found = sample.bounds().map(|_| (sample.count(), sample.average(), sample.variance(by_squares)));
                prop_assert_eq!(found, directly(intervals, &within, by_squares));
                let Some((min, max)) = sample.bounds() else { break };
                if longest {
                    sample.drop_longest(max);
                    within.end = max;
                } else {
                    sample.drop_shortest(min);
                    within.start = min + 1;
                }
            }
        }
    }
}
