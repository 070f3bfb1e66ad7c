// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ratio of a metric to the baseline's, with the narrower of two intervals: that of independent runs, or that of pairs of
//! runs with the same seed.

use super::BaselineValue;
use crate::statistics::{Estimate, Ratio};

/// The ratio, and whether its interval is that of pairs. The first `same_seeds` runs of both had the same seeds in the same
/// order; each end of the interval is `quantile` of Student's distribution.
pub fn ratio(now: &BaselineValue, before: &BaselineValue, same_seeds: usize, quantile: f64) -> Ratio {
    let mean = now.mean / before.mean;
    let (own, of_base) = (estimate(now, quantile), estimate(before, quantile));
    let independent = own.ratio_to(&of_base).unwrap_or(Estimate { mean, half_width: None });
    let runs = now.runs.as_ref().zip(before.runs.as_ref());
    let pairs = runs.and_then(|(now, before)| Some((now.get(..same_seeds)?, before.get(..same_seeds)?)));
    let paired = pairs.and_then(|(now, before)| Estimate::of_paired_ratio_at(now, before, quantile));
    let independent = Ratio { estimate: independent, paired: false };
    independent.or_narrower(paired.map(|estimate| Ratio { estimate, paired: true }))
}

/// The value with an interval whose ends are `quantile`; one without runs of its own keeps its interval of 95 %.
fn estimate(value: &BaselineValue, quantile: f64) -> Estimate {
    let of_runs = value.runs.as_ref().and_then(|runs| Estimate::of_mean_at(runs, quantile));
    let half_width = of_runs.map_or(value.half_width, |of_runs| of_runs.half_width);
    Estimate { mean: value.mean, half_width }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::TWO_SIDED;

    fn value(runs: &[f64]) -> BaselineValue {
        let Estimate { mean, half_width } = Estimate::of_mean(runs).unwrap();
        BaselineValue { mean, half_width, runs: Some(runs.to_vec()) }
    }

    #[test]
    fn what_is_a_tenth_more_in_each_run_is_exactly_that() {
        let ratio = ratio(&value(&[1.1, 2.2, 3.3]), &value(&[1.0, 2.0, 3.0]), 3, TWO_SIDED);
        assert!(ratio.paired && (ratio.estimate.mean - 1.1).abs() < 1e-12);
        assert_eq!(ratio.estimate.half_width, Some(0.0));
    }

    #[test]
    fn other_seeds_and_values_without_runs_are_independent() {
        let (now, before) = (value(&[1.1, 2.2, 3.3]), value(&[1.0, 2.0, 3.0]));
        assert!(!ratio(&now, &before, 0, TWO_SIDED).paired);
        let without = BaselineValue { runs: None, ..before };
        assert!(!ratio(&now, &without, 3, TWO_SIDED).paired);
        let independent = now.estimate().ratio_to(&without.estimate()).unwrap();
        assert_eq!(ratio(&now, &without, 3, TWO_SIDED).estimate, independent);
    }

    #[test]
    fn pairs_that_pull_apart_take_the_independent_interval() {
        // What is long in one is short in the other: the pairs' interval is the wider one.
        let ratio = ratio(&value(&[3.0, 2.0, 1.0]), &value(&[1.0, 2.0, 3.0]), 3, TWO_SIDED);
        assert!(!ratio.paired && ratio.estimate.half_width.is_some());
    }

    #[test]
    fn runs_beyond_those_of_the_baseline_leave_the_first_ones_in_pairs() {
        let ratio = ratio(&value(&[1.1, 2.2, 3.3, 9.0]), &value(&[1.0, 2.0, 3.0]), 3, TWO_SIDED);
        assert!(ratio.paired && (ratio.estimate.mean - 1.1).abs() < 1e-12);
        assert_eq!(ratio.estimate.half_width, Some(0.0));
    }
}
