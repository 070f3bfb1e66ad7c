// SPDX-License-Identifier: MIT OR Apache-2.0
//! Means with their 95 % confidence intervals, and ratios of them.

use distrs::StudentsT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mean and half the width of its two-sided 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself, in the unit of what is estimated.
    pub mean: f64,
    /// The interval is `mean ± half_width`, in the same unit; `None` where too few values were measured to know it.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The mean of independent `values` with Student's interval `t(0.975, n−1)·s/√n`; one value has no interval, none
    /// has no mean.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        Self::of_mean_at(values, TWO_SIDED)
    }

    /// The same with another `quantile` of Student's distribution, between 0.5 and 1: each end of the interval is a bound that
    /// the true mean is beyond with a probability of `1 − quantile`.
    pub fn of_mean_at(values: &[f64], quantile: f64) -> Option<Self> {
        let mean = mean(values)?;
        let n = values.len() as f64;
        if values.len() < 2 {
            return Some(Self { mean, half_width: None });
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // Equal values, but for the rounding of their sum, do not deviate.
        let deviation = if squares <= (1e-12 * mean).powi(2) { 0.0 } else { (squares / (n - 1.0)).sqrt() };
        Some(Self { mean, half_width: Some(student_t(quantile, values.len() - 1) * deviation / n.sqrt()) })
    }

    /// A statistic of `n` runs that is no mean, with its jackknife interval: `statistic` is called with all runs, then
    /// without each one in turn, and must need only two runs; with fewer than three there is no interval.
    ///
    /// Source: B. Efron, C. Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981).
    pub fn by_jackknife(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Self {
        let all: Vec<usize> = (0..n).collect();
        let mean = statistic(&all);
        if n < 3 {
            return Self { mean, half_width: None };
        }
        let without: Vec<f64> = (0..n)
            .map(|left_out| statistic(&all.iter().copied().filter(|run| *run != left_out).collect::<Vec<_>>()))
            .collect();
        let centre = without.iter().sum::<f64>() / n as f64;
        let squares: f64 = without.iter().map(|value| (value - centre).powi(2)).sum();
        let standard_error = (squares * (n as f64 - 1.0) / n as f64).sqrt();
        Self { mean, half_width: Some(student_t(TWO_SIDED, n - 1) * standard_error) }
    }

    /// This estimate over `base`, its relative half width being the root of the sum of both squared relative half
    /// widths. The errors are taken as independent, which the same seeds make a cautious assumption. `None` if `base`
    /// is zero.
    pub fn ratio_to(&self, base: &Self) -> Option<Self> {
        if base.mean == 0.0 {
            return None;
        }
        let mean = self.mean / base.mean;
        // |a/b|·√((Δa/a)² + (Δb/b)²), written so that a may be zero.
        let half_width = self.half_width.zip(base.half_width).map(|(own, of_base)| {
            let own = own / base.mean;
            let of_base = mean * of_base / base.mean;
            own.hypot(of_base)
        });
        Some(Self { mean, half_width })
    }

    /// The mean of `values` over that of `base`, where those at the same place belong together, as runs with the same seed
    /// do: `t(0.975, n−1)·s/(√n·|b̄|)` with the deviation *s* of `value − ratio·base`. `None` unless both have the same
    /// number of values, at least two, and the mean of `base` is not 0.
    ///
    /// Source: W. G. Cochran, "Sampling Techniques", 3rd edition (1977), section 6.4, without a finite population.
    pub fn of_paired_ratio(values: &[f64], base: &[f64]) -> Option<Self> {
        Self::of_paired_ratio_at(values, base, TWO_SIDED)
    }

    /// The same with another `quantile`, as [`Estimate::of_mean_at`] has it.
    pub fn of_paired_ratio_at(values: &[f64], base: &[f64], quantile: f64) -> Option<Self> {
        let n = values.len() as f64;
        let (own, of_base) = (mean(values)?, mean(base)?);
        if values.len() != base.len() || values.len() < 2 || of_base == 0.0 {
            return None;
        }
        let ratio = own / of_base;
        let squares: f64 = values.iter().zip(base).map(|(value, base)| (value - ratio * base).powi(2)).sum();
        let deviation = if squares <= (1e-12 * own).powi(2) { 0.0 } else { (squares / (n - 1.0)).sqrt() };
        let half_width = student_t(quantile, values.len() - 1) * deviation / (n.sqrt() * of_base.abs());
        Some(Self { mean: ratio, half_width: Some(half_width) })
    }

    /// Whether a ratio's interval holds 1; without an interval, whether it is 1.
    pub fn includes_one(&self) -> bool {
        (self.mean - 1.0).abs() <= self.half_width.unwrap_or(0.0)
    }
}

/// A ratio of two means, and how its interval was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub estimate: Estimate,
    /// Whether the interval is that of pairs of runs with the same seed; else the runs count as independent.
    pub paired: bool,
}

impl Ratio {
    /// The one of both that has the narrower interval; `other` if they are equal.
    pub fn or_narrower(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other.estimate.half_width <= self.estimate.half_width => other,
            _ => self,
        }
    }
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Relative standard deviation as jitter is defined: `√(mean((t/t_avg − 1)²))`.
pub fn jitter(times: &[f64]) -> f64 {
    let Some(average) = mean(times) else { return 0.0 };
    let squares: Vec<f64> = times.iter().map(|time| (time / average - 1.0).powi(2)).collect();
    mean(&squares).unwrap_or(0.0).sqrt()
}

/// The quantile of Student's t distribution that both ends of a 95 % interval have.
pub(crate) const TWO_SIDED: f64 = 0.975;

/// A quantile of Student's t distribution; `degrees` ≥ 1.
fn student_t(quantile: f64, degrees: usize) -> f64 {
    StudentsT::ppf(quantile, degrees as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 5e-4 * expected.abs(), "{value} is not {expected}");
    }

    fn estimate(mean: f64, half_width: f64) -> Estimate {
        Estimate { mean, half_width: Some(half_width) }
    }

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (degrees, t) in [(1, 12.706), (2, 4.303), (3, 3.182), (9, 2.262), (29, 2.045), (999, 1.962)] {
            close(student_t(TWO_SIDED, degrees), t);
        }
    }

    #[test]
    fn an_interval_of_90_percent_has_bounds_of_95() {
        // s = 1, t(0.95, 2) = 2.920; of the ratio: deviations 0.1, −0.2, 0.1 from 1.1, s = 0.1732, the base's mean is 1.
        close(Estimate::of_mean_at(&[1.0, 2.0, 3.0], 0.95).unwrap().half_width.unwrap(), 2.920 / 3f64.sqrt());
        let ratio = Estimate::of_paired_ratio_at(&[1.2, 0.9, 1.2], &[1.0, 1.0, 1.0], 0.95).unwrap();
        close(ratio.mean, 1.1);
        close(ratio.half_width.unwrap(), 2.920 * 0.17321 / 3f64.sqrt());
    }

    #[test]
    fn two_values() {
        // s = √2·0.5, s/√2 = 0.5, t = 12.706.
        let of_two = Estimate::of_mean(&[1.0, 2.0]).unwrap();
        close(of_two.mean, 1.5);
        close(of_two.half_width.unwrap(), 6.353);
    }

    #[test]
    fn three_values() {
        // s = 1, t/√3 = 4.303/1.732.
        close(Estimate::of_mean(&[1.0, 2.0, 3.0]).unwrap().half_width.unwrap(), 2.484);
    }

    #[test]
    fn ten_values() {
        // 1 … 10: s² = 82.5/9, s = 3.0277; 2.262·3.0277/√10.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let of_ten = Estimate::of_mean(&values).unwrap();
        close(of_ten.mean, 5.5);
        close(of_ten.half_width.unwrap(), 2.1659);
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        assert_eq!(Estimate::of_mean(&[4.0]), Some(Estimate { mean: 4.0, half_width: None }));
        assert_eq!(Estimate::of_mean(&[]), None);
    }

    #[test]
    fn equal_values_have_no_width_even_if_their_sum_is_rounded() {
        let values = [0.4 / 0.5; 3].map(|value| value + 0.0);
        assert_eq!(Estimate::of_mean(&values).unwrap().half_width, Some(0.0));
        assert_eq!(Estimate::of_mean(&[0.0, 0.0]).unwrap().half_width, Some(0.0));
        assert!(Estimate::of_mean(&[1.0, 1.0 + 1e-9]).unwrap().half_width.unwrap() > 0.0);
    }

    #[test]
    fn relative_errors_of_a_ratio_add_as_squares() {
        // 3 % and 4 % make 5 %.
        let ratio = estimate(200.0, 6.0).ratio_to(&estimate(100.0, 4.0)).unwrap();
        close(ratio.mean, 2.0);
        close(ratio.half_width.unwrap(), 0.1);
    }

    #[test]
    fn pairs_that_keep_their_ratio_have_no_width() {
        assert_eq!(Estimate::of_paired_ratio(&[2.0, 4.0, 8.0], &[1.0, 2.0, 4.0]), Some(estimate(2.0, 0.0)));
        assert_eq!(Estimate::of_paired_ratio(&[2.0], &[1.0]), None);
        assert_eq!(Estimate::of_paired_ratio(&[2.0, 3.0], &[1.0, -1.0]), None);
    }

    #[test]
    fn pairs_that_hardly_keep_their_ratio_have_little() {
        // 4, 5, 6 over 2, 2, 2: d = −1, 0, 1, so s = 1; 4.303/(√3·2).
        let of_pairs = Estimate::of_paired_ratio(&[4.0, 5.0, 6.0], &[2.0; 3]).unwrap();
        close(of_pairs.mean, 2.5);
        close(of_pairs.half_width.unwrap(), 1.2422);
        // With a base that does not vary that is the mean's own interval.
        close(of_pairs.half_width.unwrap(), Estimate::of_mean(&[4.0, 5.0, 6.0]).unwrap().half_width.unwrap() / 2.0);
    }

    #[test]
    fn a_ratio_may_be_zero_but_not_over_zero() {
        assert_eq!(estimate(0.0, 1.0).ratio_to(&estimate(2.0, 1.0)), Some(estimate(0.0, 0.5)));
        assert_eq!(estimate(1.0, 0.1).ratio_to(&estimate(0.0, 0.0)), None);
    }

    #[test]
    fn a_ratio_without_an_interval_is_one_only_if_it_is() {
        assert!(estimate(1.01, 0.02).includes_one());
        assert!(!estimate(1.03, 0.02).includes_one());
        assert!(!Estimate { mean: 1.001, half_width: None }.includes_one());
    }

    #[test]
    fn jitter_is_the_relative_deviation() {
        // 0.9 and 1.1 around 1: √((0.01 + 0.01)/2).
        close(jitter(&[0.9, 1.1]), 0.1);
        assert_eq!(jitter(&[2.0, 2.0, 2.0]), 0.0);
    }

    #[test]
    fn the_jackknife_of_a_mean_is_students_interval() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let by_jackknife = Estimate::by_jackknife(values.len(), |runs| {
            mean(&runs.iter().map(|run| values[*run]).collect::<Vec<_>>()).unwrap()
        });
        let of_mean = Estimate::of_mean(&values).unwrap();
        close(by_jackknife.mean, of_mean.mean);
        close(by_jackknife.half_width.unwrap(), of_mean.half_width.unwrap());
    }
}
