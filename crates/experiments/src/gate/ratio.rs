// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ratio of a metric to the baseline's, with the narrower of two intervals: that of independent runs, or that of pairs of
//! runs with the same seed.

use super::BaselineValue;
use crate::statistics::Estimate;

/// The ratio, and whether its interval is that of pairs.
pub fn ratio(now: &BaselineValue, before: &BaselineValue, same_seeds: bool) -> (Estimate, bool) {
    let mean = now.mean / before.mean;
    let independent = now.estimate().ratio_to(&before.estimate()).unwrap_or(Estimate { mean, half_width: None });
    let runs = now.runs.as_ref().zip(before.runs.as_ref()).filter(|_| same_seeds);
    let Some(paired) = runs.and_then(|(now, before)| of_pairs(now, before)) else { return (independent, false) };
    match (paired.half_width, independent.half_width) {
        (Some(narrow), Some(wide)) if narrow <= wide => (paired, true),
        _ => (independent, false),
    }
}

/// The ratio of two means from pairs of values. Its interval is that of the mean of the residuals `a − R·b`, over the mean of
/// `b`; `None` unless there are two pairs or more, and a mean of `b` other than 0.
///
/// Source: W. G. Cochran, "Sampling Techniques", 3rd edition (1977), section 6.4, the variance of a ratio.
fn of_pairs(now: &[f64], before: &[f64]) -> Option<Estimate> {
    if now.len() != before.len() || now.len() < 2 {
        return None;
    }
    let mean = now.iter().sum::<f64>() / before.iter().sum::<f64>();
    let base = before.iter().sum::<f64>() / before.len() as f64;
    // Rounding leaves a trace of what is the same for both; a deviation of this size is none.
    let residual = |(now, before): (&f64, &f64)| {
        let residual = now - mean * before;
        if residual.abs() <= 1e-12 * now.abs() { 0.0 } else { residual }
    };
    let residuals: Vec<f64> = now.iter().zip(before).map(residual).collect();
    let half_width = Estimate::of_mean(&residuals)?.half_width? / base.abs();
    (mean.is_finite() && half_width.is_finite()).then_some(Estimate { mean, half_width: Some(half_width) })
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
        let (ratio, paired) = ratio(&value(&[1.1, 2.2, 3.3]), &value(&[1.0, 2.0, 3.0]), true);
        assert!(paired && (ratio.mean - 1.1).abs() < 1e-12);
        assert_eq!(ratio.half_width, Some(0.0));
    }

    #[test]
    fn the_interval_is_that_of_the_residuals() {
        // R = 6/6 = 1, residuals 0.1, 0, −0.1: s = 0.1, t(2) = 4.303, √3 = 1.732, mean of b 2.
        let (ratio, paired) = ratio(&value(&[1.1, 2.0, 2.9]), &value(&[1.0, 2.0, 3.0]), true);
        assert!(paired && (ratio.mean - 1.0).abs() < 1e-12);
        assert!((ratio.half_width.unwrap() - 0.1 * 4.303 / 1.732 / 2.0).abs() < 1e-4, "{ratio:?}");
    }

    #[test]
    fn other_seeds_and_values_without_runs_are_independent() {
        let (now, before) = (value(&[1.1, 2.2, 3.3]), value(&[1.0, 2.0, 3.0]));
        assert!(!ratio(&now, &before, false).1);
        let without = BaselineValue { runs: None, ..before };
        assert!(!ratio(&now, &without, true).1);
        assert_eq!(ratio(&now, &without, true).0, now.estimate().ratio_to(&without.estimate()).unwrap());
    }

    #[test]
    fn pairs_that_pull_apart_take_the_independent_interval() {
        // What is long in one is short in the other: the pairs' interval is the wider one.
        let (ratio, paired) = ratio(&value(&[3.0, 2.0, 1.0]), &value(&[1.0, 2.0, 3.0]), true);
        assert!(!paired && ratio.half_width.is_some());
    }
}
