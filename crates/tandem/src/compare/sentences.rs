// SPDX-License-Identifier: GPL-2.0-only
//! The results of the comparison, as sentences.

use crate::compare::label;
use crate::quantity::ratio;
use crate::table::paragraph;
use tandem_experiments::{Comparison, Estimate, Limits, Metric, PairResult};

/// How a metric's best pair is described.
struct Wording {
    metric: Metric,
    best: Best,
    verb: &'static str,
    better: &'static str,
}

/// Which value of a metric is the best.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    Least,
    Most,
}

/// Runs that did all their work.
const WHOLE: &[Wording] = &[
    Wording { metric: Metric::Time, best: Best::Least, verb: "was", better: "times faster than" },
    Wording { metric: Metric::Energy, best: Best::Least, verb: "used", better: "times less energy than" },
    Wording { metric: Metric::Edp, best: Best::Least, verb: "had", better: "times less EDP than" },
];

/// Sentences for runs that a time limit ended. Less energy may just mean less work, so both are told.
const LIMITED: &[Wording] = &[
    Wording { metric: Metric::Throughput, best: Best::Most, verb: "did", better: "times as much work as" },
    Wording {
        metric: Metric::Energy,
        best: Best::Least,
        verb: "used",
        better: "times less energy in the same time than",
    },
];

/// A sentence per metric that counts, under an empty line; nothing if there is nothing to compare.
pub fn render(comparison: &Comparison, width: Option<usize>) -> String {
    let wordings = match comparison.limits() {
        Limits::None => WHOLE,
        Limits::All => LIMITED,
        // Neither the time nor the work is the same: no sentence would be fair.
        Limits::Some => &[],
    };
    let sentences: Vec<String> = wordings
        .iter()
        .filter_map(|wording| sentence(comparison, wording))
        .map(|text| paragraph(&text, width))
        .collect();
    if sentences.is_empty() { String::new() } else { format!("\n{}", sentences.concat()) }
}

fn sentence(comparison: &Comparison, wording: &Wording) -> Option<String> {
    let measured: Vec<(&PairResult, &Estimate)> = comparison
        .pairs
        .iter()
        .filter_map(|pair| Some((pair, pair.metric(wording.metric).value.as_ref().ok()?)))
        .collect();
    let by_mean = |(_, a): &&(_, &Estimate), (_, b): &&(_, &Estimate)| a.mean.total_cmp(&b.mean);
    let (best, best_value) = *match wording.best {
        Best::Least => measured.iter().min_by(by_mean),
        Best::Most => measured.iter().max_by(by_mean),
    }?;
    let (mut worse, mut equal) = (Vec::new(), Vec::new());
    for (pair, value) in measured.iter().filter(|(pair, _)| !std::ptr::eq(*pair, best)) {
        let times = match wording.best {
            Best::Least => value.ratio_to(best_value)?,
            Best::Most => best_value.ratio_to(value)?,
        };
        // A ratio that is printed as 1.000 is no difference, however sure it is.
        if times.includes_one() || times.mean < 1.0005 {
            equal.push(format!("{} (×{})", label(&pair.pair), ratio(&times)));
        } else {
            worse.push(format!("{} {} {}", ratio(&times), wording.better, label(&pair.pair)));
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
