// SPDX-License-Identifier: MIT OR Apache-2.0
//! A search for the settings of a scheduler: [`Tuning`] is what is wanted, [`Tuned`] what was found, and how sure that is.
//!
//! `space` has the settings and their values, `goal` what shall be small and what that may cost, `method` how the search goes,
//! `runs` the simulations. What was found is confirmed with seeds that the search did not see: the least of many noisy values
//! is smaller than what it stands for.

mod goal;
mod method;
mod runs;
mod space;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Scheduler;
use tandem_simulator::workload::Workload;

pub use goal::{CostRatio, Goal, GoalError, Limit, Minimised};
pub use space::{Dimension, Domain};

use crate::error::ExperimentError;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::scenario::pair::Pair;
use crate::simulator::Simulator;
use goal::{Score, mean_of};
use method::{Evaluate, Found, Search};
use runs::Runs;
use space::Point;

/// Most points of the front that are confirmed.
const MOST_OF_FRONT: usize = 8;

/// A search for the settings of a scheduler.
#[derive(Debug)]
pub struct Tuning<'a> {
    /// Machines and workloads: each point runs on all of them.
    pub cells: Vec<(&'a Machine, &'a Workload)>,
    /// What all runs have in common.
    pub scenario: &'a Scenario,
    /// The scheduler, a sched_ext one, with the settings that are fixed, and the governor.
    pub pair: &'a Pair,
    /// The settings that may change.
    pub dimensions: Vec<Dimension>,
    /// What the search is for.
    pub goal: Goal,
    /// Most points that are tried.
    pub trials: usize,
    /// Runs of each point that comes through, each with a seed of its own, from `seed` on.
    pub runs: usize,
    /// Further runs, with the seeds behind those, that confirm what was found; 2 or more.
    pub confirming: usize,
    /// The seed of the first run, and of the sample.
    pub seed: u64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tuned {
    /// The best settings that the search found; none if it found nothing better than the scheduler as it is.
    pub best: Confirmed,
    /// What can be had for what: of the points that ran with all seeds of the search, those that no other one beats in both
    /// time and energy, from the fastest to the thriftiest.
    pub front: Vec<Confirmed>,
    /// How many points were tried.
    pub tried: usize,
    /// How many of them cannot be used: the scheduler refused the settings, or did not stay to the end.
    pub refused: usize,
    /// Why they cannot, each with how many for that reason.
    pub reasons: BTreeMap<String, usize>,
}

/// Settings with their gains, measured with seeds that the search did not see.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Confirmed {
    /// The settings that are not the scheduler's own, by name.
    pub settings: BTreeMap<String, String>,
    /// Time over that of the scheduler as it is, a ratio.
    pub time: CostRatio,
    /// Energy over that of the scheduler as it is, a ratio.
    pub energy: CostRatio,
    /// What was to be small, over that of the scheduler as it is, a ratio.
    pub minimised: CostRatio,
    /// What the search itself saw of that ratio, mean only: better than the truth, as the best of many is.
    pub searched: f64,
    /// Whether the gain is confirmed.
    pub gain: Certainty,
    /// Whether all limits are kept.
    pub limits: Certainty,
}

/// How sure something is, by 95 % confidence intervals; the worse is the larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// The whole interval says so.
    Yes,
    /// The interval says neither.
    Undecided,
    /// The whole interval says the opposite.
    No,
}

impl Tuning<'_> {
    /// Searches, then confirms what was found. Deterministic.
    ///
    /// # Errors
    /// The scheduler as it is cannot be run; [`ExperimentError::NotTunable`]; [`ExperimentError::Interrupted`].
    pub fn run(&self, simulator: &dyn Simulator, progress: &dyn Progress) -> Result<Tuned, ExperimentError> {
        let Scheduler::SchedExt(scheduler) = &self.pair.scheduler else {
            return Err(ExperimentError::NotTunable(self.pair.scheduler.to_string()));
        };
        let mut runs = Runs {
            cells: self.cells.clone(),
            scenario: self.scenario,
            scheduler,
            pair: self.pair,
            dimensions: &self.dimensions,
            first: self.seed,
            simulator,
            progress,
            known: BTreeMap::new(),
            reasons: BTreeMap::new(),
            ignored: BTreeSet::new(),
        };
        let Self { dimensions, goal, trials, seed, .. } = self;
        let search = Search { dimensions, goal, trials: *trials, seeds: self.runs, seed: *seed };
        let found = search.run(&mut runs)?;
        let reasons = std::mem::take(&mut runs.reasons);
        // The same runs with other seeds.
        let mut others = Runs { first: seed.wrapping_add(self.runs as u64), known: BTreeMap::new(), ..runs };
        let front = thinned(front(&found), MOST_OF_FRONT);
        let mut wanted = vec![found.best.clone()];
        wanted.extend(front);
        let scores = others.evaluate(&wanted, self.confirming)?;
        let confirmed = wanted.iter().zip(scores);
        // A point that fails with other seeds is no find.
        let mut confirmed =
            confirmed.filter_map(|(point, scores)| Some((point, self.confirmed(point, &scores?, &found))));
        let best = confirmed.next().filter(|(point, _)| **point == found.best).map(|(_, confirmed)| confirmed);
        let best = best.ok_or_else(|| {
            let name = &scheduler.name;
            ExperimentError::NoBase(format!(
                "{name} does not stay to the end with what was found best; try another --seed"
            ))
        })?;
        let front = confirmed.map(|(_, confirmed)| confirmed).collect();
        Ok(Tuned { best, front, tried: found.tried, refused: found.refused, reasons })
    }

    fn confirmed(&self, point: &Point, scores: &[Score], found: &Found) -> Confirmed {
        let settings = self.dimensions.iter().zip(point);
        let settings = settings.filter_map(|(dimension, value)| Some((dimension.name.clone(), value.clone()?)));
        let Goal { minimise, limits } = &self.goal;
        let minimised = CostRatio::of(*minimise, scores);
        let kept = limits.iter().map(|limit| Certainty::of(&CostRatio::of(limit.metric, scores), limit.at_most));
        Confirmed {
            settings: settings.collect(),
            time: CostRatio::of(Minimised::Time, scores),
            energy: CostRatio::of(Minimised::Energy, scores),
            minimised,
            searched: found.known.get(point).map_or(f64::NAN, |scores| mean_of(*minimise, scores).exp()),
            gain: Certainty::of(&minimised, 1.0),
            limits: kept.max().unwrap_or(Certainty::Yes),
        }
    }
}

impl Certainty {
    /// How sure it is that `ratio` is below `factor`.
    fn of(ratio: &CostRatio, factor: f64) -> Self {
        match (ratio.is_below(factor), ratio.is_above(factor)) {
            (true, _) => Self::Yes,
            (_, true) => Self::No,
            _ => Self::Undecided,
        }
    }
}

/// The points that no other one beats in both time and energy, from the fastest on. Of equal ones the first.
fn front(found: &Found) -> Vec<Point> {
    let mean = |scores: &[Score]| (mean_of(Minimised::Time, scores), mean_of(Minimised::Energy, scores));
    let mut points: Vec<(&Point, (f64, f64))> =
        found.known.iter().map(|(point, scores)| (point, mean(scores))).collect();
    points.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut least = f64::INFINITY;
    points.retain(|(_, (_, energy))| {
        let better = *energy < least;
        least = least.min(*energy);
        better
    });
    points.into_iter().map(|(point, _)| point.clone()).collect()
}

/// At most `most` of the points, both ends among them.
fn thinned(points: Vec<Point>, most: usize) -> Vec<Point> {
    let count = points.len();
    let wanted = |index: usize| (0..most).any(|nth| nth * (count - 1) / (most - 1) == index);
    points
        .into_iter()
        .enumerate()
        .filter(|(index, _)| count <= most || wanted(*index))
        .map(|(_, point)| point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str) -> Point {
        vec![Some(name.to_owned())]
    }

    #[test]
    fn the_front_has_what_nothing_beats_in_both() {
        let known =
            [("fast", 0.8, 1.3), ("thrifty", 1.2, 0.7), ("worse", 1.1, 1.4), ("between", 1.0, 1.0), ("same", 1.0, 1.0)];
        let known = known.map(|(name, time, energy): (_, f64, f64)| {
            (point(name), vec![Score { time: time.ln(), energy: energy.ln() }])
        });
        let found = Found { best: point("fast"), known: known.into_iter().collect(), tried: 5, refused: 0 };
        assert_eq!(front(&found), [point("fast"), point("between"), point("thrifty")]);
    }

    #[test]
    fn a_long_front_keeps_its_ends() {
        let points: Vec<Point> = (0..20).map(|index| point(&index.to_string())).collect();
        let kept = thinned(points.clone(), 8);
        assert_eq!((kept.len(), kept.first(), kept.last()), (8, points.first(), points.last()));
        assert_eq!(thinned(points[..3].to_vec(), 8).len(), 3);
        assert!(thinned(Vec::new(), 8).is_empty());
    }

    #[test]
    fn a_gain_is_sure_if_the_whole_interval_is() {
        let ratio = |low, high| CostRatio { mean: 0.95, low: Some(low), high: Some(high) };
        assert_eq!(Certainty::of(&ratio(0.9, 0.99), 1.0), Certainty::Yes);
        assert_eq!(Certainty::of(&ratio(0.9, 1.01), 1.0), Certainty::Undecided);
        assert_eq!(Certainty::of(&ratio(1.01, 1.1), 1.0), Certainty::No);
        assert_eq!(Certainty::of(&CostRatio { mean: 0.5, low: None, high: None }, 1.0), Certainty::Undecided);
    }
}
