// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a search is for: a metric to make small, and limits of others. All are ratios to the scheduler as it is.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;
use tandem_simulator::input::valid_names;

use crate::statistics::Estimate;

/// A metric of a run. Smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Minimised {
    /// Run time; where a time limit ends runs, time per work.
    Time,
    /// Energy; where a time limit ends runs, energy per work.
    Energy,
    /// Energy × time.
    Edp,
    /// Energy × time².
    Ed2p,
}

/// A metric may not be larger than so many times that of the scheduler as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Limit {
    /// The metric.
    pub metric: Minimised,
    /// The factor, above 0.
    pub at_most: f64,
}

/// What a search is for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Goal {
    /// What shall be small.
    pub minimise: Minimised,
    /// What it may cost.
    pub limits: Vec<Limit>,
}

/// Why a text is no goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// There is no such metric.
    #[error("no metric `{0}`; {1}")]
    Metric(String, String),
    /// A limit is written otherwise.
    #[error("`{0}` is no limit: expected METRIC<=FACTOR, such as time<=1.02")]
    Limit(String),
}

impl Minimised {
    /// All metrics.
    pub const ALL: [Self; 4] = [Self::Time, Self::Energy, Self::Edp, Self::Ed2p];

    /// The metric's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Energy => "energy",
            Self::Edp => "edp",
            Self::Ed2p => "ed2p",
        }
    }

    /// The logarithm of the metric from those of time and energy.
    fn of(self, Score { time, energy }: Score) -> f64 {
        match self {
            Self::Time => time,
            Self::Energy => energy,
            Self::Edp => energy + time,
            Self::Ed2p => energy + 2.0 * time,
        }
    }
}

impl fmt::Display for Minimised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Minimised {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        let unknown = || GoalError::Metric(text.to_owned(), valid_names(text, &Self::ALL.map(Self::name)));
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(unknown)
    }
}

impl FromStr for Limit {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        let wrong = || GoalError::Limit(text.to_owned());
        let (metric, factor) = text.split_once("<=").ok_or_else(wrong)?;
        let at_most = factor.trim().parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
        Ok(Self { metric: metric.trim().parse()?, at_most: at_most.ok_or_else(wrong)? })
    }
}

/// Logarithms of a point's time and energy over those of the scheduler as it is, of one seed: the mean over all machines and
/// workloads, which stands for the geometric mean of the ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    pub time: f64,
    pub energy: f64,
}

/// A ratio to the scheduler as it is, with its 95 % confidence interval. Each seed's ratio is that of two runs with the seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostRatio {
    /// The geometric mean of the ratios over the seeds.
    pub mean: f64,
    /// The interval's low end, a ratio; `None` with one seed.
    pub low: Option<f64>,
    /// The interval's high end, a ratio; `None` with one seed.
    pub high: Option<f64>,
}

impl CostRatio {
    /// The ratio of `metric` over the seeds of `scores`.
    pub fn of(metric: Minimised, scores: &[Score]) -> Self {
        let logarithms: Vec<f64> = scores.iter().map(|score| metric.of(*score)).collect();
        let none = Estimate { mean: f64::NAN, half_width: None };
        let Estimate { mean, half_width } = Estimate::of_mean(&logarithms).unwrap_or(none);
        let at = |half: f64| (mean + half).exp();
        Self { mean: mean.exp(), low: half_width.map(|half| at(-half)), high: half_width.map(at) }
    }

    /// Whether the whole interval is below `factor`; without an interval nothing is known.
    pub fn is_below(&self, factor: f64) -> bool {
        self.high.is_some_and(|high| high < factor)
    }

    /// Whether the whole interval is above `factor`.
    pub fn is_above(&self, factor: f64) -> bool {
        self.low.is_some_and(|low| low > factor)
    }
}

impl Goal {
    /// Which of two points is better by the means of their scores: the one that keeps the limits, or misses them by less; then
    /// the one with less of what shall be small.
    pub fn order(&self, a: &[Score], b: &[Score]) -> Ordering {
        self.missed(a).total_cmp(&self.missed(b)).then(self.value(a).total_cmp(&self.value(b)))
    }

    /// By how much the limits are missed, in logarithms; 0 if they are kept.
    pub fn missed(&self, scores: &[Score]) -> f64 {
        let missed = |limit: &Limit| (mean_of(limit.metric, scores) - limit.at_most.ln()).max(0.0);
        self.limits.iter().map(missed).sum()
    }

    fn value(&self, scores: &[Score]) -> f64 {
        mean_of(self.minimise, scores)
    }
}

/// The mean logarithm of `metric`.
pub fn mean_of(metric: Minimised, scores: &[Score]) -> f64 {
    scores.iter().map(|score| metric.of(*score)).sum::<f64>() / scores.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(time: f64, energy: f64) -> Score {
        Score { time: time.ln(), energy: energy.ln() }
    }

    #[test]
    fn goals_are_read_as_they_are_written() {
        assert_eq!("time<=1.02".parse(), Ok(Limit { metric: Minimised::Time, at_most: 1.02 }));
        assert_eq!("edp <= 0.9".parse::<Limit>().unwrap().metric, Minimised::Edp);
        for wrong in ["time", "time<=", "time<=0", "time<=x", "time<=inf", "time>=1"] {
            assert_eq!(wrong.parse::<Limit>(), Err(GoalError::Limit(wrong.to_owned())), "{wrong}");
        }
        assert!("tine<=1".parse::<Limit>().unwrap_err().to_string().contains("did you mean `time`?"));
    }

    #[test]
    fn a_point_that_keeps_its_limits_is_better_than_one_that_saves_more() {
        let goal = Goal { minimise: Minimised::Energy, limits: vec!["time<=1.02".parse().unwrap()] };
        let (saving, keeping, own) = ([score(1.5, 0.5)], [score(1.01, 0.9)], [score(1.0, 1.0)]);
        assert_eq!(goal.order(&keeping, &saving), Ordering::Less);
        assert_eq!(goal.order(&keeping, &own), Ordering::Less);
        // Of two that miss a limit, the one that is nearer to it.
        assert_eq!(goal.order(&[score(1.1, 2.0)], &saving), Ordering::Less);
    }

    #[test]
    fn ratios_are_of_pairs_with_the_same_seed() {
        let ratio = CostRatio::of(Minimised::Ed2p, &[score(2.0, 0.5), score(2.0, 0.5)]);
        assert!((ratio.mean - 2.0).abs() < 1e-12 && (ratio.high.unwrap() - 2.0).abs() < 1e-12);
        // Logarithms -ln 2 and ln 2: their mean is 0, half the width t(1) · s / √2 = 12.706 · ln 2.
        let wide = CostRatio::of(Minimised::Energy, &[score(1.0, 0.5), score(1.0, 2.0)]);
        assert!((wide.mean - 1.0).abs() < 1e-12, "{wide:?}");
        assert!((wide.high.unwrap().ln() - 12.7062 * 2f64.ln()).abs() < 1e-3, "{wide:?}");
        assert!(!wide.is_below(1.0) && !wide.is_above(1.0));
        assert!(CostRatio::of(Minimised::Time, &[score(0.5, 1.0)]).high.is_none());
    }
}
