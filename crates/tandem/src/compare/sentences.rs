// SPDX-License-Identifier: GPL-2.0-only
//! The results of the comparison, as sentences.

use crate::compare::columns::Columns;
use crate::compare::label;
use crate::quantity::{percent, ratio, share};
use crate::table::paragraph;
use tandem_experiments::{Comparison, Estimate, Limits, Metric, PairResult};

/// From this ratio on a difference is told in times; below it in percent, as "1.004 times less" is no way to say 0.4 %.
const TIMES: f64 = 2.0;

/// How a metric's best pair is described.
struct Wording {
    metric: Metric,
    best: Best,
    verb: &'static str,
    /// Behind `25.0 %`.
    percent: &'static str,
    /// Behind `2.000`.
    times: &'static str,
}

/// Which value of a metric is the best, and what a small difference is a percentage of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    /// The least, told by how much less it is than the other: half of it is 50 % less.
    Least,
    /// The least, told by the speed that it stands for: in half of the time all is 100 % faster.
    Fastest,
    /// The most, told by how much more it is than the other.
    Most,
}

/// Runs that did all their work.
const WHOLE: &[Wording] = &[
    Wording {
        metric: Metric::Time,
        best: Best::Fastest,
        verb: "was",
        percent: "faster than",
        times: "times faster than",
    },
    Wording {
        metric: Metric::Energy,
        best: Best::Least,
        verb: "used",
        percent: "less energy than",
        times: "times less energy than",
    },
    Wording {
        metric: Metric::Edp,
        best: Best::Least,
        verb: "had",
        percent: "less EDP than",
        times: "times less EDP than",
    },
];

/// Sentences for runs that a time limit ended. Less energy may just mean less work, so both are told.
const LIMITED: &[Wording] = &[
    Wording {
        metric: Metric::Throughput,
        best: Best::Most,
        verb: "did",
        percent: "more work than",
        times: "times as much work as",
    },
    Wording {
        metric: Metric::Energy,
        best: Best::Least,
        verb: "used",
        percent: "less energy in the same time than",
        times: "times less energy in the same time than",
    },
];

impl Wording {
    /// `25.0 ± 2.6 % less energy than`, where the best value is better by the ratio `times` of both; `None` if that is
    /// printed as no difference, however sure it is.
    fn difference(&self, times: &Estimate) -> Option<String> {
        if times.mean >= TIMES {
            return Some(format!("{} {}", ratio(times), self.times));
        }
        let by = match self.best {
            Best::Fastest | Best::Most => Estimate { mean: times.mean - 1.0, ..*times },
            Best::Least => Estimate {
                mean: 1.0 - 1.0 / times.mean,
                half_width: times.half_width.map(|half| half / (times.mean * times.mean)),
            },
        };
        let nothing = share(&Estimate { mean: by.mean, half_width: None }) == percent(0.0);
        (!nothing).then(|| format!("{} {}", share(&by), self.percent))
    }
}

/// A sentence per metric that counts and has a column, under an empty line; nothing if there is nothing to compare.
pub fn render(comparison: &Comparison, columns: &Columns, width: Option<usize>) -> String {
    let wordings = match comparison.limits() {
        Limits::None => WHOLE,
        Limits::All => LIMITED,
        // Neither the time nor the work is the same: no sentence would be fair.
        Limits::Some => &[],
    };
    let sentences: Vec<String> = wordings
        .iter()
        .filter(|wording| columns.tells(wording.metric))
        .filter_map(|wording| sentence(comparison, wording))
        .map(|text| paragraph(&text, width))
        .collect();
    if sentences.is_empty() { String::new() } else { format!("\n{}", sentences.concat()) }
}

fn sentence(comparison: &Comparison, wording: &Wording) -> Option<String> {
    let measured: Vec<(&PairResult, &Estimate)> = comparison
        .pairs
        .iter()
        .filter(|pair| pair.without().is_none() && comparison.pairs.first().is_some_and(|first| pair.heeds_as(first)))
        .filter_map(|pair| Some((pair, pair.metric(wording.metric).value.as_ref().ok()?)))
        .collect();
    let by_mean = |(_, a): &&(_, &Estimate), (_, b): &&(_, &Estimate)| a.mean.total_cmp(&b.mean);
    let (best, _) = *match wording.best {
        Best::Least | Best::Fastest => measured.iter().min_by(by_mean),
        Best::Most => measured.iter().max_by(by_mean),
    }?;
    let (mut worse, mut equal) = (Vec::new(), Vec::new());
    for (pair, _) in measured.iter().filter(|(pair, _)| !std::ptr::eq(*pair, best)) {
        let times = match wording.best {
            Best::Least | Best::Fastest => pair.ratio_to(best, wording.metric)?,
            Best::Most => best.ratio_to(pair, wording.metric)?,
        }
        .estimate;
        match wording.difference(&times).filter(|_| !times.includes_one()) {
            None => equal.push(format!("{} (×{})", label(&pair.pair), ratio(&times))),
            Some(difference) => worse.push(format!("{difference} {}", label(&pair.pair))),
        }
    }
    let best = label(&best.pair);
    let difference = format!("no difference in {} is shown", wording.metric.title());
    match (worse.is_empty(), equal.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("Between {best} and {} {difference}.", list(&equal))),
        (false, true) => Some(format!("{best} {} {}.", wording.verb, list(&worse))),
        (false, false) => Some(format!("{best} {} {}; {difference} to {}.", wording.verb, list(&worse), list(&equal))),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(wording: &Wording, mean: f64, half_width: f64) -> Option<String> {
        wording.difference(&Estimate { mean, half_width: Some(half_width) })
    }

    #[test]
    fn small_differences_are_percent_and_large_ones_times() {
        let [time, energy, _] = WHOLE else { panic!("three sentences") };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(said(energy, 1.004, 0.001), some("0.4 ± 0.1 % less energy than"));
        // 0.8 are a fifth less; 0.05 of 1.25 are 0.032 of that.
        assert_eq!(said(energy, 1.25, 0.05), some("20.0 ± 3.2 % less energy than"));
        assert_eq!(said(time, 1.25, 0.04), some("25.0 ± 4.0 % faster than"));
        assert_eq!(said(time, 1.999, 0.04), some("99.9 ± 4.0 % faster than"));
        assert_eq!(said(time, 2.0, 0.04), some("2.000 ± 0.040 times faster than"));
        assert_eq!(said(&LIMITED[0], 1.6, 0.0), some("60.0 ± 0.0 % more work than"));
    }

    #[test]
    fn what_would_be_printed_as_nothing_is_no_difference() {
        for wording in WHOLE.iter().chain(LIMITED) {
            assert_eq!(said(wording, 1.0, 0.0), None);
            assert_eq!(said(wording, 1.0004, 0.0), None);
            assert!(said(wording, 1.002, 0.0).unwrap().starts_with("0.2 "));
        }
    }
}
