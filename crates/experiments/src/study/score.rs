// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much a number that was judged says: whether it holds by a stricter rule, and whether "no effect" would have agreed, too.
//!
//! *Strict* measures by the effect, not by the value: ours holds if it is off by no more than a quarter of what the published
//! value differs from "no effect", or by half a unit of the last digit that the paper prints, and if it is on the same side of
//! "no effect". 502 W published, idle at 480 W, allow 5.5 W and not 50.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::result::{CellResult, ExperimentResult, SeriesResult};
use super::verdict::{Published, Verdict};
use crate::paper::Bound;

/// The part of an effect by which ours may be off.
const PART: f64 = 0.25;
/// Fewest pairs of numbers that have a correlation: two always lie on a line.
const FEWEST: usize = 3;

/// How much a judged number says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// The value that means "no effect", in the unit of the series.
    pub neutral: f64,
    /// Whether ours holds by the strict rule.
    pub strict: bool,
    /// Whether "no effect" itself is within the tolerance of *agrees*, so that agreeing says little.
    pub no_effect_agrees: bool,
}

impl Score {
    /// The score of `ours`, where `neutral` means "no effect".
    pub fn of(published: &Published<'_>, ours: f64, neutral: f64) -> Self {
        let effect = published.value - neutral;
        let digit = half_unit(published.value);
        let tolerance = (PART * effect.abs()).max(digit);
        let same_side = (ours - neutral) * effect > 0.0 || effect.abs() <= digit;
        let kept = match published.bound {
            None => false,
            Some(Bound::AtMost) => ours <= published.value,
            Some(Bound::AtLeast) => ours >= published.value,
        };
        let strict = kept || ((ours - published.value).abs() <= tolerance && same_side);
        Self { neutral, strict, no_effect_agrees: published.is_within(neutral) }
    }
}

/// Half a unit of the last digit that is printed of `value`: 0.5 of 37, 0.005 of 0.73.
fn half_unit(value: f64) -> f64 {
    let text = value.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    0.5 * 10f64.powi(-(decimals as i32))
}

/// How many numbers were judged, and how many of them hold by which rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Numbers with a verdict, derived ones among them.
    pub judged: usize,
    /// How many agree.
    pub agrees: usize,
    /// How many "no effect" would agree with.
    pub no_effect_agrees: usize,
    /// How many hold by the strict rule.
    pub strict: usize,
}

impl Tally {
    fn count(&mut self, cell: &CellResult, score: &Score) {
        self.judged += 1;
        self.agrees += usize::from(cell.verdict == Verdict::Agrees);
        self.no_effect_agrees += usize::from(score.no_effect_agrees);
        self.strict += usize::from(score.strict);
    }

    fn add(&mut self, other: &Self) {
        self.judged += other.judged;
        self.agrees += other.agrees;
        self.no_effect_agrees += other.no_effect_agrees;
        self.strict += other.strict;
    }
}

/// Tallies of a paper.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Scores {
    /// All numbers that were judged.
    pub all: Tally,
    /// Tally of numbers that are no arithmetic of others.
    pub independent: Tally,
    /// Tally of numbers that "no effect" would not agree with.
    pub informative: Tally,
    /// Tally of numbers that are both.
    pub informative_independent: Tally,
}

impl Scores {
    /// The tallies of `experiments`.
    pub fn of(experiments: &[ExperimentResult]) -> Self {
        let mut scores = Self::default();
        for cell in experiments.iter().flat_map(|experiment| &experiment.series).flat_map(|series| &series.cells) {
            let Some(score) = &cell.score else { continue };
            let (independent, informative) = (cell.is_independent(), !score.no_effect_agrees);
            scores.all.count(cell, score);
            for (counts, tally) in [
                (independent, &mut scores.independent),
                (informative, &mut scores.informative),
                (independent && informative, &mut scores.informative_independent),
            ] {
                if counts {
                    tally.count(cell, score);
                }
            }
        }
        scores
    }

    /// Adds the tallies of others.
    pub fn add(&mut self, other: &Self) {
        self.all.add(&other.all);
        self.independent.add(&other.independent);
        self.informative.add(&other.informative);
        self.informative_independent.add(&other.informative_independent);
    }
}

/// How our effects go with the published ones, in one table and unit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Correlation {
    /// The unit of the numbers.
    pub unit: String,
    /// How many numbers were judged and are no arithmetic of others.
    pub n: usize,
    /// Pearson's coefficient of our effects (ours less "no effect") and the published ones; `null` where either do not vary.
    pub r: Option<f64>,
}

impl Correlation {
    /// The correlations in `series`, one for each unit with three numbers or more.
    pub fn of<'a>(series: impl IntoIterator<Item = &'a SeriesResult>) -> Vec<Self> {
        let mut effects: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for series in series {
            for cell in series.cells.iter().filter(|cell| cell.is_independent()) {
                if let (Some(score), Some(published), Some(ours)) = (&cell.score, cell.published, cell.ours) {
                    let pair = (published - score.neutral, ours.mean - score.neutral);
                    effects.entry(series.unit.name()).or_default().push(pair);
                }
            }
        }
        let several = effects.into_iter().filter(|(_, pairs)| pairs.len() >= FEWEST);
        several.map(|(unit, pairs)| Self { unit: unit.to_owned(), n: pairs.len(), r: pearson(&pairs) }).collect()
    }
}

/// Pearson's coefficient; `None` where one side does not vary.
fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / n, y + pair.1 / n));
    let sums = pairs
        .iter()
        .map(|pair| (pair.0 - x, pair.1 - y))
        .fold([0.0; 3], |sums: [f64; 3], (x, y)| [sums[0] + x * x, sums[1] + y * y, sums[2] + x * y]);
    (sums[0] > 0.0 && sums[1] > 0.0).then(|| sums[2] / (sums[0] * sums[1]).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Unit;

    fn score(unit: &str, value: f64, bound: Option<Bound>, neutral: f64, ours: f64) -> Score {
        let unit = Unit::of(unit);
        Score::of(&Published { value, bound, unit: &unit, reference: None }, ours, neutral)
    }

    #[test]
    fn a_quarter_of_the_effect_holds_and_not_a_tenth_of_the_value() {
        // 500 W, idle at 480 W: 20 W of effect allow 5 W, while 450 W agree.
        let of = |ours| score("W", 500.0, None, 480.0, ours);
        assert_eq!([495.0, 505.0, 494.9, 505.1].map(|ours| of(ours).strict), [true, true, false, false]);
        // Idle itself is within a tenth of 500 W.
        assert!(of(500.0).no_effect_agrees);
        // 30 % against none: 7.5 points; none is 30 points off.
        let of = |ours| score("%", 30.0, None, 0.0, ours);
        assert_eq!([22.5, 37.5, 22.4].map(|ours| of(ours).strict), [true, true, false]);
        assert!(!of(30.0).no_effect_agrees);
    }

    #[test]
    fn the_last_digit_that_is_printed_is_allowed_for() {
        // 1 % may have been 0.5 to 1.5 %; a quarter of it would be 0.75 to 1.25 %.
        let of = |ours| score("%", 1.0, None, 0.0, ours).strict;
        assert_eq!([0.5, 1.5, 0.4, 1.6].map(of), [true, true, false, false]);
        // 0.97: 0.005, a quarter of 0.03 is 0.0075.
        let of = |ours| score("ratio", 0.97, None, 1.0, ours).strict;
        assert_eq!([0.977, 0.978].map(of), [true, false]);
        assert_eq!([half_unit(37.0), half_unit(0.73), half_unit(-5.5)], [0.5, 0.005, 0.05]);
    }

    #[test]
    fn the_wrong_side_never_holds_unless_the_digit_hides_the_side() {
        // 4 % with an effect of 0.4 points, as no effect is 3.6 %: half a unit allows 0.5 points, on either side.
        assert_eq!([3.5, 4.5, 3.4].map(|ours| score("%", 4.0, None, 3.6, ours).strict), [true, true, false]);
        // An effect of 1 point is more than that: below 3 % is the wrong side, though within a tenth of 4 %.
        assert_eq!([3.6, 2.9].map(|ours| score("%", 4.0, None, 3.0, ours).strict), [true, false]);
        // "0 %" has no side: half a percent on either.
        assert_eq!([0.5, -0.5, 0.6].map(|ours| score("%", 0.0, None, 0.0, ours).strict), [true, true, false]);
    }

    #[test]
    fn a_limit_that_is_kept_holds() {
        assert!(score("ratio", 2.0, Some(Bound::AtLeast), 1.0, 9.0).strict);
        assert!(!score("ratio", 2.0, Some(Bound::AtLeast), 1.0, 1.4).strict);
        // No effect keeps "at most 4", and not "at least 4".
        assert!(score("ratio", 4.0, Some(Bound::AtMost), 1.0, 2.0).no_effect_agrees);
        assert!(!score("ratio", 4.0, Some(Bound::AtLeast), 1.0, 4.0).no_effect_agrees);
    }

    #[test]
    fn correlation_is_pearsons() {
        // By hand: means 2 and 3; deviations (-1, -1), (0, -1), (1, 2); 3 / sqrt(2 x 6).
        let r = pearson(&[(1.0, 2.0), (2.0, 2.0), (3.0, 5.0)]).unwrap();
        assert!((r - 3.0 / 12f64.sqrt()).abs() < 1e-12, "{r}");
        assert_eq!(pearson(&[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]), None);
    }
}
