// SPDX-License-Identifier: GPL-2.0-only
//! Advice that was measured: what turning on each mechanism that acts is worth beside `fair`, with the same seeds.
//!
//! Runs are compared pairwise, seed by seed, by three ratios: time per work, energy per work, and their product. Per work,
//! since a time limit may end runs that did more or less. The product decides: it is better or worse where its 95 %
//! interval leaves 1 out. A mechanism is advised only where it is surely better than Tandem without it, too: one of several that are
//! tried is better by chance more often than one alone, so that these intervals are wider by as many (Bonferroni).

use schemars::JsonSchema;
use serde::Serialize;
use tandem_experiments::{Comparison, ComparisonRuns, Estimate, PairResult};
use tandem_simulator::metrics::Report;

use super::trial::TrialSetup;
use crate::context::Context;
use crate::failure::Failure;
use crate::mechanism::Mechanism;

/// Runs of each candidate, and of `fair`.
const RUNS: u64 = 5;
/// A ratio this near to 1 is no difference that anybody would turn something on for, however sure it is.
const NEGLIGIBLE: f64 = 0.002;

/// What was measured, and what follows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Whether the runs had what every system does beside its workload.
    pub disturbed: bool,
    /// Whether a time limit ended a run: then times are those that the same work would have taken.
    pub time_limited: bool,
    /// What could be turned on, in the order of the mechanisms; first nothing, then each alone, last all together.
    pub candidates: Vec<Candidate>,
    /// The candidate to turn on, by its place from 0 on; `None`: none is surely better than `fair`.
    pub best: Option<usize>,
}

/// Tandem with some mechanisms, beside `fair`.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// The settings, as on a command line; empty: none.
    pub settings: String,
    /// Time per work over that of `fair`, a ratio; `None` if the scheduler was ejected.
    pub time: Option<Estimate>,
    /// Energy per work over that of `fair`, a ratio; `None` if the scheduler was ejected.
    pub energy: Option<Estimate>,
    /// The product of both, a ratio; `None` if the scheduler was ejected.
    pub edp: Option<Estimate>,
    /// The product over that of Tandem with nothing turned on, a ratio whose interval is wider for as many mechanisms as were tried;
    /// `None` for that one itself, and where one of both was ejected.
    pub edp_beside_tandem: Option<Estimate>,
    /// How it is beside `fair`, by the product.
    pub verdict: Judgement,
}

/// How a candidate is beside `fair`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// Surely better.
    Better,
    /// Surely worse.
    Worse,
    /// Surely about the same.
    Same,
    /// Too few runs to tell.
    Undecided,
    /// The scheduler was ejected in one of the runs, or no work was done.
    Unfit,
}

impl Judgement {
    fn of(edp: Option<Estimate>) -> Self {
        let Some(Estimate { mean, half_width: Some(half) }) = edp else { return Self::Unfit };
        match mean - 1.0 {
            _ if mean + half < 1.0 - NEGLIGIBLE => Self::Better,
            _ if mean - half > 1.0 + NEGLIGIBLE => Self::Worse,
            off if off.abs() + half <= NEGLIGIBLE * 2.0 => Self::Same,
            _ => Self::Undecided,
        }
    }
}

/// Measures what the `acting` mechanisms are worth; progress is shown.
pub fn measure(
    setup: &TrialSetup<'_>,
    acting: &[&Mechanism],
    context: &Context<'_>,
) -> Result<Option<Advice>, Failure> {
    let Some(workload) = setup.workload.filter(|_| !acting.is_empty()) else { return Ok(None) };
    let sets = candidates(acting);
    let pairs = std::iter::once(setup.fair()).chain(sets.iter().map(|set| setup.pair_of(set))).collect();
    let runs = ComparisonRuns {
        machine: setup.machine,
        workload,
        scenario: setup.scenario,
        pairs,
        seeds: (0..RUNS).map(|run| setup.seed.wrapping_add(run)).collect(),
        alone: false,
    };
    let comparison = runs.run(context.simulator, &context.bar())?;
    let settings = sets.iter().map(|set| setup.settings_of(set)).collect();
    Ok(Some(Advice::of(&comparison, settings)))
}

/// Nothing, each mechanism alone, and all of them.
fn candidates<'m>(acting: &[&'m Mechanism]) -> Vec<Vec<&'m Mechanism>> {
    let all = (acting.len() > 1).then(|| acting.to_vec());
    std::iter::once(Vec::new()).chain(acting.iter().map(|one| vec![*one])).chain(all).collect()
}

impl Advice {
    /// What the runs say; the first pair is `fair`, the others have these settings.
    fn of(comparison: &Comparison, settings: Vec<String>) -> Self {
        let Some((fair, others)) = comparison.pairs.split_first() else {
            return Self::new(Vec::new(), false, Vec::new());
        };
        let bases = (fair, others.first(), others.len().saturating_sub(1));
        let candidates = others.iter().zip(settings).map(|(pair, settings)| Candidate::of(bases, pair, settings));
        let mut runs = comparison.pairs.iter().flat_map(|pair| &pair.outcomes);
        let time_limited = runs.any(|run| run.report.time_limited);
        let disturbed = comparison.disturbed;
        Self { disturbed, ..Self::new(comparison.seeds.clone(), time_limited, candidates.collect()) }
    }

    /// What follows from what these candidates gave, in runs that nothing disturbed.
    pub fn new(seeds: Vec<u64>, time_limited: bool, candidates: Vec<Candidate>) -> Self {
        Self { seeds, disturbed: false, time_limited, best: best(&candidates), candidates }
    }
}

/// The candidate with the least product, of those that are surely better than `fair` and, with a mechanism, than Tandem without one;
/// of equals the first.
fn best(candidates: &[Candidate]) -> Option<usize> {
    let worth = |it: &Candidate| it.settings.is_empty() || Judgement::of(it.edp_beside_tandem) == Judgement::Better;
    let better = candidates.iter().enumerate().filter(|(_, it)| it.verdict == Judgement::Better && worth(it));
    let product = |candidate: &Candidate| candidate.edp.map_or(f64::INFINITY, |edp| edp.mean);
    better.min_by(|(_, a), (_, b)| product(a).total_cmp(&product(b))).map(|(at, _)| at)
}

impl Candidate {
    /// `pair` beside `fair`, and beside Tandem with nothing turned on, which `tried` others are compared with.
    fn of(
        (fair, tandem, tried): (&PairResult, Option<&PairResult>, usize),
        pair: &PairResult,
        settings: String,
    ) -> Self {
        let beside = |base: &PairResult, cost| Estimate::of_mean(&ratios(base, pair, cost)?);
        let costs = [time_per_work, energy_per_work, edp_per_work];
        let tandem = tandem.filter(|_| !settings.is_empty());
        let quantile = 1.0 - 0.025 / tried.max(1) as f64;
        let edp_beside_tandem =
            tandem.and_then(|base| Estimate::of_mean_at(&ratios(base, pair, edp_per_work)?, quantile));
        Self { edp_beside_tandem, ..Self::new(settings, costs.map(|cost: fn(&Report) -> f64| beside(fair, cost))) }
    }

    /// A candidate with these ratios of time, energy and their product.
    pub fn new(settings: String, [time, energy, edp]: [Option<Estimate>; 3]) -> Self {
        Self { settings, time, energy, edp, edp_beside_tandem: None, verdict: Judgement::of(edp) }
    }
}

/// What each run of `pair` costs over what the run of `base` with the same seed does; `None` if one did no work, or a scheduler was
/// ejected.
fn ratios(base: &PairResult, pair: &PairResult, cost: fn(&Report) -> f64) -> Option<Vec<f64>> {
    let by_seed = base.outcomes.iter().zip(&pair.outcomes);
    let ejected = by_seed.clone().any(|(base, own)| base.exit().or(own.exit()).is_some());
    by_seed.map(|(base, own)| ratio(cost, &base.report, &own.report)).collect::<Option<Vec<f64>>>().filter(|_| !ejected)
}

/// What `own` costs over what `base` does; `None` if one of both did no work.
fn ratio(cost: fn(&Report) -> f64, base: &Report, own: &Report) -> Option<f64> {
    let (base, own) = (cost(base), cost(own));
    (base.is_finite() && own.is_finite() && base > 0.0).then(|| own / base)
}

/// Seconds that a unit of work takes.
fn time_per_work(report: &Report) -> f64 {
    1.0 / report.throughput
}

/// Joules that a unit of work takes.
fn energy_per_work(report: &Report) -> f64 {
    report.energy_j.total / (report.throughput * report.time_s)
}

fn edp_per_work(report: &Report) -> f64 {
    time_per_work(report) * energy_per_work(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half: f64) -> Option<Estimate> {
        Some(Estimate { mean, half_width: Some(half) })
    }

    #[test]
    fn the_interval_judges() {
        for (mean, half, verdict) in [
            (0.9, 0.05, Judgement::Better),
            (0.9, 0.15, Judgement::Undecided),
            (1.1, 0.05, Judgement::Worse),
            (1.1, 0.15, Judgement::Undecided),
            (1.001, 0.001, Judgement::Same),
            (0.999, 0.0, Judgement::Same),
        ] {
            assert_eq!(Judgement::of(estimate(mean, half)), verdict, "{mean} ± {half}");
        }
        assert_eq!(Judgement::of(None), Judgement::Unfit);
        assert_eq!(Judgement::of(Some(Estimate { mean: 0.5, half_width: None })), Judgement::Unfit);
    }

    #[test]
    fn the_least_of_those_that_are_surely_better_is_the_best() {
        let candidate = |mean, half| Candidate::new(String::new(), [None, None, estimate(mean, half)]);
        let candidates = [candidate(0.95, 0.01), candidate(0.7, 0.5), candidate(0.9, 0.01), candidate(0.9, 0.02)];
        assert_eq!(best(&candidates), Some(2));
        assert_eq!(best(&candidates[1..2]), None, "it may as well be worse");
    }

    #[test]
    fn a_mechanism_is_advised_only_where_it_is_surely_better_than_tandem_without_it() {
        let fair = |mean| [None, None, estimate(mean, 0.01)];
        let with = |mean, beside| Candidate {
            edp_beside_tandem: beside,
            ..Candidate::new("sorted=true".to_owned(), fair(mean))
        };
        let plain = || Candidate::new(String::new(), fair(0.9));
        // Both are better than fair, and the mechanism more so, but that may be chance.
        assert_eq!(best(&[plain(), with(0.88, estimate(0.98, 0.03))]), Some(0));
        assert_eq!(best(&[plain(), with(0.88, None)]), Some(0));
        assert_eq!(best(&[plain(), with(0.85, estimate(0.94, 0.03))]), Some(1));
    }
}
