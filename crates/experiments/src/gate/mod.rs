// SPDX-License-Identifier: MIT OR Apache-2.0
//! Is it worse than yesterday? Comparisons judged against the numbers of earlier ones.
//!
//! [`Baseline`] has the numbers and what they belong to, a [`Condition`] says what is worse, [`Gate`] judges each cell by
//! each condition, [`decide()`] adds runs where it is undecided; `junit` is what test runners read.

mod baseline;
mod condition;
mod decide;
mod junit;
mod ratio;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::{Comparison, PairResult};
use crate::matrix::Matrix;
use crate::statistics::{Estimate, Ratio, TWO_SIDED};

use baseline::Cell;
pub use baseline::{Baseline, Measured as BaselineValue, Subject, options};
pub use condition::{Condition, ConditionError, Mistake, Side};
pub use decide::{Decided, decide, looks};

use ratio::ratio;

/// What a condition says of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The whole interval of the ratio is beyond the limit.
    Worse,
    /// No part of it is.
    NotWorse,
    /// The limit lies within the interval, or there is none.
    Undecided,
    /// The scheduler was ejected in some run: the numbers are partly those of fair.
    Ejected,
}

/// A cell judged by a condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// The pair, as tables call it.
    pub pair: String,
    /// The condition, as text.
    pub condition: String,
    /// What came of it.
    pub judgement: Judgement,
    /// The metric's ratio to the baseline.
    #[serde(flatten)]
    pub ratio: BaselineRatio,
    /// Why it is undecided or ejected, in words.
    pub why: Option<String>,
    /// How many runs of the pair were judged.
    pub runs: usize,
}

/// A ratio to the baseline and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BaselineRatio {
    /// The new value over the baseline's; `None` where one is missing or the baseline's is 0.
    pub ratio: Option<f64>,
    /// Half of the ratio's 95 % confidence interval.
    pub ratio_half_width: Option<f64>,
    /// Whether the interval is that of pairs of runs with the same seed.
    pub paired: bool,
}

/// A matrix judged against a reference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gate {
    /// By cell, then by condition.
    pub judged: Vec<Judged>,
    /// In what the runs differ from the baseline's, where that was accepted.
    pub accepted_changes: Vec<String>,
}

/// What pairs are judged against.
#[derive(Debug, Clone, Copy)]
pub enum Reference<'a> {
    /// Numbers that were kept.
    Baseline {
        /// The numbers.
        baseline: &'a Baseline,
        /// What the baseline calls the pairs, by their place; a pair without a name here is called as in tables.
        was: &'a [String],
    },
    /// The first pair, which is not judged.
    FirstPair,
}

/// How a gate judges.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// Against what.
    pub reference: Reference<'a>,
    /// By what.
    pub conditions: &'a [Condition],
    /// How often the same runs may be looked at before they are decided ([`looks`]). All looks together are wrong as often as
    /// one look at an interval of 95 % is: each has an interval whose ends are as many times less likely to be passed.
    ///
    /// Source: C. E. Bonferroni's inequality; O. J. Dunn, "Multiple comparisons among means", JASA 56 (1961).
    pub looks: usize,
}

impl Judge<'_> {
    /// Judges each cell that the reference has by each condition.
    pub fn judge(&self, matrix: &Matrix, accepted_changes: Vec<String>) -> Gate {
        let mut judged = Vec::new();
        for comparison in &matrix.comparisons {
            for place in 0..comparison.pairs.len() {
                let Some(then) = self.reference.cell(comparison, place) else { continue };
                let of = |condition| self.of_cell(comparison, &comparison.pairs[place], &then, condition);
                judged.extend(self.conditions.iter().filter_map(of));
            }
        }
        Gate { judged, accepted_changes }
    }

    /// `None` if the cell lacks the application.
    fn of_cell(&self, cell: &Comparison, pair: &PairResult, then: &Cell, condition: &Condition) -> Option<Judged> {
        if condition.application.as_ref().is_some_and(|name| pair.applications().all(|other| other != name)) {
            return None;
        }
        let (now, before) = condition.values(pair, then);
        let same_seeds = then.seeds.iter().zip(&cell.seeds).take_while(|(then, now)| then == now).count();
        let (ratio, judgement, why) = match (now, before) {
            _ if pair.outcomes.iter().any(|run| run.exit().is_some()) => {
                (BaselineRatio::NONE, Judgement::Ejected, Some("the scheduler was ejected".to_owned()))
            }
            (None, _) => (BaselineRatio::NONE, Judgement::Undecided, condition.why_not_measured(pair)),
            (Some(_), None) => {
                (BaselineRatio::NONE, Judgement::Undecided, Some("the baseline has no value".to_owned()))
            }
            (Some(now), Some(before)) => {
                let judged = verdict(&now, before, same_seeds, self.quantile(), condition);
                heeding(judged, pair, then)
            }
        };
        let (machine, workload, runs) = (cell.machine.clone(), cell.workload.clone(), pair.outcomes.len());
        let (pair, condition) = (pair.pair.to_string(), condition.to_string());
        Some(Judged { machine, workload, pair, condition, judgement, ratio, why, runs })
    }

    fn quantile(&self) -> f64 {
        1.0 - (1.0 - TWO_SIDED) / self.looks.max(1) as f64
    }
}

impl Reference<'_> {
    /// What a pair of a comparison is judged against; `None`: nothing.
    fn cell(&self, comparison: &Comparison, place: usize) -> Option<Cow<'_, Cell>> {
        match self {
            Self::Baseline { baseline, was } => {
                let name = was.get(place).cloned().unwrap_or_else(|| comparison.pairs[place].pair.to_string());
                baseline.cell(&comparison.machine, &comparison.workload, &name).map(Cow::Borrowed)
            }
            Self::FirstPair => (place > 0).then(|| Cow::Owned(Cell::of(comparison, &comparison.pairs[0]))),
        }
    }
}

impl Gate {
    /// How many were judged so.
    pub fn count(&self, judgement: Judgement) -> usize {
        self.judged.iter().filter(|judged| judged.judgement == judgement).count()
    }
}

impl Judged {
    /// Whether more runs may decide: both sides have a value, and heeded the same.
    fn wants_runs(&self) -> bool {
        let measured = self.ratio.ratio.is_some() || self.why.as_deref() == Some(OF_ZERO);
        self.judgement == Judgement::Undecided && measured && !self.is_unlike()
    }

    /// Whether one side ignored what the workload asks for and the other heeded, so that no number of runs decides.
    pub fn is_unlike(&self) -> bool {
        self.why.as_deref().is_some_and(|why| why.contains(IGNORES))
    }
}

/// What was judged, undecided where one side heeded what the other did not: who ignores a limit does more.
fn heeding(judged: Verdict, pair: &PairResult, then: &Cell) -> Verdict {
    let now = pair.ignored();
    let only =
        |of: Vec<&str>, other: &dyn Fn(&str) -> bool| of.into_iter().find(|what| !other(what)).map(str::to_owned);
    let by_now = only(now.keys().copied().collect(), &|what| then.ignored.iter().any(|it| it == what));
    let by_then = only(then.ignored.iter().map(String::as_str).collect(), &|what| now.contains_key(what));
    let why = match (by_now, by_then) {
        (Some(what), _) => format!("{IGNORES} {what}"),
        (None, Some(what)) => format!("the reference {IGNORES} {what}"),
        (None, None) => return judged,
    };
    (judged.0, Judgement::Undecided, Some(why))
}

const IGNORES: &str = "ignores";

/// A ratio, what it says, and why it says nothing.
type Verdict = (BaselineRatio, Judgement, Option<String>);

/// Why there is no ratio where both were measured.
const OF_ZERO: &str = "the baseline is 0";

fn verdict(
    now: &BaselineValue,
    before: &BaselineValue,
    same_seeds: usize,
    quantile: f64,
    condition: &Condition,
) -> Verdict {
    // Of nothing there is no ratio: nothing is as good as nothing, and something is more than any limit.
    if before.mean == 0.0 {
        let least = now.mean - now.half_width.unwrap_or(f64::INFINITY);
        return match (now.mean == 0.0, least > 0.0, condition.side) {
            (true, ..) => (BaselineRatio::NONE, Judgement::NotWorse, None),
            (false, true, Side::Above) => (BaselineRatio::NONE, Judgement::Worse, Some(OF_ZERO.to_owned())),
            _ => (BaselineRatio::NONE, Judgement::Undecided, Some(OF_ZERO.to_owned())),
        };
    }
    let Ratio { estimate, paired } = ratio(now, before, same_seeds, quantile);
    let judgement = condition.judge(&estimate);
    let why = match (judgement, estimate.half_width) {
        (Judgement::Undecided, None) => Some("one run has no interval".to_owned()),
        (Judgement::Undecided, Some(_)) => Some("the limit is within the interval".to_owned()),
        _ => None,
    };
    let ratio = BaselineRatio { ratio: Some(estimate.mean), ratio_half_width: estimate.half_width, paired };
    (ratio, judgement, why)
}

impl BaselineRatio {
    const NONE: Self = Self { ratio: None, ratio_half_width: None, paired: false };

    /// The ratio as an estimate.
    pub fn estimate(&self) -> Option<Estimate> {
        Some(Estimate { mean: self.ratio?, half_width: self.ratio_half_width })
    }
}

impl Condition {
    /// What is judged: the value of `pair`, and that of the baseline's cell.
    fn values<'b>(&self, pair: &PairResult, then: &'b Cell) -> (Option<BaselineValue>, Option<&'b BaselineValue>) {
        let (metric, key) = (self.metric, self.metric.key());
        match &self.application {
            None => (BaselineValue::of(pair, metric), then.metrics.get(key)),
            Some(name) => (
                BaselineValue::of_application(pair, metric, name),
                then.applications.get(name).and_then(|metrics| metrics.get(key)),
            ),
        }
    }

    fn why_not_measured(&self, pair: &PairResult) -> Option<String> {
        match &self.application {
            None => pair.metric(self.metric).value.as_ref().err().map(ToString::to_string),
            Some(name) => pair.of_application(self.metric, name)?.err().map(|why| why.to_string()),
        }
    }

    /// Which side of the limit the interval of `ratio` is on.
    fn judge(&self, ratio: &Estimate) -> Judgement {
        let Some(half) = ratio.half_width else { return Judgement::Undecided };
        let (least, most) = (ratio.mean - half, ratio.mean + half);
        let (worse, fine) = match self.side {
            Side::Above => (least > self.limit, most <= self.limit),
            Side::Below => (most < self.limit, least >= self.limit),
        };
        match (worse, fine) {
            (true, _) => Judgement::Worse,
            (_, true) => Judgement::NotWorse,
            _ => Judgement::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(runs: &[f64]) -> BaselineValue {
        let Estimate { mean, half_width } = Estimate::of_mean(runs).unwrap();
        BaselineValue { mean, half_width, runs: Some(runs.to_vec()) }
    }

    fn decided(now: &[f64], before: &[f64], condition: &str) -> Judgement {
        verdict(&value(now), &value(before), now.len(), TWO_SIDED, &condition.parse().unwrap()).1
    }

    #[test]
    fn the_whole_interval_must_be_beyond_the_limit() {
        let condition: Condition = "energy > 1.02".parse().unwrap();
        let judged = |mean: f64, half: f64| condition.judge(&Estimate { mean, half_width: Some(half) });
        assert_eq!(judged(1.05, 0.02), Judgement::Worse);
        assert_eq!(judged(1.05, 0.04), Judgement::Undecided);
        assert_eq!(judged(1.01, 0.02), Judgement::Undecided);
        assert_eq!(judged(1.0, 0.015), Judgement::NotWorse);
        assert_eq!(condition.judge(&Estimate { mean: 9.0, half_width: None }), Judgement::Undecided);
        let rate: Condition = "throughput < 0.98".parse().unwrap();
        assert_eq!(rate.judge(&Estimate { mean: 0.9, half_width: Some(0.01) }), Judgement::Worse);
        assert_eq!(rate.judge(&Estimate { mean: 1.5, half_width: Some(0.01) }), Judgement::NotWorse);
    }

    #[test]
    fn the_same_runs_are_not_worse_however_much_they_scatter() {
        assert_eq!(decided(&[1.0, 2.0, 9.0], &[1.0, 2.0, 9.0], "energy > 1.001"), Judgement::NotWorse);
    }

    #[test]
    fn of_nothing_something_is_worse_and_nothing_is_not() {
        assert_eq!(decided(&[0.0, 0.0], &[0.0, 0.0], "energy > 1.02"), Judgement::NotWorse);
        assert_eq!(decided(&[3.0, 3.1, 3.0], &[0.0, 0.0, 0.0], "energy > 1.02"), Judgement::Worse);
        assert_eq!(decided(&[0.0, 0.1, 0.0], &[0.0, 0.0, 0.0], "energy > 1.02"), Judgement::Undecided);
    }
}
