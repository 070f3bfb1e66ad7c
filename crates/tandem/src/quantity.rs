// SPDX-License-Identifier: GPL-2.0-only
//! Numbers for people: four significant digits and an SI prefix.

use tandem_experiments::Estimate;

/// A unit of measurement and the largest prefix people use with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    symbol: &'static str,
    /// Exponent of ten of the largest prefix.
    largest: i32,
}

/// Time; kiloseconds are unusual.
pub const SECONDS: Unit = Unit { symbol: "s", largest: 0 };
/// Energy.
pub const JOULES: Unit = Unit { symbol: "J", largest: 9 };
/// Power.
pub const WATTS: Unit = Unit { symbol: "W", largest: 9 };
/// Energy per work, which is counted in seconds on the reference CPU.
pub const JOULES_PER_WORK: Unit = Unit { symbol: "J/s", largest: 9 };
/// Energy × time.
pub const JOULE_SECONDS: Unit = Unit { symbol: "J·s", largest: 9 };
/// Clock.
pub const HERTZ: Unit = Unit { symbol: "Hz", largest: 9 };
/// Events per second, and other counts.
pub const PER_SECOND: Unit = Unit { symbol: "/s", largest: 9 };
/// Bandwidth.
pub const BYTES_PER_SECOND: Unit = Unit { symbol: "B/s", largest: 9 };
/// Pure numbers around 1; never prefixed.
pub const NUMBER: Unit = Unit { symbol: "", largest: i32::MIN };
/// Small shares of one, shown as percent.
pub const PERCENT: Unit = Unit { symbol: "%", largest: i32::MIN };

const PREFIXES: [(i32, &str); 7] = [(-9, "n"), (-6, "µ"), (-3, "m"), (0, ""), (3, "k"), (6, "M"), (9, "G")];

/// The dash that is printed if there is no number.
pub const NOTHING: &str = "—";

/// How a number is scaled for printing.
struct Scale {
    divisor: f64,
    decimals: usize,
    suffix: String,
}

impl Scale {
    fn of(value: f64, unit: Unit) -> Self {
        match unit {
            NUMBER => return Self { divisor: 1.0, decimals: 3, suffix: String::new() },
            PERCENT => return Self { divisor: 0.01, decimals: 2, suffix: " %".to_owned() },
            _ => {}
        }
        let magnitude = magnitude(value);
        let (exponent, prefix) = PREFIXES
            .into_iter()
            .rev()
            .filter(|(exponent, _)| *exponent <= unit.largest)
            .find(|(exponent, _)| *exponent <= magnitude)
            .unwrap_or(PREFIXES[0]);
        let decimals = (3 - (magnitude - exponent)).clamp(0, 3) as usize;
        Self { divisor: 10f64.powi(exponent), decimals, suffix: format!(" {prefix}{}", unit.symbol) }
    }

    fn number(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.divisor)
    }

    /// Half of an interval, with as many decimals as the value has; `<0.01` if it would be rounded to `0.00`.
    fn half_width(&self, value: f64) -> String {
        let smallest = 10f64.powi(-(self.decimals as i32));
        if value > 0.0 && value / self.divisor < smallest / 2.0 {
            return format!("<{smallest:.*}", self.decimals);
        }
        self.number(value)
    }
}

/// Exponent of ten of `value` once it is rounded to four digits, so that 999.96 counts as 1000; 0 for 0.
fn magnitude(value: f64) -> i32 {
    if value == 0.0 {
        return 0;
    }
    let rounded = format!("{value:.3e}");
    rounded.rsplit('e').next().and_then(|exponent| exponent.parse().ok()).unwrap_or(0)
}

/// `12.34 ms`; a dash where `value` is no number.
pub fn quantity(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    if value == 0.0 {
        return format!("0 {}", unit.symbol).trim_end().to_owned();
    }
    let scale = Scale::of(value, unit);
    format!("{}{}", scale.number(value), scale.suffix)
}

/// `12.34 ± 0.05 ms`, or the value alone if there is no interval.
pub fn estimate(estimate: &Estimate, unit: Unit) -> String {
    let Some(half_width) = estimate.half_width else { return quantity(estimate.mean, unit) };
    let scale = Scale::of(estimate.mean, unit);
    format!("{} ± {}{}", scale.number(estimate.mean), scale.half_width(half_width), scale.suffix)
}

/// A ratio: `1.234 ± 0.005`.
pub fn ratio(ratio: &Estimate) -> String {
    let decimals = (3 - magnitude(ratio.mean)).clamp(0, 3) as usize;
    let scale = Scale { divisor: 1.0, decimals, suffix: String::new() };
    match ratio.half_width {
        None => scale.number(ratio.mean),
        Some(half_width) => format!("{} ± {}", scale.number(ratio.mean), scale.half_width(half_width)),
    }
}

/// A share of one with its interval: `12.3 ± 0.4 %`.
pub fn share(share: &Estimate) -> String {
    let scale = Scale { divisor: 0.01, decimals: 1, suffix: " %".to_owned() };
    let half_width = share.half_width.map_or(String::new(), |half| format!(" ± {}", scale.half_width(half)));
    format!("{}{half_width}{}", scale.number(share.mean), scale.suffix)
}

/// A share of one as `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count with thin groups of three: `12 345 678`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_and_a_prefix() {
        assert_eq!(quantity(0.0123, SECONDS), "12.30 ms");
        assert_eq!(quantity(1070.0, JOULES), "1.070 kJ");
        assert_eq!(quantity(2.362e9, HERTZ), "2.362 GHz");
        assert_eq!(quantity(0.0, JOULES), "0 J");
        assert_eq!(quantity(4321.0, SECONDS), "4321 s");
        assert_eq!(quantity(-0.25, WATTS), "-250.0 mW");
        assert_eq!(quantity(f64::NAN, WATTS), NOTHING);
    }

    #[test]
    fn rounding_up_takes_the_next_prefix() {
        assert_eq!(quantity(0.999_96, SECONDS), "1.000 s");
        assert_eq!(quantity(0.999_94, SECONDS), "999.9 ms");
    }

    #[test]
    fn the_smallest_prefix_takes_what_is_smaller_still() {
        assert_eq!(quantity(4.2e-12, JOULES), "0.004 nJ");
    }

    #[test]
    fn an_interval_shares_the_unit_and_the_decimals() {
        let some = |mean, half| Estimate { mean, half_width: Some(half) };
        assert_eq!(estimate(&some(0.01234, 0.0002), SECONDS), "12.34 ± 0.20 ms");
        assert_eq!(estimate(&some(0.9123, 0.0042), NUMBER), "0.912 ± 0.004");
        assert_eq!(estimate(&some(0.0123, 0.004), PERCENT), "1.23 ± 0.40 %");
        assert_eq!(estimate(&some(0.01234, 1e-9), SECONDS), "12.34 ± <0.01 ms");
        assert_eq!(estimate(&some(0.01234, 0.0), SECONDS), "12.34 ± 0.00 ms");
        assert_eq!(ratio(&some(12.345, 0.5)), "12.35 ± 0.50");
        assert_eq!(share(&some(0.004, 0.0011)), "0.4 ± 0.1 %");
        assert_eq!(share(&some(0.25, 1e-9)), "25.0 ± <0.1 %");
        assert_eq!(share(&Estimate { mean: 0.004, half_width: None }), "0.4 %");
    }

    #[test]
    fn counts_come_in_groups_of_three() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1234), "1 234");
        assert_eq!(count(123_456_789), "123 456 789");
    }
}
