// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one rule by which a number of ours is judged against the published one.
//!
//! It *agrees* within 10 % of the published value, or within 2 percentage points where it is a percentage or a ratio, if
//! both are on the same side of "no effect" (0 %, a ratio of 1, or another cell of the same series): a small gain is no
//! small loss. It has the *same direction* if it is too far off, but on the same side, and its interval excludes "no
//! effect". Else it *differs*.

use schemars::JsonSchema;
use serde::Serialize;

use crate::paper::{Bound, Unit};
use crate::statistics::Estimate;

/// A deviation that agrees, as a share of the published value.
const RELATIVE: f64 = 0.10;
/// A deviation of percentages that agrees, in percentage points.
const POINTS: f64 = 2.0;
/// What rounding of binary fractions may add to a deviation: 1.1 is within 10 % of 1.
const ROUNDING: f64 = 1e-9;

/// How a number of ours stands to the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Ours is within the tolerance, and on the same side of "no effect".
    Agrees,
    /// Ours is not within the tolerance, but on the same side of "no effect", or in the same order, with 95 % confidence.
    SameDirection,
    /// Ours is neither.
    Differs,
    /// A parameter was fitted to the published value.
    Calibrated,
    /// There is nothing of ours to compare, for a reason.
    NotModelled,
    /// There is no published value.
    Predicted,
}

impl Verdict {
    /// All verdicts, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Agrees, Self::SameDirection, Self::Differs, Self::Calibrated, Self::NotModelled, Self::Predicted];

    /// The verdict for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::SameDirection => "same direction",
            Self::Differs => "differs",
            Self::Calibrated => "calibrated",
            Self::NotModelled => "not modelled",
            Self::Predicted => "predicted",
        }
    }
}

/// What a number of ours is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    /// The published value.
    pub value: f64,
    /// Whether the value is a limit.
    pub bound: Option<Bound>,
    /// The unit of the value.
    pub unit: &'a Unit,
    /// What means "no effect" or stands beside: the published value, and ours.
    pub reference: Option<(f64, Estimate)>,
}

impl Published<'_> {
    /// The verdict on `ours`.
    pub fn judge(&self, ours: Estimate) -> Verdict {
        let same_side = self.same_side(ours.mean);
        if self.keeps_bound(ours.mean) || (self.is_near(ours.mean) && same_side != Some(false)) {
            Verdict::Agrees
        } else if same_side == Some(true) && self.shows_effect(ours) {
            Verdict::SameDirection
        } else {
            Verdict::Differs
        }
    }

    /// Whether a value is within the tolerance of *agrees*, or keeps the limit, on whichever side of "no effect" it is.
    pub fn is_within(&self, value: f64) -> bool {
        self.keeps_bound(value) || self.is_near(value)
    }

    /// Whether the published value is a limit that `ours` keeps.
    fn keeps_bound(&self, ours: f64) -> bool {
        match self.bound {
            None => false,
            Some(Bound::AtMost) => ours <= self.value,
            Some(Bound::AtLeast) => ours >= self.value,
        }
    }

    /// Whether `ours` is within the tolerance of the published value.
    fn is_near(&self, ours: f64) -> bool {
        let points = match self.unit {
            Unit::Points(_) => POINTS,
            Unit::Ratio => POINTS / 100.0,
            Unit::Absolute(_) => 0.0,
        };
        let tolerance = (RELATIVE * self.value.abs()).max(points);
        (ours - self.value).abs() <= tolerance + rounding(ours, self.value)
    }

    /// Whether both are an improvement, or both the opposite; `None` where the published value has no effect whose side
    /// could be shared, or nothing says what "no effect" is.
    fn same_side(&self, ours: f64) -> Option<bool> {
        let (published, of_ours) = self.reference?;
        let wanted = side(self.value, published);
        (wanted != 0).then(|| side(ours, of_ours.mean) == wanted)
    }

    /// Whether the interval of our effect excludes 0. The errors of a cell and of the one beside are taken as independent.
    /// One run has no interval, so that nothing is excluded.
    fn shows_effect(&self, ours: Estimate) -> bool {
        let Some((_, of_ours)) = self.reference else { return false };
        let half_width = ours.half_width.zip(of_ours.half_width).map(|(own, other)| own.hypot(other));
        half_width.is_some_and(|half_width| (ours.mean - of_ours.mean).abs() > half_width)
    }
}

/// -1 if `value` is below `reference`, 1 if it is above, 0 if rounding may be all that tells them apart.
fn side(value: f64, reference: f64) -> i8 {
    match value - reference {
        difference if difference.abs() <= rounding(value, reference) => 0,
        difference if difference < 0.0 => -1,
        _ => 1,
    }
}

/// What rounding may add to the difference of two values.
fn rounding(one: f64, other: f64) -> f64 {
    ROUNDING * one.abs().max(other.abs())
}

/// How far `ours` is from `published`: percentage points for percentages, else percent of the published value; `None`
/// where that is 0.
pub fn deviation(unit: &Unit, published: f64, ours: f64) -> Option<f64> {
    match unit {
        Unit::Points(_) => Some(ours - published),
        _ if published == 0.0 => None,
        _ => Some(100.0 * (ours - published) / published.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that every seed gave.
    fn sure(mean: f64) -> Estimate {
        Estimate { mean, half_width: Some(0.0) }
    }

    fn judged(unit: &str, value: f64, ours: f64) -> Verdict {
        judged_with(unit, value, sure(ours))
    }

    fn judged_with(unit: &str, value: f64, ours: Estimate) -> Verdict {
        let unit = Unit::of(unit);
        let reference = unit.neutral().map(|neutral| (neutral, sure(neutral)));
        Published { value, bound: None, unit: &unit, reference }.judge(ours)
    }

    #[test]
    fn ten_percent_of_the_published_value_agree() {
        use Verdict::{Agrees, Differs};
        // 10 % of 300 W is 30 W.
        for (ours, verdict) in [(270.0, Agrees), (330.0, Agrees), (330.1, Differs), (269.9, Differs)] {
            assert_eq!(judged("W", 300.0, ours), verdict, "{ours}");
        }
        // Ours is not what the 10 % are of: 330 W is 9.1 % from 300 W that way.
        assert_eq!(judged("W", 300.0, 331.0), Differs);
        // In binary 1.1 is a little more than 1 + 0.1.
        assert_eq!(judged("s", 1.0, 1.1), Agrees);
    }

    #[test]
    fn two_points_of_a_small_percentage_agree() {
        use Verdict::{Agrees, Differs, SameDirection};
        for (ours, verdict) in
            [(5.0, Agrees), (1.0, Agrees), (5.1, SameDirection), (0.9, SameDirection), (-0.1, Differs)]
        {
            assert_eq!(judged("%", 3.0, ours), verdict, "{ours}");
        }
        // 10 % of 50 % are 5 points.
        assert_eq!(judged("percentage points", 50.0, 55.0), Agrees);
        assert_eq!(judged("%", 50.0, 55.1), SameDirection);
        assert_eq!(judged("%", -30.0, -20.0), SameDirection);
        assert_eq!(judged("%", -30.0, 20.0), Differs);
    }

    #[test]
    fn a_ratio_has_its_own_points_and_is_neutral_at_one() {
        use Verdict::{Agrees, Differs, SameDirection};
        // 10 % of 0.1 is 0.01, 2 points are 0.02.
        for (ours, verdict) in [(0.12, Agrees), (0.08, Agrees), (0.13, SameDirection), (1.5, Differs)] {
            assert_eq!(judged("ratio", 0.1, ours), verdict, "{ours}");
        }
        assert_eq!(judged("ratio", 1.5, 1.2), SameDirection);
        assert_eq!(judged("ratio", 1.5, 0.99), Differs);
        // Exactly no effect is neither side.
        assert_eq!(judged("ratio", 1.5, 1.0), Differs);
    }

    #[test]
    fn an_absolute_value_has_a_direction_only_beside_another() {
        let unit = Unit::of("W");
        let beside = |ours, other| {
            Published { value: 300.0, bound: None, unit: &unit, reference: Some((320.0, other)) }.judge(ours)
        };
        assert_eq!(judged("W", 300.0, 200.0), Verdict::Differs);
        assert_eq!(beside(sure(200.0), sure(210.0)), Verdict::SameDirection);
        assert_eq!(beside(sure(200.0), sure(190.0)), Verdict::Differs);
        // 3 W and 4 W make 5 W.
        let (ours, other) =
            (Estimate { mean: 200.0, half_width: Some(3.0) }, |mean| Estimate { mean, half_width: Some(4.0) });
        assert_eq!(beside(ours, other(205.1)), Verdict::SameDirection);
        assert_eq!(beside(ours, other(204.9)), Verdict::Differs);
        // As near as 299 W is, it is not less than what stands beside.
        assert_eq!(beside(sure(299.0), sure(298.0)), Verdict::Differs);
    }

    #[test]
    fn a_small_gain_does_not_agree_with_a_small_loss() {
        use Verdict::{Agrees, Differs};
        // 1 % and -1 % are 2 points apart, but one is more and the other less.
        assert_eq!(judged("%", 1.0, -1.0), Differs);
        assert_eq!(judged("%", 1.0, 0.1), Agrees);
        assert_eq!(judged("ratio", 0.99, 1.005), Differs);
        assert_eq!(judged("ratio", 1.01, 1.005), Agrees);
        // Nothing is neither side, and 1 but for its rounding is nothing.
        assert_eq!(judged("%", 1.0, 0.0), Differs);
        assert_eq!(judged("ratio", 1.01, 1.0 + 1e-12), Differs);
        // "No effect" has no side: what is near agrees.
        assert_eq!(judged("%", 0.0, -1.5), Agrees);
        assert_eq!(judged("ratio", 1.0, 1.015), Agrees);
        assert_eq!(judged("ratio", 1.0, 1.5), Differs);
    }

    #[test]
    fn a_direction_needs_an_interval_that_excludes_no_effect() {
        use Verdict::{Agrees, Differs, SameDirection};
        let with = |half_width| judged_with("%", 10.0, Estimate { mean: 5.0, half_width });
        assert_eq!(with(Some(4.9)), SameDirection);
        assert_eq!(with(Some(5.0)), Differs);
        assert_eq!(with(Some(6.0)), Differs);
        assert_eq!(with(None), Differs, "one run excludes nothing");
        // What is near needs no interval.
        assert_eq!(judged_with("%", 10.0, Estimate { mean: 9.0, half_width: None }), Agrees);
        assert_eq!(judged_with("ratio", 1.5, Estimate { mean: 1.2, half_width: Some(0.25) }), Differs);
    }

    #[test]
    fn a_limit_is_kept_or_nearly() {
        let unit = Unit::of("ratio");
        let judge = |bound, ours| {
            Published { value: 4.0, bound: Some(bound), unit: &unit, reference: Some((1.0, sure(1.0))) }
                .judge(sure(ours))
        };
        assert_eq!(judge(Bound::AtMost, 1.5), Verdict::Agrees);
        assert_eq!(judge(Bound::AtMost, 4.4), Verdict::Agrees);
        assert_eq!(judge(Bound::AtMost, 4.5), Verdict::SameDirection);
        assert_eq!(judge(Bound::AtLeast, 9.0), Verdict::Agrees);
        assert_eq!(judge(Bound::AtLeast, 3.6), Verdict::Agrees);
        assert_eq!(judge(Bound::AtLeast, 3.5), Verdict::SameDirection);
        // A limit that is kept is kept on either side of no effect; one that is nearly kept must be on the same.
        assert_eq!(judge(Bound::AtMost, 0.5), Verdict::Agrees);
        let unit = Unit::of("%");
        let least =
            Published { value: 1.0, bound: Some(Bound::AtLeast), unit: &unit, reference: Some((0.0, sure(0.0))) };
        assert_eq!(least.judge(sure(0.5)), Verdict::Agrees);
        assert_eq!(least.judge(sure(-0.5)), Verdict::Differs);
    }

    #[test]
    fn deviations_are_points_or_percent() {
        assert_eq!(deviation(&Unit::of("%"), 40.0, 45.0), Some(5.0));
        assert_eq!(deviation(&Unit::of("ratio"), 0.5, 0.75), Some(50.0));
        assert_eq!(deviation(&Unit::of("count"), 0.0, 3.0), None);
    }
}
