// SPDX-License-Identifier: GPL-2.0-only
//! When a cell is good or worse, and how sure that must be: docs/base.md has the rules in words.

use std::fmt;

use tandem_experiments::Estimate;

/// The share of cells that may be called good though their true value is not below the rule's bound.
const WRONGLY_GOOD: f64 = 0.05;
/// The chance that any of a half's cells is called worse though none is.
const WRONGLY_WORSE: f64 = 0.05;

/// What came of a number, or of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As good as asked.
    Good,
    /// Neither shown to be as good as asked, nor to be worse.
    Unclear,
    /// Worse beyond chance.
    Worse,
    /// The scheduler was ejected in some run.
    Ejected,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Unclear => "unclear",
            Self::Worse => "WORSE",
            Self::Ejected => "EJECTED",
        })
    }
}

/// What is asked of a number; less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Most that the estimate may be.
    pub most: f64,
    /// What the upper one-sided bound must be below for the number to count as good before the last look.
    pub below: f64,
    /// Whether that is asked at the last look, too.
    pub bound_counts: bool,
}

/// How often a half's cells are looked at, and after how many seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks {
    /// Seeds at each look, rising.
    pub seeds: Vec<usize>,
    /// Numbers that the half has.
    pub numbers: usize,
}

/// A number after some seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The estimate.
    pub value: f64,
    /// The upper one-sided 95 % bound, over all looks together; `None` of one seed.
    pub upper: Option<f64>,
    /// What came of it.
    pub verdict: Verdict,
    /// Whether more seeds are wanted.
    pub open: bool,
}

impl Looks {
    /// Looks after `first` seeds, then after twice as many each time, up to `last`.
    pub fn doubling(first: usize, last: usize, numbers: usize) -> Self {
        let doubled = std::iter::successors(Some(first), |seeds| Some(seeds * 2));
        let mut seeds: Vec<usize> = doubled.take_while(|seeds| *seeds < last).collect();
        seeds.push(last);
        Self { seeds, numbers }
    }

    /// The quantile of the bound below which a number is good. Each look spends an equal part of the error (Bonferroni).
    fn of_good(&self) -> f64 {
        1.0 - WRONGLY_GOOD / self.seeds.len() as f64
    }

    /// The quantile of the bound above which a number is worse: parts of the error for each look and each of the half's numbers.
    fn of_worse(&self) -> f64 {
        1.0 - WRONGLY_WORSE / (self.seeds.len() * self.numbers.max(1)) as f64
    }

    /// Judges a number, whose estimate with the bounds of a quantile is `at`. `last` says that no more seeds come.
    pub fn judge(&self, rule: Rule, last: bool, at: impl Fn(f64) -> Estimate) -> Judged {
        let Estimate { mean: value, half_width } = at(self.of_good());
        let upper = half_width.map(|half| value + half);
        let lower = at(self.of_worse()).half_width.map_or(f64::NEG_INFINITY, |half| value - half);
        let bounded = upper.is_some_and(|upper| upper < rule.below);
        let verdict = match value <= rule.most {
            true if bounded || last && !rule.bound_counts => Verdict::Good,
            false if lower > rule.most => Verdict::Worse,
            _ => Verdict::Unclear,
        };
        Judged { value, upper, verdict, open: !last && verdict == Verdict::Unclear }
    }
}

/// The mean of `values` over that of `base`, run by run of the same seeds, with the bounds of `quantile`.
pub fn ratio(values: &[f64], base: &[f64], quantile: f64) -> Estimate {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let alone = Estimate { mean: mean(values) / mean(base), half_width: None };
    Estimate::of_paired_ratio_at(values, base, quantile).unwrap_or(alone)
}

/// The geometric mean of the ratios of `values` to `base`, run by run of the same seeds, with the upper bound of `quantile`.
/// The lower one is nearer than the estimate shows, so that nothing is called worse too soon.
pub fn geometric_ratio(values: &[f64], base: &[f64], quantile: f64) -> Estimate {
    let logs: Vec<f64> = values.iter().zip(base).map(|(value, base)| (value / base).ln()).collect();
    let of_logs = Estimate::of_mean_at(&logs, quantile).unwrap_or(Estimate { mean: 0.0, half_width: None });
    let mean = of_logs.mean.exp();
    Estimate { mean, half_width: of_logs.half_width.map(|half| mean * half.exp() - mean) }
}

/// Verdicts of a half, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Good ones.
    pub good: usize,
    /// Those shown to be worse, ejected schedulers among them.
    pub worse: usize,
    /// All.
    pub all: usize,
}

impl Tally {
    /// Counts `verdicts`.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        verdicts.into_iter().fold(Self::default(), |tally, verdict| Self {
            good: tally.good + usize::from(verdict == Verdict::Good),
            worse: tally.worse + usize::from(verdict >= Verdict::Worse),
            all: tally.all + 1,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { good, worse, all } = self;
        write!(f, "{good} of {all} good, {worse} worse, {} unclear", all - good - worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Rule = Rule { most: 1.01, below: 1.03, bound_counts: true };
    const LATENCY: Rule = Rule { most: 1.05, below: 1.10, bound_counts: false };

    fn looks(numbers: usize) -> Looks {
        Looks::doubling(4, 16, numbers)
    }

    /// An estimate whose bounds are `half` away, whatever the quantile.
    fn within(mean: f64, half: f64) -> impl Fn(f64) -> Estimate {
        move |_| Estimate { mean, half_width: Some(half) }
    }

    #[test]
    fn seeds_double_up_to_the_cap() {
        assert_eq!(Looks::doubling(5, 40, 1).seeds, [5, 10, 20, 40]);
        assert_eq!(Looks::doubling(5, 30, 1).seeds, [5, 10, 20, 30]);
        assert_eq!(Looks::doubling(3, 3, 1).seeds, [3]);
    }

    #[test]
    fn errors_are_divided_among_looks_and_numbers() {
        // Three looks: 0.05 / 3; of ten numbers 0.05 / 30.
        assert!((looks(10).of_good() - 0.983_333).abs() < 1e-6);
        assert!((looks(10).of_worse() - 0.998_333).abs() < 1e-6);
    }

    #[test]
    fn good_needs_the_estimate_and_the_bound() {
        let verdict = |mean, half, last| looks(1).judge(TIME, last, within(mean, half)).verdict;
        assert_eq!(verdict(1.005, 0.02, false), Verdict::Good);
        assert_eq!(verdict(1.005, 0.03, false), Verdict::Unclear);
        assert_eq!(verdict(1.005, 0.03, true), Verdict::Unclear, "the bound is asked at the end, too");
        assert_eq!(verdict(1.02, 0.005, true), Verdict::Worse);
        assert_eq!(verdict(1.02, 0.015, true), Verdict::Unclear);
    }

    #[test]
    fn without_a_bound_to_keep_the_last_estimate_decides() {
        let judged = |mean, half, last| looks(1).judge(LATENCY, last, within(mean, half));
        let first = judged(1.04, 0.2, false);
        assert_eq!((first.verdict, first.open), (Verdict::Unclear, true));
        let last = judged(1.04, 0.2, true);
        assert_eq!((last.verdict, last.open), (Verdict::Good, false));
        assert_eq!(judged(1.06, 0.2, true).verdict, Verdict::Unclear);
        assert_eq!(judged(1.06, 0.005, false).verdict, Verdict::Worse);
    }

    /// Numbers around 0 with a deviation of 1, always the same: the sum of twelve uniform ones of a linear congruential generator
    /// (Knuth's MMIX), less 6.
    fn noise(state: &mut u64) -> f64 {
        let mut uniform = || {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    /// The verdict of a number whose true ratio is `truth`, where runs of a pair differ by a twentieth.
    fn drawn(looks: &Looks, truth: f64, state: &mut u64) -> Verdict {
        let (mut own, mut base) = (Vec::new(), Vec::new());
        for (look, seeds) in looks.seeds.iter().enumerate() {
            while own.len() < *seeds {
                own.push(truth * (1.0 + 0.05 * noise(state)));
                base.push(1.0);
            }
            let judged = looks.judge(TIME, look + 1 == looks.seeds.len(), |quantile| ratio(&own, &base, quantile));
            if !judged.open {
                return judged.verdict;
            }
        }
        panic!("the last look is open")
    }

    #[test]
    fn looking_again_and_many_cells_do_not_make_it_err_more_often() {
        let (looks, mut state) = (Looks::doubling(5, 40, 20), 1);
        // At the limit no cell is worse: in 200 halves of 20 cells at most one in twenty has a false alarm.
        let alarms = (0..200).filter(|_| (0..20).any(|_| drawn(&looks, 1.01, &mut state) == Verdict::Worse)).count();
        assert!(alarms <= 10, "{alarms}");
        // At the bound no cell is good, but for one in twenty.
        let good = (0..2000).filter(|_| drawn(&looks, 1.03, &mut state) == Verdict::Good).count();
        assert!(good <= 100, "{good}");
        // What is a tenth longer is found, and what is as long is, too.
        assert!((0..100).all(|_| drawn(&looks, 1.1, &mut state) == Verdict::Worse));
        let same = (0..100).filter(|_| drawn(&looks, 0.99, &mut state) == Verdict::Good).count();
        assert!(same >= 90, "{same}");
    }

    #[test]
    fn one_seed_shows_nothing() {
        let alone = |_| ratio(&[3.0], &[2.0], 0.95);
        let judged = looks(1).judge(TIME, true, alone);
        assert_eq!((judged.value, judged.upper, judged.verdict), (1.5, None, Verdict::Unclear));
    }

    #[test]
    fn a_geometric_ratio_is_not_moved_by_the_size_of_runs() {
        // Twice as much in each run: no deviation.
        let twice = geometric_ratio(&[2.0, 20.0, 200.0], &[1.0, 10.0, 100.0], 0.95);
        assert!((twice.mean - 2.0).abs() < 1e-12 && twice.half_width.unwrap() < 1e-9);
        // Logarithms ln 2 and ln 8: their mean is ln 4. s / √2 = ln 2, t(0.95, 1) = 6.314, so the upper bound is 4 · 2^6.314.
        let of_two = geometric_ratio(&[2.0, 8.0], &[1.0, 1.0], 0.95);
        assert!((of_two.mean - 4.0).abs() < 1e-12);
        assert!((of_two.mean + of_two.half_width.unwrap()) / (4.0 * 2f64.powf(6.314)) - 1.0 < 1e-3);
    }

    #[test]
    fn tallies_count_ejected_schedulers_as_worse() {
        let tally = Tally::of([Verdict::Good, Verdict::Good, Verdict::Unclear, Verdict::Worse, Verdict::Ejected]);
        assert_eq!(tally.to_string(), "2 of 5 good, 2 worse, 1 unclear");
    }
}
