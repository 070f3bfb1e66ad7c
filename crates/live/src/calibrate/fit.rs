// SPDX-License-Identifier: MIT OR Apache-2.0
//! What measured powers say of one core. Only arithmetic: no files, no time.

/// What one more core adds to a power, and what is left without any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Watts that each core adds.
    pub each: f64,
    /// Watts without any of them.
    pub rest: f64,
}

/// Of the power with one core and the power with `cores` cores that do the same: P(n) = rest + n · each. `None` for fewer than
/// two cores, whose share nothing tells from the rest.
pub fn share(with_one: f64, with_all: f64, cores: usize) -> Option<Share> {
    if cores < 2 {
        return None;
    }
    let each = (with_all - with_one) / (cores - 1) as f64;
    Some(Share { each, rest: with_one - each })
}

/// A core's power at an operating point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// MHz.
    pub mhz: f64,
    /// Volts.
    pub volts: f64,
    /// Watts of one busy core.
    pub watts: f64,
}

/// Watts of a core by clock and voltage: `coefficient` · 10⁻⁶ · MHz · V² + `leakage_watts_per_v` · V.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// µW/MHz/V², as device trees have it.
    pub coefficient: f64,
    /// W/V.
    pub leakage_watts_per_v: f64,
    /// The largest distance of a point from the curve, relative to the point.
    pub worst: f64,
}

impl Curve {
    /// Watts at a clock and voltage.
    pub fn watts(&self, mhz: f64, volts: f64) -> f64 {
        self.coefficient * 1e-6 * mhz * volts * volts + self.leakage_watts_per_v * volts
    }

    /// The curve nearest to the points: the sum of the squares of relative distances is the least. Neither part is below 0. `None`
    /// for fewer than three points, through which it always goes, and for points that do not tell switching from leakage.
    pub fn through(points: &[Point]) -> Option<Self> {
        if points.len() < 3 || points.iter().any(|point| point.watts <= 0.0 || point.volts <= 0.0) {
            return None;
        }
        // Each point is a row (a, b) with a · coefficient + b · leakage = 1.
        let rows = points
            .iter()
            .map(|point| (1e-6 * point.mhz * point.volts * point.volts / point.watts, point.volts / point.watts));
        let (mut aa, mut ab, mut bb, mut a1, mut b1) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (a, b) in rows {
            (aa, ab, bb, a1, b1) = (aa + a * a, ab + a * b, bb + b * b, a1 + a, b1 + b);
        }
        let determinant = aa * bb - ab * ab;
        // Rows that are multiples of each other: f · V is the same everywhere.
        if determinant <= 1e-6 * aa * bb {
            return None;
        }
        let (mut coefficient, mut leakage) = ((a1 * bb - b1 * ab) / determinant, (b1 * aa - a1 * ab) / determinant);
        if leakage < 0.0 {
            (coefficient, leakage) = (a1 / aa, 0.0);
        } else if coefficient < 0.0 {
            (coefficient, leakage) = (0.0, b1 / bb);
        }
        let mut curve = Self { coefficient, leakage_watts_per_v: leakage, worst: 0.0 };
        let distance = |point: &Point| (curve.watts(point.mhz, point.volts) / point.watts - 1.0).abs();
        curve.worst = points.iter().map(distance).fold(0.0, f64::max);
        Some(curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 W with one and 10 W with four: 2 W each, 2 W without any.
    #[test]
    fn each_core_adds_the_same() {
        assert_eq!(share(4.0, 10.0, 4), Some(Share { each: 2.0, rest: 2.0 }));
        assert_eq!(share(4.0, 4.0, 1), None);
    }

    fn points(of: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        // The A53 of hikey960.
        let clocks = [(533.0, 0.7), (999.0, 0.8), (1402.0, 0.9), (1709.0, 1.0), (1844.0, 1.1)];
        clocks.map(|(mhz, volts)| Point { mhz, volts, watts: of(mhz, volts) }).to_vec()
    }

    /// 110 µW/MHz/V² and 0.02 W/V: at the top 110 · 1844 · 1.21 µW + 0.022 W = 0.2454 W + 0.022 W.
    #[test]
    fn switching_and_leakage_come_back() {
        let curve = Curve::through(&points(|mhz, volts| 110e-6 * mhz * volts * volts + 0.02 * volts)).unwrap();
        assert!((curve.coefficient - 110.0).abs() < 1e-6 && (curve.leakage_watts_per_v - 0.02).abs() < 1e-9);
        assert!(curve.worst < 1e-9 && (curve.watts(1844.0, 1.1) - 0.267_44).abs() < 1e-4);
    }

    /// Every other point 1 % too large, the rest 1 % too small: the curve lies between.
    #[test]
    fn errors_of_points_stay_small_in_the_curve() {
        let mut off = points(|mhz, volts| 110e-6 * mhz * volts * volts + 0.02 * volts);
        for (number, point) in off.iter_mut().enumerate() {
            point.watts *= if number % 2 == 0 { 1.01 } else { 0.99 };
        }
        let curve = Curve::through(&off).unwrap();
        assert!((curve.coefficient / 110.0 - 1.0).abs() < 0.05, "{curve:?}");
        assert!((0.005..0.02).contains(&curve.worst), "{curve:?}");
    }

    #[test]
    fn no_part_is_below_nothing() {
        let curve = Curve::through(&points(|mhz, volts| 110e-6 * mhz * volts * volts - 0.005 * volts)).unwrap();
        assert_eq!(curve.leakage_watts_per_v, 0.0);
        let curve = Curve::through(&points(|mhz, volts| 0.5 * volts - 10e-6 * mhz * volts * volts)).unwrap();
        assert_eq!(curve.coefficient, 0.0);
    }

    #[test]
    fn points_that_do_not_tell_the_parts_apart_give_no_curve() {
        let alike = [600.0, 800.0, 1000.0].map(|mhz| Point { mhz, volts: 600.0 / mhz, watts: 0.3 / mhz });
        assert_eq!(Curve::through(&alike), None, "MHz times volts is the same at each");
        let all = points(|_, volts| volts);
        assert_eq!(Curve::through(&all[..2]), None);
    }
}
