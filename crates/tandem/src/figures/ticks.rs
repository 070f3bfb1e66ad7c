// SPDX-License-Identifier: GPL-2.0-only
//! Round numbers on an axis.

/// Most ticks of an axis.
const MOST: f64 = 7.0;
/// If the largest number of an axis is not between these, numbers are written with an exponent.
const LARGE: f64 = 1e6;
const SMALL: f64 = 1e-3;

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, as many as have room, each with its text; `fits` says whether
/// all texts have room.
pub fn ticks(low: f64, high: f64, fits: impl Fn(&[(f64, String)]) -> bool) -> Vec<(f64, String)> {
    let least = (high - low) / MOST;
    let mut power = 10_f64.powi(least.log10().floor() as i32);
    let mut last = Vec::new();
    // Three decades: of the last step at most one multiple is within.
    for _ in 0..4 {
        for step in [1.0, 2.0, 5.0].map(|factor| factor * power).into_iter().filter(|step| *step >= least) {
            let found = multiples(low, high, step);
            if found.is_empty() {
                return last;
            }
            if fits(&found) {
                return found;
            }
            last = found;
        }
        power *= 10.0;
    }
    last
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<(f64, String)> {
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    let exponent = !(SMALL..LARGE).contains(&low.abs().max(high.abs()));
    (first..=last).map(|index| index as f64 * step).map(|value| (value, number(value, step, exponent))).collect()
}

/// A number with as many digits as multiples of `step` need.
fn number(value: f64, step: f64, exponent: bool) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    if exponent {
        let digits = (value.abs().max(step).log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.digits$e}") };
    }
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches('-').chars().all(|letter| letter == '0' || letter == '.') {
        return text.trim_start_matches('-').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64) -> Vec<String> {
        ticks(low, high, |_| true).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(-3.1, 9.9), ["-2", "0", "2", "4", "6", "8"]);
        assert_eq!(texts(0.93, 1.04), ["0.94", "0.96", "0.98", "1.00", "1.02", "1.04"]);
        assert_eq!(texts(1.0, 1.00016), ["1.00000", "1.00005", "1.00010", "1.00015"]);
        assert_eq!(texts(0.0, 3.2e7), ["0", "5e6", "1.0e7", "1.5e7", "2.0e7", "2.5e7", "3.0e7"]);
    }

    #[test]
    fn fewer_ticks_have_more_room() {
        let few = ticks(0.0, 100.0, |ticks| ticks.len() <= 3);
        assert_eq!(few.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), ["0", "50", "100"]);
    }
}
