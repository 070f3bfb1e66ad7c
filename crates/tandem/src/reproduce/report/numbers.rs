// SPDX-License-Identifier: GPL-2.0-only
//! How the numbers of reports are written.

use tandem_experiments::{Bound, CellResult, Estimate, Unit};

use crate::quantity::NOTHING;

/// The published value: `≤ 4`.
pub fn published(cell: &CellResult) -> String {
    let Some(value) = cell.published else { return NOTHING.to_owned() };
    let bound = match cell.bound {
        None => "",
        Some(Bound::AtMost) => "≤ ",
        Some(Bound::AtLeast) => "≥ ",
    };
    format!("{bound}{}", grouped(&value.to_string()))
}

/// The verdict: `agrees`, or `agrees, derived` where it is not counted.
pub fn verdict(cell: &CellResult) -> String {
    let name = cell.verdict.name();
    if cell.derived.is_some() { format!("{name}, derived") } else { name.to_owned() }
}

/// Whether a judged number holds by the strict rule.
pub fn strict(cell: &CellResult) -> &'static str {
    match cell.score {
        None => "",
        Some(score) if score.strict => "yes",
        Some(_) => "no",
    }
}

/// What "no effect" is of a judged number, and whether that would agree: `480, agrees`.
pub fn no_effect(cell: &CellResult) -> String {
    let Some(score) = cell.score else { return String::new() };
    let value = short(score.neutral);
    // As the papers print them: 480 and 0.97, not 480.0 and 0.9700.
    let value = if value.contains('.') { value.trim_end_matches('0').trim_end_matches('.') } else { &value };
    format!("{value}{}", if score.no_effect_agrees { ", agrees" } else { "" })
}

/// The value of ours: `1.13 ± 0.02`.
pub fn ours(cell: &CellResult) -> String {
    let Some(Estimate { mean, half_width }) = cell.ours else { return NOTHING.to_owned() };
    let decimals = decimals(mean);
    let number = |value: f64| grouped(&format!("{value:.decimals$}"));
    match half_width {
        None => number(mean),
        Some(half) if half > 0.0 && half < 0.5 * 10f64.powi(-(decimals as i32)) => {
            format!("{} ± <{}", number(mean), number(10f64.powi(-(decimals as i32))))
        }
        Some(half) => format!("{} ± {}", number(mean), number(half)),
    }
}

/// Four digits, but no more than four behind the point.
fn decimals(value: f64) -> usize {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    (3 - magnitude).clamp(0, 4) as usize
}

/// Four digits of a value.
pub fn short(value: f64) -> String {
    grouped(&format!("{value:.*}", decimals(value)))
}

/// With thin groups of three from five digits on.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() < 5 {
        return text.to_owned();
    }
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// `+3.2 %`, or `+3.2 pp` for percentages.
pub fn deviation(unit: &Unit, cell: &CellResult) -> String {
    match (cell.deviation, unit) {
        (None, _) => String::new(),
        (Some(points), Unit::Points(_)) => format!("{} pp", signed(points)),
        (Some(percent), _) => format!("{} %", signed(percent)),
    }
}

/// A tenth's precision, with its sign unless it rounds to nothing.
pub fn signed(value: f64) -> String {
    if value.abs() < 0.05 { "0.0".to_owned() } else { format!("{value:+.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_and_groups_of_three() {
        assert_eq!(
            [short(1.23456), short(0.012_34), short(123.44), short(-12345.6)],
            ["1.235", "0.0123", "123.4", "-12 346"]
        );
        assert_eq!(grouped("1153407308"), "1 153 407 308");
        assert_eq!(grouped("1234.5"), "1234.5");
        assert_eq!([signed(-0.04), signed(0.06), signed(-12.34)], ["0.0", "+0.1", "-12.3"]);
    }
}
