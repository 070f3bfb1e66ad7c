// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one rule by which a number of ours is judged against the published one.
//!
//! It *agrees* within 10 % of the published value, or within 2 percentage points where it is a percentage or a ratio. It
//! has the *same direction* if it is on the same side of "no effect" (0 % or a ratio of 1), or of another cell of the same
//! series, as the published one. Else it *differs*.

use serde::Serialize;

use crate::paper::{Bound, Unit};

/// A deviation that agrees, as a share of the published value.
const RELATIVE: f64 = 0.10;
/// A deviation of percentages that agrees, in percentage points.
const POINTS: f64 = 2.0;
/// What rounding of binary fractions may add to a deviation: 1.1 is within 10 % of 1.
const ROUNDING: f64 = 1e-9;

/// How a number of ours stands to the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Ours is within the tolerance.
    Agrees,
    /// Ours is not, but on the same side of "no effect", or in the same order.
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
    /// The published value that means "no effect" or stands beside, and that of ours.
    pub reference: Option<(f64, f64)>,
}

impl Published<'_> {
    /// The verdict on `ours`.
    pub fn judge(&self, ours: f64) -> Verdict {
        if self.agrees(ours) {
            return Verdict::Agrees;
        }
        match self.reference {
            Some((published, of_ours)) if side(self.value - published) == side(ours - of_ours) => {
                Verdict::SameDirection
            }
            _ => Verdict::Differs,
        }
    }

    fn agrees(&self, ours: f64) -> bool {
        let satisfied = match self.bound {
            None => false,
            Some(Bound::AtMost) => ours <= self.value,
            Some(Bound::AtLeast) => ours >= self.value,
        };
        let deviation = (ours - self.value).abs();
        let points = match self.unit {
            Unit::Points(_) => POINTS,
            Unit::Ratio => POINTS / 100.0,
            Unit::Absolute(_) => 0.0,
        };
        let tolerance = (RELATIVE * self.value.abs()).max(points);
        satisfied || deviation <= tolerance + ROUNDING * self.value.abs().max(ours.abs())
    }
}

/// -1, 0 or 1.
fn side(difference: f64) -> i8 {
    match difference {
        0.0 => 0,
        difference if difference < 0.0 => -1,
        _ => 1,
    }
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

    fn judged(unit: &str, value: f64, ours: f64) -> Verdict {
        let unit = Unit::of(unit);
        let reference = unit.neutral().map(|neutral| (neutral, neutral));
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
        // Of a small one the sign does not matter: 1 % and -1 % are 2 points apart.
        assert_eq!(judged("%", 1.0, -1.0), Agrees);
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
        assert_eq!(beside(200.0, 210.0), Verdict::SameDirection);
        assert_eq!(beside(200.0, 190.0), Verdict::Differs);
    }

    #[test]
    fn a_limit_is_kept_or_nearly() {
        let unit = Unit::of("ratio");
        let judge = |bound, ours| {
            Published { value: 4.0, bound: Some(bound), unit: &unit, reference: Some((1.0, 1.0)) }.judge(ours)
        };
        assert_eq!(judge(Bound::AtMost, 1.5), Verdict::Agrees);
        assert_eq!(judge(Bound::AtMost, 4.4), Verdict::Agrees);
        assert_eq!(judge(Bound::AtMost, 4.5), Verdict::SameDirection);
        assert_eq!(judge(Bound::AtLeast, 9.0), Verdict::Agrees);
        assert_eq!(judge(Bound::AtLeast, 3.6), Verdict::Agrees);
        assert_eq!(judge(Bound::AtLeast, 3.5), Verdict::SameDirection);
    }

    #[test]
    fn deviations_are_points_or_percent() {
        assert_eq!(deviation(&Unit::of("%"), 40.0, 45.0), Some(5.0));
        assert_eq!(deviation(&Unit::of("ratio"), 0.5, 0.75), Some(50.0));
        assert_eq!(deviation(&Unit::of("count"), 0.0, 3.0), None);
    }
}
