// SPDX-License-Identifier: MIT OR Apache-2.0
//! An elasticity from a result with a value as it is, and moved twice: smaller and larger, or where only one way is allowed, that way
//! and half of it.
//!
//! The result is taken for `a + b·vᵖ` of the value `v` with `-2 ≤ p ≤ 2`, which three points determine. Energy of a power is that
//! with `p = 1`, time at a clock with `p = -1`, power of a voltage with `p = 2`: for them the elasticity `v/y · dy/dv` is exact,
//! however far the value was moved. Where the points follow no such law the elasticity is that of the straight line between the outer
//! ones.

/// A result where the value was moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// By which share the value was moved: negative for less.
    pub share: f64,
    /// What came of it.
    pub result: f64,
}

/// Largest exponent of a law, whatever its sign.
const LARGEST_EXPONENT: f64 = 2.0;
/// Halvings until the exponent is exact.
const HALVINGS: u32 = 60;
/// Differences below this share of a result are rounding.
const ROUNDING: f64 = 1e-12;

/// Change of a result in percent per percent of the value, from where that was moved, in ascending order; `None` without any, or if
/// the result is 0.
pub fn elasticity(unmoved: f64, moved: &[Point]) -> Option<f64> {
    let (first, last) = (moved.first()?, moved.last()?);
    if unmoved == 0.0 {
        return None;
    }
    // Both ways the outer points, one way the one that is further off.
    let line = || match first.share.signum() == last.share.signum() {
        false => (last.result - first.result) / (last.share - first.share),
        true => {
            let far = if first.share.abs() > last.share.abs() { first } else { last };
            (far.result - unmoved) / far.share
        }
    };
    let elasticity = by_law(unmoved, *first, *last).unwrap_or_else(line) / unmoved;
    // Neither -0 nor the last digits of a sum.
    Some(if elasticity.abs() < ROUNDING { 0.0 } else { elasticity })
}

/// The slope at the unmoved value of the law through it and two points; `None` if there is none.
fn by_law(unmoved: f64, one: Point, other: Point) -> Option<f64> {
    let (by_one, by_other) = (one.result - unmoved, other.result - unmoved);
    let smallest = ROUNDING * unmoved.abs();
    if one.share == other.share || by_one.abs() <= smallest || by_other.abs() <= smallest {
        return None;
    }
    // How often the one is in the other: it only grows with the exponent, or only falls.
    let wanted = by_one / by_other;
    let ratio = |exponent: f64| grown(one.share, exponent) / grown(other.share, exponent);
    let (mut low, mut high) = (-LARGEST_EXPONENT - 1e-6, LARGEST_EXPONENT + 1e-6);
    let grows = ratio(high) > ratio(low);
    let below = |exponent: f64| (ratio(exponent) < wanted) == grows;
    if !below(low) || below(high) {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if below(middle) { low = middle } else { high = middle }
    }
    Some(by_one / grown(one.share, (low + high) / 2.0))
}

/// `((1 + share)^exponent - 1) / exponent`, whose slope at a share of 0 is 1; its limit, the logarithm, where the exponent is 0.
fn grown(share: f64, exponent: f64) -> f64 {
    let logarithm = share.ln_1p();
    if exponent.abs() < 1e-9 { logarithm } else { (exponent * logarithm).exp_m1() / exponent }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(result: impl Fn(f64) -> f64, shares: &[f64]) -> f64 {
        let at = |share: &f64| Point { share: *share, result: result(1.0 + share) };
        elasticity(result(1.0), &shares.iter().map(at).collect::<Vec<_>>()).unwrap()
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    #[test]
    fn physical_laws_are_exact_however_far_a_value_is_moved() {
        for shares in [[-0.2, 0.2], [-0.2, 0.05], [-0.2, -0.1], [0.1, 0.2]] {
            // 4 J of 5 J are the value's.
            close(of(|v| 4.0 * v + 1.0, &shares), 0.8);
            close(of(|v| 1.0 / v, &shares), -1.0);
            // Half of the time is at that clock.
            close(of(|v| 1.0 + 1.0 / v, &shares), -0.5);
            // A voltage: 3 J of 4 J grow with its square.
            close(of(|v| 3.0 * v * v + 1.0, &shares), 1.5);
            close(of(|v| 1.0 + v.ln(), &shares), 1.0);
        }
    }

    #[test]
    fn what_follows_no_law_has_the_slope_of_a_line() {
        // A limit that is reached only below: 10 % more for 20 % less, nothing above; over 40 %.
        let limit = |v: f64| if v < 1.0 { 1.1 } else { 1.0 };
        close(of(limit, &[-0.2, 0.2]), -0.25);
        // The same change both ways, and one way whatever the step.
        close(of(|v| if v == 1.0 { 1.0 } else { 1.1 }, &[-0.2, 0.2]), 0.0);
        close(of(limit, &[-0.2, -0.1]), -0.5);
        assert_eq!(of(|_| 3.0, &[-0.2, 0.2]), 0.0);
    }

    #[test]
    fn one_point_is_enough_and_nothing_has_none() {
        let point = |share, result| Point { share, result };
        close(elasticity(2.0, &[point(0.1, 2.1)]).unwrap(), 0.5);
        assert_eq!(elasticity(2.0, &[]), None);
        assert_eq!(elasticity(0.0, &[point(-0.2, 0.0), point(0.2, 0.0)]), None);
    }
}
