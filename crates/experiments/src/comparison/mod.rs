// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several schedulers and governors on the same machine and workload, over the same seeds.
//!
//! `names` tells schedulers apart, [`ComparisonRuns`] simulates, `metric` computes the [`Comparison`], `application` the metrics
//! of one application; `words`: what people call metrics; `document` is its JSON.

mod application;
mod document;
mod metric;
mod names;
mod runs;
mod words;

use std::collections::BTreeMap;

use crate::scenario::pair::Pair;

pub(crate) use metric::measure;
pub use metric::{Measured, Metric, NotMeasured};
pub use names::tell_apart;
pub use runs::{ComparisonRuns, Outcome};
pub(crate) use runs::{Grid, slim};
pub(crate) use words::plain;

use crate::statistics::Ratio;
use metric::{ratio, work_of};

/// A pair and what its runs gave.
#[derive(Debug)]
pub struct PairResult {
    /// Scheduler and governor.
    pub pair: Pair,
    /// By seed.
    pub outcomes: Vec<Outcome>,
    /// In the order of [`Metric::ALL`].
    metrics: Vec<Measured>,
}

impl PairResult {
    /// One metric.
    pub fn metric(&self, metric: Metric) -> &Measured {
        &self.metrics[metric as usize]
    }

    /// What the scheduler lacked of itself, if it ran so: its results are shown, and no conclusion is drawn from them.
    pub fn without(&self) -> Option<&str> {
        self.outcomes.iter().find_map(|run| run.report.sched_ext.as_ref()?.without.as_deref())
    }

    /// What the workload asks for and the scheduler did not heed in some run, and how that is known of the first: a limit or a weight
    /// that is ignored is work that others are not allowed.
    pub fn ignored(&self) -> BTreeMap<&str, &str> {
        let mut ignored = BTreeMap::new();
        for it in self.outcomes.iter().flat_map(Outcome::ignored) {
            ignored.entry(it.what.as_str()).or_insert(it.why.as_str());
        }
        ignored
    }

    /// Whether both heeded the same of what the workload asks for, so that a difference is one of schedulers.
    pub fn heeds_as(&self, other: &Self) -> bool {
        self.ignored().keys().eq(other.ignored().keys())
    }

    /// `metric` over that of `base`, another pair of the same comparison; `None` where one of both was not measured or the
    /// latter is 0.
    pub fn ratio_to(&self, base: &Self, metric: Metric) -> Option<Ratio> {
        ratio(metric, &self.outcomes, &base.outcomes)
    }
}

/// Which runs a time limit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// None: all did all their work.
    None,
    /// Some: neither their times nor their work can be compared.
    Some,
    /// All: they took the same time.
    All,
}

/// What a comparison gave. As JSON it has the fields that docs/reports.md describes.
#[derive(Debug)]
pub struct Comparison {
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// Whether the runs had what every system does beside its workload.
    pub disturbed: bool,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// In the order given; the first is the reference.
    pub pairs: Vec<PairResult>,
}

impl Comparison {
    /// Computes the metrics of `outcomes`, which are by pair, then by seed.
    fn of(machine: &str, workload: &str, pairs: Vec<Pair>, seeds: Vec<u64>, outcomes: Vec<Vec<Outcome>>) -> Self {
        let reference = outcomes.first().cloned().unwrap_or_default();
        let pair_results = pairs.into_iter().zip(outcomes).map(|(pair, outcomes)| {
            let measured =
                |metric| Measured { value: measure(metric, &outcomes), ratio: ratio(metric, &outcomes, &reference) };
            PairResult { metrics: Metric::ALL.map(measured).to_vec(), pair, outcomes }
        });
        let (machine, workload) = (machine.to_owned(), workload.to_owned());
        Self { machine, workload, disturbed: false, seeds, pairs: pair_results.collect() }
    }

    /// How many of the runs a sched_ext scheduler did not see the end of; fair finished them.
    pub fn ejected(&self) -> usize {
        let runs = self.pairs.iter().flat_map(|pair| &pair.outcomes);
        runs.filter(|run| run.exit().is_some()).count()
    }

    /// Whether pairs did different work with the same seed, so that their energies alone do not compare.
    pub fn work_differs(&self) -> bool {
        let Some(reference) = self.pairs.first() else { return false };
        let differ = |(a, b): (&Outcome, &Outcome)| (work_of(a) - work_of(b)).abs() > 1e-6 * work_of(a).max(work_of(b));
        self.pairs.iter().any(|pair| pair.outcomes.iter().zip(&reference.outcomes).any(differ))
    }

    /// Which of the runs a time limit ended.
    pub fn limits(&self) -> Limits {
        let runs = || self.pairs.iter().flat_map(|pair| &pair.outcomes);
        match runs().filter(|outcome| outcome.report.time_limited).count() {
            0 => Limits::None,
            limited if limited == runs().count() => Limits::All,
            _ => Limits::Some,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::metric::tests::outcome;
    use super::*;
    use crate::{Choice, FairOrObject};

    /// One run of each of two pairs, that take so many seconds at 4 W and do one unit of work.
    pub fn comparison(machine: &str, workload: &str, times: &[f64; 2]) -> Comparison {
        let pairs =
            ["fair+performance", "fair+powersave"].map(|text| Choice::parse(text, &FairOrObject).unwrap().pair());
        let run = |time: &f64| {
            let mut run = Outcome { alone: Err(NotMeasured::OneApplication), ..outcome(&[("a", 1.0 / time, 1.0)]) };
            (run.report.time_s, run.report.throughput, run.report.energy_j.total) = (*time, 1.0 / time, 4.0 * time);
            run.report.edp_js = Some(4.0 * time * time);
            vec![run]
        };
        Comparison::of(machine, workload, pairs.to_vec(), vec![0], times.iter().map(run).collect())
    }

    #[test]
    fn limits_are_all_some_or_none() {
        let comparison = |limited: [bool; 2]| {
            let mut runs = [outcome(&[("a", 1.0, 1.0)]), outcome(&[("a", 1.0, 1.0)])];
            runs.iter_mut().zip(limited).for_each(|(run, limited)| run.report.time_limited = limited);
            let pair = Choice::parse("fair", &FairOrObject).unwrap().pair();
            Comparison::of("m", "w", vec![pair], vec![0, 1], vec![runs.to_vec()])
        };
        assert_eq!(comparison([false, false]).limits(), Limits::None);
        assert_eq!(comparison([true, false]).limits(), Limits::Some);
        assert_eq!(comparison([true, true]).limits(), Limits::All);
    }
}
