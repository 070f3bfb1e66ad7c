// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether schedulers change places where a value is moved.

use std::cmp::Ordering;

use crate::comparison::{Comparison, Metric};
use crate::scenario::pair::Pair;

/// By what schedulers are put in order.
const METRICS: [Metric; 3] = [Metric::Time, Metric::Energy, Metric::Edp];
/// Differences below this share are none, whatever the runs show: they would be printed as 0.0 %.
const NOTHING: f64 = 5e-4;

/// Two pairs of scheduler and governor that changed places.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// By what they are put in order.
    pub metric: Metric,
    /// By which share the value was moved: negative for less.
    pub share: f64,
    /// The pair that was better with the value as it is.
    pub was_better: Pair,
    /// The pair that is better where the value was moved.
    pub is_better: Pair,
    /// Whether the first pair was the best of all, and the second is now.
    pub wins: bool,
}

/// The pairs that have other places in `moved`, where a value was moved by `share`, than in `unmoved`. An order that runs do not
/// show is none: the interval of the ratio must exclude 1 on both sides.
pub fn turns(unmoved: &Comparison, share: f64, moved: &Comparison) -> Vec<Turn> {
    let mut turns = Vec::new();
    for metric in METRICS {
        let (before, after) = (best(unmoved, metric), best(moved, metric));
        for one in 0..unmoved.pairs.len() {
            for other in 0..unmoved.pairs.len() {
                let turned = order(unmoved, (one, other), metric) == Ordering::Less
                    && order(moved, (one, other), metric) == Ordering::Greater;
                if turned {
                    turns.push(Turn {
                        metric,
                        share,
                        was_better: unmoved.pairs[one].pair.clone(),
                        is_better: unmoved.pairs[other].pair.clone(),
                        wins: (before, after) == (Some(one), Some(other)),
                    });
                }
            }
        }
    }
    turns
}

/// Which of two pairs has less of `metric`, as far as the runs show it.
fn order(comparison: &Comparison, (one, other): (usize, usize), metric: Metric) -> Ordering {
    let Some(ratio) = comparison.pairs[one].ratio_to(&comparison.pairs[other], metric) else { return Ordering::Equal };
    let estimate = ratio.estimate;
    if estimate.includes_one() || (estimate.mean - 1.0).abs() < NOTHING {
        return Ordering::Equal;
    }
    estimate.mean.total_cmp(&1.0)
}

/// The pair with the least of `metric`.
fn best(comparison: &Comparison, metric: Metric) -> Option<usize> {
    let means = comparison.pairs.iter().enumerate().filter_map(|(index, pair)| {
        let value = pair.metric(metric).value.as_ref().ok()?;
        Some((index, value.mean))
    });
    means.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(index, _)| index)
}
