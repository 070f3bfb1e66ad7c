// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ratio of a metric to the baseline's, with the narrower of two intervals: that of independent runs, or that of pairs of
//! runs with the same seed.

use super::BaselineValue;
use crate::statistics::{Estimate, Ratio};

/// The ratio, and whether its interval is that of pairs.
pub fn ratio(now: &BaselineValue, before: &BaselineValue, same_seeds: bool) -> Ratio {
    let mean = now.mean / before.mean;
    let independent = now.estimate().ratio_to(&before.estimate()).unwrap_or(Estimate { mean, half_width: None });
    let runs = now.runs.as_ref().zip(before.runs.as_ref()).filter(|_| same_seeds);
    let paired = runs.and_then(|(now, before)| Estimate::of_paired_ratio(now, before));
    let independent = Ratio { estimate: independent, paired: false };
    independent.or_narrower(paired.map(|estimate| Ratio { estimate, paired: true }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(runs: &[f64]) -> BaselineValue {
        let Estimate { mean, half_width } = Estimate::of_mean(runs).unwrap();
        BaselineValue { mean, half_width, runs: Some(runs.to_vec()) }
    }

    #[test]
    fn what_is_a_tenth_more_in_each_run_is_exactly_that() {
        let ratio = ratio(&value(&[1.1, 2.2, 3.3]), &value(&[1.0, 2.0, 3.0]), true);
        assert!(ratio.paired && (ratio.estimate.mean - 1.1).abs() < 1e-12);
        assert_eq!(ratio.estimate.half_width, Some(0.0));
    }

    #[test]
    fn other_seeds_and_values_without_runs_are_independent() {
        let (now, before) = (value(&[1.1, 2.2, 3.3]), value(&[1.0, 2.0, 3.0]));
        assert!(!ratio(&now, &before, false).paired);
        let without = BaselineValue { runs: None, ..before };
        assert!(!ratio(&now, &without, true).paired);
        let independent = now.estimate().ratio_to(&without.estimate()).unwrap();
        assert_eq!(ratio(&now, &without, true).estimate, independent);
    }

    #[test]
    fn pairs_that_pull_apart_take_the_independent_interval() {
        // What is long in one is short in the other: the pairs' interval is the wider one.
        let ratio = ratio(&value(&[3.0, 2.0, 1.0]), &value(&[1.0, 2.0, 3.0]), true);
        assert!(!ratio.paired && ratio.estimate.half_width.is_some());
    }
}
