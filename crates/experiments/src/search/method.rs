// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the search goes: points all over the space, of which the better third goes on with three times as many seeds (successive
//! halving), then steps from the best one, one setting at a time, each step half as long as the one before (pattern search).
//!
//! Sources: K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016;
//! R. Hooke, T. Jeeves, "Direct search solution of numerical and statistical problems", Journal of the ACM 8 (1961). Both need no
//! derivative, take numbers and names alike, and are deterministic but for the sample, which has a seed.

use std::collections::BTreeMap;

use super::goal::{Goal, Score};
use super::space::{Dimension, Point, latin_hypercube, neighbours};

/// How much fewer points there are with each round of sampling, and how many times more seeds.
const CUT: usize = 3;
/// The first step, and the last one, as shares of a setting's range.
const FIRST_STEP: f64 = 0.25;
const LAST_STEP: f64 = 0.03;

/// Runs points.
pub trait Evaluate {
    /// Why there are no scores.
    type Error;

    /// The scores of each point with the first `seeds` seeds; `None` of a point that cannot be used.
    fn evaluate(&mut self, points: &[Point], seeds: usize) -> Result<Vec<Option<Vec<Score>>>, Self::Error>;
}

/// What the search is given.
pub struct Search<'a> {
    pub dimensions: &'a [Dimension],
    pub goal: &'a Goal,
    /// Most points that are tried.
    pub trials: usize,
    /// Seeds of those that come through.
    pub seeds: usize,
    /// The seed of the sample.
    pub seed: u64,
}

/// What the search found.
pub struct Found {
    /// The best point.
    pub best: Point,
    /// The scores of all points that ran with all seeds, the scheduler as it is among them.
    pub known: BTreeMap<Point, Vec<Score>>,
    /// How many points were tried.
    pub tried: usize,
    /// How many of them cannot be used.
    pub refused: usize,
}

impl Search<'_> {
    /// Searches.
    pub fn run<E: Evaluate>(&self, runs: &mut E) -> Result<Found, E::Error> {
        let own: Point = vec![None; self.dimensions.len()];
        let mut found = Found { best: own.clone(), known: BTreeMap::new(), tried: 0, refused: 0 };
        self.whole(runs, vec![own], &mut found)?;
        // A third of the trials is left for steps.
        let sampled = self.trials - self.trials / 3;
        let mut points = latin_hypercube(self.dimensions, sampled, self.seed);
        points.sort();
        points.dedup();
        points.retain(|point| !found.known.contains_key(point));
        found.tried += points.len();
        let points = self.halved(runs, points, &mut found)?;
        self.whole(runs, points, &mut found)?;
        self.steps(runs, &mut found)?;
        Ok(found)
    }

    /// The points that are left when there are seeds for all rounds but the last.
    fn halved<E: Evaluate>(
        &self,
        runs: &mut E,
        mut points: Vec<Point>,
        found: &mut Found,
    ) -> Result<Vec<Point>, E::Error> {
        let mut seeds = 1;
        while seeds < self.seeds && points.len() > CUT {
            let scores = runs.evaluate(&points, seeds)?;
            let mut scored: Vec<(Point, Vec<Score>)> = Vec::new();
            for (point, scores) in points.into_iter().zip(scores) {
                match scores {
                    Some(scores) => scored.push((point, scores)),
                    None => found.refused += 1,
                }
            }
            // The sort is stable, and the points are in order: equal ones stay so.
            scored.sort_by(|(_, a), (_, b)| self.goal.order(a, b));
            scored.truncate(scored.len().div_ceil(CUT));
            points = scored.into_iter().map(|(point, _)| point).collect();
            seeds *= CUT;
        }
        Ok(points)
    }

    /// Runs points with all seeds. Whether one of them is the new best.
    fn whole<E: Evaluate>(&self, runs: &mut E, points: Vec<Point>, found: &mut Found) -> Result<bool, E::Error> {
        let scores = runs.evaluate(&points, self.seeds)?;
        let mut better = false;
        for (point, scores) in points.into_iter().zip(scores) {
            let Some(scores) = scores else {
                found.refused += 1;
                continue;
            };
            let best = found.known.get(&found.best);
            if best.is_none_or(|best| self.goal.order(&scores, best).is_lt()) {
                found.best.clone_from(&point);
                better = true;
            }
            found.known.insert(point, scores);
        }
        Ok(better)
    }

    /// Steps from the best point, as long as there are trials.
    fn steps<E: Evaluate>(&self, runs: &mut E, found: &mut Found) -> Result<(), E::Error> {
        let mut step = FIRST_STEP;
        let mut refused: Vec<Point> = Vec::new();
        while step >= LAST_STEP {
            let mut better = false;
            for index in 0..self.dimensions.len() {
                let mut beside = neighbours(self.dimensions, &found.best, index, step);
                beside.retain(|point| !found.known.contains_key(point) && !refused.contains(point));
                beside.truncate(self.trials.saturating_sub(found.tried));
                if beside.is_empty() {
                    continue;
                }
                found.tried += beside.len();
                better |= self.whole(runs, beside.clone(), found)?;
                refused.extend(beside.into_iter().filter(|point| !found.known.contains_key(point)));
            }
            if found.tried >= self.trials {
                break;
            }
            if !better {
                step /= 2.0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::space::Domain;
    use super::*;

    /// A landscape: energy is least at x = 700, y = 20 and `fast`, time grows with x. Odd seeds are 5 % above even ones, with
    /// the scheduler as it is too: they do not matter.
    #[derive(Default)]
    struct Landscape {
        runs: usize,
    }

    fn value(point: &Point, index: usize, own: f64) -> f64 {
        point[index].as_ref().map_or(own, |value| value.parse().unwrap())
    }

    impl Evaluate for Landscape {
        type Error = Infallible;

        fn evaluate(&mut self, points: &[Point], seeds: usize) -> Result<Vec<Option<Vec<Score>>>, Infallible> {
            self.runs += points.len() * seeds;
            let of = |point: &Point| {
                let (x, y) = (value(point, 0, 100.0), value(point, 1, 90.0));
                let mode = if point[2].as_deref() == Some("fast") { 0.0 } else { 0.2 };
                if y > 95.0 {
                    return None;
                }
                let energy = ((x - 700.0) / 1000.0).powi(2) + ((y - 20.0) / 100.0).powi(2) + mode;
                let noise = |seed: usize| 0.001 * ((seed * 7 + point.len()) % 3) as f64;
                Some((0..seeds).map(|seed| Score { time: (x - 100.0) / 1e4, energy: energy + noise(seed) }).collect())
            };
            Ok(points.iter().map(of).collect())
        }
    }

    fn dimensions() -> Vec<Dimension> {
        let whole = |name: &str, low, high, own: &str| Dimension {
            name: name.to_owned(),
            domain: Domain::Whole(low, high),
            own: Some(own.to_owned()),
        };
        let modes = ["slow", "fast", "odd"].map(str::to_owned).to_vec();
        let mode = Dimension { name: "mode".to_owned(), domain: Domain::Names(modes), own: Some("slow".to_owned()) };
        vec![whole("x", 0, 999, "100"), whole("y", 1, 100, "90"), mode]
    }

    fn found(limits: &[&str], seed: u64) -> (Found, usize) {
        let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let goal = Goal { minimise: super::super::Minimised::Energy, limits };
        let dimensions = dimensions();
        let search = Search { dimensions: &dimensions, goal: &goal, trials: 90, seeds: 9, seed };
        let mut landscape = Landscape::default();
        let Ok(found) = search.run(&mut landscape);
        (found, landscape.runs)
    }

    #[test]
    fn the_valley_is_found() {
        for seed in 0..5 {
            let (found, runs) = found(&[], seed);
            let (x, y) = (value(&found.best, 0, 100.0), value(&found.best, 1, 90.0));
            assert!((x - 700.0).abs() < 60.0 && (y - 20.0).abs() < 6.0, "{:?}", found.best);
            assert_eq!(found.best[2].as_deref(), Some("fast"));
            assert!(found.tried <= 90, "{}", found.tried);
            // All points with all seeds would be 91 · 9.
            assert!(runs < 600, "{runs}");
        }
    }

    #[test]
    fn a_limit_holds_the_search_back() {
        let (found, _) = found(&["time<=1.02"], 1);
        // ln 1.02 · 10⁴ + 100.
        let x = value(&found.best, 0, 100.0);
        assert!((240.0..=298.1).contains(&x), "{:?}", found.best);
    }

    #[test]
    fn the_same_seed_finds_the_same_and_refusals_are_counted() {
        let (one, _) = found(&[], 7);
        let (other, _) = found(&[], 7);
        assert_eq!((&one.best, one.known, one.tried), (&other.best, other.known, other.tried));
        assert_eq!(one.refused, other.refused);
        assert!(one.refused > 0);
    }
}
