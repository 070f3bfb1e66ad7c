// SPDX-License-Identifier: GPL-2.0-only
//! What the comparison comes to, in words.

use crate::compare::label;
use crate::compare::result::{Comparison, Metric, PairResult};
use crate::quantity::ratio;
use crate::statistics::Estimate;
use crate::table::paragraph;

/// How a metric's best pair is described.
struct Wording {
    metric: Metric,
    verb: &'static str,
    better: &'static str,
}

const WORDINGS: [Wording; 3] = [
    Wording { metric: Metric::Time, verb: "was", better: "times faster than" },
    Wording { metric: Metric::Energy, verb: "used", better: "times less energy than" },
    Wording { metric: Metric::Edp, verb: "had", better: "times less EDP than" },
];

/// One sentence each for time, energy and EDP, under an empty line; nothing if there is nothing to compare.
pub fn render(comparison: &Comparison, width: Option<usize>) -> String {
    let sentences: Vec<String> = WORDINGS
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
    let (best, least) = *measured.iter().min_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean))?;
    let (mut worse, mut equal) = (Vec::new(), Vec::new());
    for (pair, value) in measured.iter().filter(|(pair, _)| !std::ptr::eq(*pair, best)) {
        let times = value.ratio_to(least)?;
        if times.includes_one() {
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
