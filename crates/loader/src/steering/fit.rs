// SPDX-License-Identifier: MIT OR Apache-2.0
//! What CPUs draw, fitted to energy counters while they work, where nothing says it beforehand.
//!
//! Watts = rest + Σ over kinds of CPU (busy CPUs · (still + cubic · GHz³)), least squares over what was seen of late. A CPU's power is
//! taken to have a part that does not depend on its clock and one that grows with its cube, as voltage follows the clock. Who could
//! tell the difference: a processor whose voltage has a floor, where the cheapest clock is at the end of that floor.
//!
//! What cannot be told apart is not used: where two columns were always in proportion, neither coefficient is known, whatever
//! numbers least squares would give. `rank` says how many of the unknowns are told apart, `residual` how far off the fit is.

use super::points::{Costs, KnownFrom, Point, Unknown};

/// What an observation counts after so many others: what ran an hour ago says little of what runs now (temperature).
const FORGETS: f64 = 1.0 - 1.0 / 1800.0;
/// Fewer observations than so many for each unknown decide nothing.
const FOR_EACH_UNKNOWN: f64 = 20.0;
/// A column whose part that no other explains is less than this (of its square) is one with them.
const APART: f64 = 1e-4;
/// A coefficient is known if its standard error is at most so much of it.
const SURE: f64 = 0.2;
/// The fit is worth something if it is off by at most so much of the mean power.
const GOOD: f64 = 0.1;

/// What one kind of CPU did in an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct KindWork {
    /// How many of its CPUs were busy, on average.
    pub busy: f64,
    /// Mean clock of the kind while busy, GHz.
    pub ghz: f64,
}

/// Sums over observations, from which coefficients follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Unknowns: one, and two for each kind.
    unknowns: usize,
    products: Vec<Vec<f64>>,
    right: Vec<f64>,
    squares: f64,
    watts: f64,
    weight: f64,
}

/// What a kind of CPU draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KindPower {
    /// Watts of a busy CPU that do not depend on its clock.
    pub still: f64,
    /// Watts for each cubed GHz.
    pub cubic: f64,
}

/// What the observations say.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Unknowns.
    pub unknowns: usize,
    /// How many of the unknowns are told apart.
    pub rank: usize,
    /// How far the fit is off, root mean square, as a part of the mean power.
    pub residual: f64,
    /// By kind: what it draws; `None`: not identified.
    pub kinds: Vec<Option<KindPower>>,
}

impl Fit {
    /// Nothing was seen yet of so many kinds of CPU.
    pub fn new(kinds: usize) -> Self {
        let unknowns = 1 + 2 * kinds;
        let products = vec![vec![0.0; unknowns]; unknowns];
        Self { unknowns, products, right: vec![0.0; unknowns], squares: 0.0, watts: 0.0, weight: 0.0 }
    }

    /// One more observation: mean watts, and what each kind did. One that is no number, or of another machine, is passed over.
    pub fn add(&mut self, watts: f64, kinds: &[KindWork]) {
        let of_kind = |kind: &KindWork| [kind.busy, kind.busy * kind.ghz.powi(3)];
        let row: Vec<f64> = std::iter::once(1.0).chain(kinds.iter().flat_map(of_kind)).collect();
        if row.len() != self.unknowns || !watts.is_finite() || row.iter().any(|value| !value.is_finite()) {
            return;
        }
        for (at, value) in row.iter().enumerate() {
            for (sum, other) in self.products[at].iter_mut().zip(&row) {
                *sum = *sum * FORGETS + value * other;
            }
            self.right[at] = self.right[at] * FORGETS + value * watts;
        }
        self.squares = self.squares * FORGETS + watts * watts;
        self.watts = self.watts * FORGETS + watts;
        self.weight = self.weight * FORGETS + 1.0;
    }

    /// What follows; `None` while too little was seen.
    pub fn solve(&self) -> Option<Fitted> {
        if self.weight < FOR_EACH_UNKNOWN * self.unknowns as f64 {
            return None;
        }
        let basis = Basis::of(&self.products);
        let solution = basis.solve(&self.right);
        let explained: f64 = solution.iter().zip(&basis.columns).map(|(value, at)| value * self.right[*at]).sum();
        let unexplained = (self.squares - explained).max(0.0);
        let variance = unexplained / (self.weight - basis.columns.len() as f64).max(1.0);
        let known = |column: usize| {
            let place = basis.columns.iter().position(|at| *at == column)?;
            let error = (variance * basis.inverse_diagonal(place)).sqrt();
            let value = solution[place];
            (basis.is_identified(place) && value > 0.0 && error <= SURE * value).then_some(value)
        };
        let residual = (unexplained / self.weight).sqrt() / (self.watts / self.weight).abs().max(f64::MIN_POSITIVE);
        let power = |kind: usize| {
            let (still, cubic) = (known(1 + 2 * kind)?, known(2 + 2 * kind)?);
            (residual <= GOOD).then_some(KindPower { still, cubic })
        };
        let kinds = (0..self.unknowns / 2).map(power).collect();
        Some(Fitted { unknowns: self.unknowns, rank: basis.columns.len(), residual, kinds })
    }
}

impl KindPower {
    /// What work costs at clocks from `lowest_khz` to `highest_khz`.
    pub fn costs(&self, lowest_khz: u32, highest_khz: u32) -> Costs {
        const STEP: usize = 100_000;
        let point = |khz: u32| {
            let ghz = f64::from(khz) / 1e6;
            Point { khz, performance: ghz, power: self.still + self.cubic * ghz.powi(3) }
        };
        let points: Vec<Point> =
            (lowest_khz..highest_khz).step_by(STEP).chain([highest_khz]).filter(|khz| *khz > 0).map(point).collect();
        match points.len() {
            0..=1 => Costs::Unknown(Unknown::OneClock),
            _ => Costs::among(&points, KnownFrom::Counters),
        }
    }
}

/// Columns that are told apart, by a Cholesky decomposition that takes the column with most left first.
struct Basis<'f> {
    products: &'f [Vec<f64>],
    /// In the order in which they were taken.
    columns: Vec<usize>,
    /// Lower triangular, of these columns.
    lower: Vec<Vec<f64>>,
}

impl<'f> Basis<'f> {
    fn of(products: &'f [Vec<f64>]) -> Self {
        let mut basis = Self { products, columns: Vec::new(), lower: Vec::new() };
        loop {
            let open = (0..products.len()).filter(|at| !basis.columns.contains(at) && products[*at][*at] > 0.0);
            let left = |at: usize| {
                let row = basis.row(at);
                (products[at][at] - row.iter().map(|value| value * value).sum::<f64>(), row)
            };
            let share = |at: &usize, left: f64| left / products[*at][*at];
            let best = open
                .map(|at| (at, left(at)))
                .max_by(|(a, (one, _)), (b, (other, _))| share(a, *one).total_cmp(&share(b, *other)).then(b.cmp(a)));
            let Some((at, (rest, mut row))) = best.filter(|(at, (rest, _))| share(at, *rest) > APART) else { break };
            row.push(rest.sqrt());
            basis.columns.push(at);
            basis.lower.push(row);
        }
        basis
    }

    /// What a further column has in common with the ones taken.
    fn row(&self, at: usize) -> Vec<f64> {
        let right: Vec<f64> = self.columns.iter().map(|column| self.products[*column][at]).collect();
        self.forward(&right)
    }

    fn forward(&self, right: &[f64]) -> Vec<f64> {
        let mut solved: Vec<f64> = Vec::new();
        for (row, value) in self.lower.iter().zip(right) {
            let known: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
            solved.push((value - known) / row[solved.len()]);
        }
        solved
    }

    fn backward(&self, right: &[f64]) -> Vec<f64> {
        let mut solved = right.to_vec();
        for at in (0..solved.len()).rev() {
            let known: f64 = (at + 1..solved.len()).map(|below| self.lower[below][at] * solved[below]).sum();
            solved[at] = (solved[at] - known) / self.lower[at][at];
        }
        solved
    }

    /// The coefficients of the columns taken, for right sides of all columns.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let right: Vec<f64> = self.columns.iter().map(|at| right[*at]).collect();
        self.backward(&self.forward(&right))
    }

    /// The entry of the inverse on the diagonal.
    fn inverse_diagonal(&self, place: usize) -> f64 {
        let unit: Vec<f64> = (0..self.columns.len()).map(|at| f64::from(u8::from(at == place))).collect();
        self.forward(&unit).iter().map(|value| value * value).sum()
    }

    /// Whether no column that was left out has a part of this one.
    fn is_identified(&self, place: usize) -> bool {
        let seen = |at: &usize| !self.columns.contains(at) && self.products[*at][*at] > 0.0;
        (0..self.products.len()).filter(seen).all(|at| {
            let parts = self.backward(&self.row(at));
            let size = |at: usize| self.products[at][at].sqrt();
            parts[place].abs() * size(self.columns[place]) < 0.01 * size(at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 W of rest, kinds of 1 W + 0.1 W/GHz³ and 0.3 W + 0.05 W/GHz³.
    fn watts(kinds: &[KindWork]) -> f64 {
        let draws = [(1.0, 0.1), (0.3, 0.05)];
        5.0 + kinds
            .iter()
            .zip(draws)
            .map(|(kind, (still, cubic))| kind.busy * (still + cubic * kind.ghz.powi(3)))
            .sum::<f64>()
    }

    /// Numbers that repeat seldom: multiples of the golden ratio, between 0 and 1.
    fn spread(number: u32, of: f64) -> f64 {
        (f64::from(number) * 0.618_033_988 * of).fract()
    }

    fn observed(kinds: usize, work: impl Fn(u32) -> Vec<KindWork>) -> Fitted {
        let mut fit = Fit::new(kinds);
        for number in 0..300 {
            let work = work(number);
            fit.add(watts(&work), &work);
        }
        fit.solve().unwrap()
    }

    #[test]
    fn what_ran_at_many_clocks_gives_what_cpus_draw() {
        let fitted = observed(2, |number| {
            vec![
                KindWork { busy: 4.0 * spread(number, 1.0), ghz: 1.0 + 3.0 * spread(number, 2.3) },
                KindWork { busy: 8.0 * spread(number, 3.7), ghz: 0.5 + 2.0 * spread(number, 5.1) },
            ]
        });
        assert_eq!((fitted.rank, fitted.unknowns), (5, 5));
        assert!(fitted.residual < 1e-5, "{}", fitted.residual);
        let [one, other] = [fitted.kinds[0].unwrap(), fitted.kinds[1].unwrap()];
        assert!((one.still - 1.0).abs() < 1e-3 && (one.cubic - 0.1).abs() < 1e-4, "{one:?}");
        assert!((other.still - 0.3).abs() < 1e-3 && (other.cubic - 0.05).abs() < 1e-4, "{other:?}");
        // 1 / f + 0.1 f² is least at the cube root of 5: 1.71 GHz, 0.8772. Within three hundredths: 2.0 GHz costs 0.9.
        assert_eq!(one.costs(800_000, 5_000_000).least_khz(), Some(2_000_000));
    }

    /// At one clock nobody can tell what depends on it, and of a kind that never ran nothing is known.
    #[test]
    fn what_is_not_told_apart_is_not_used() {
        let fitted =
            observed(2, |number| vec![KindWork { busy: 4.0 * spread(number, 1.0), ghz: 2.0 }, KindWork::default()]);
        assert_eq!((fitted.rank, fitted.unknowns), (2, 5));
        assert_eq!(fitted.kinds, [None, None]);
    }

    /// The first kind is always busy at one clock: its watts cannot be told from the rest. The other kind is known all the same.
    #[test]
    fn what_is_one_with_the_rest_does_not_spoil_the_others() {
        let fitted = observed(2, |number| {
            vec![
                KindWork { busy: 1.0, ghz: 2.0 },
                KindWork { busy: 8.0 * spread(number, 3.7), ghz: 0.5 + 2.0 * spread(number, 5.1) },
            ]
        });
        assert_eq!((fitted.rank, fitted.kinds[0]), (3, None));
        assert!((fitted.kinds[1].unwrap().cubic - 0.05).abs() < 1e-4);
    }

    #[test]
    fn a_fit_that_is_far_off_or_of_few_observations_says_nothing() {
        let work = |number| KindWork { busy: 4.0 * spread(number, 1.0), ghz: 1.0 + 3.0 * spread(number, 2.3) };
        let (mut fit, mut noise) = (Fit::new(1), 0.0);
        for number in 0..59 {
            fit.add(watts(&[work(number)]), &[work(number)]);
        }
        assert_eq!(fit.solve(), None);
        for number in 0..300 {
            // Another device takes up to 60 W, which has nothing to do with the CPUs.
            noise = 60.0 * spread(number, 7.9);
            fit.add(watts(&[work(number)]) + noise, &[work(number)]);
        }
        let fitted = fit.solve().unwrap();
        assert!(fitted.residual > 0.1 && noise.is_finite(), "{}", fitted.residual);
        assert_eq!(fitted.kinds, [None]);
        fit.add(f64::NAN, &[work(1)]);
        assert!(fit.solve().unwrap().residual.is_finite());
    }
}
