// SPDX-License-Identifier: MIT OR Apache-2.0
//! The geometric mean of a pair's ratios over all cells, and the cell in which it fares worst.

use super::Matrix;
#[cfg(doc)]
use crate::comparison::PairResult;
use crate::comparison::{Comparison, Metric};
use crate::statistics::Estimate;

/// What a pair's ratios to the reference say together.
#[derive(Debug, Clone)]
pub struct GeometricMean<'a> {
    /// The geometric mean of the ratios. The root of the sum of the cells' squared relative half widths, over the number of
    /// cells, is its relative half width: the cells' errors are taken as independent. `None` where a cell has no interval.
    pub ratio: Estimate,
    /// In how many cells both were measured, and the ratio is above 0.
    pub cells: usize,
    /// The comparison with the worst ratio: the largest one, or the smallest where more is better.
    pub worst: &'a Comparison,
    /// The ratio there.
    pub worst_ratio: Estimate,
}

impl Matrix {
    /// The geometric mean of the ratios of the pair at `index` to the reference; `None` for the reference itself, and where
    /// no cell has a ratio. Cells in which a scheduler lacked a part of itself ([`PairResult::without`]), or did not
    /// heed the same as the reference ([`PairResult::heeds_as`]), do not count.
    pub fn geometric_mean(&self, index: usize, metric: Metric) -> Option<GeometricMean<'_>> {
        let ratio = |cell: &Comparison| {
            let (pair, reference) = (cell.pairs.get(index)?, cell.pairs.first()?);
            if pair.without().is_some() || reference.without().is_some() || !pair.heeds_as(reference) {
                return None;
            }
            let ratio = pair.metric(metric).ratio?.estimate;
            (ratio.mean > 0.0).then_some(ratio)
        };
        let cells: Vec<(&Comparison, Estimate)> =
            self.comparisons.iter().filter_map(|cell| Some((cell, ratio(cell)?))).filter(|_| index > 0).collect();
        let ratios: Vec<Estimate> = cells.iter().map(|(_, ratio)| *ratio).collect();
        let by_ratio = |(_, a): &&(&Comparison, Estimate), (_, b): &&(&Comparison, Estimate)| a.mean.total_cmp(&b.mean);
        // Of equal cells the first one.
        let worst = match metric.more_is_better() {
            true => cells.iter().min_by(by_ratio),
            false => cells.iter().rev().max_by(by_ratio),
        };
        let (worst, worst_ratio) = *worst?;
        Some(GeometricMean { ratio: geometric(&ratios), cells: cells.len(), worst, worst_ratio })
    }
}

/// The geometric mean of at least one ratio, all above 0.
fn geometric(ratios: &[Estimate]) -> Estimate {
    let count = ratios.len() as f64;
    let mean = (ratios.iter().map(|ratio| ratio.mean.ln()).sum::<f64>() / count).exp();
    let relative: Option<Vec<f64>> =
        ratios.iter().map(|ratio| ratio.half_width.map(|half| (half / ratio.mean).powi(2))).collect();
    let half_width = relative.map(|squares| mean * squares.iter().sum::<f64>().sqrt() / count);
    Estimate { mean, half_width }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tandem_simulator::metrics::SchedExtReport;

    use super::*;
    use crate::comparison::tests::comparison;
    use crate::scenario::pair::Pair;

    /// Cells in which the second pair takes so many times the first one's time, and its inverse throughput.
    fn matrix(times: &[f64]) -> Matrix {
        let cell = |(index, time): (usize, &f64)| comparison(&format!("m{index}"), "w", &[2.0, 2.0 * time]);
        let comparisons: Vec<Comparison> = times.iter().enumerate().map(cell).collect();
        let pairs: Vec<Pair> = comparisons[0].pairs.iter().map(|pair| pair.pair.clone()).collect();
        Matrix { pairs, seeds: vec![0], comparisons, missing: 0 }
    }

    #[test]
    fn twice_and_half_make_one() {
        let matrix = matrix(&[0.5, 2.0]);
        let mean = matrix.geometric_mean(1, Metric::Time).unwrap();
        assert!((mean.ratio.mean - 1.0).abs() < 1e-12, "{mean:?}");
        assert_eq!((mean.cells, mean.worst.machine.as_str()), (2, "m1"));
        assert!(matrix.geometric_mean(0, Metric::Time).is_none(), "the reference has no ratio to itself");
    }

    #[test]
    fn a_scheduler_that_lacked_a_part_of_itself_has_no_mean() {
        let mut matrix = matrix(&[0.5, 2.0]);
        let lacking = SchedExtReport {
            name: "half".to_owned(),
            kernel: "7.1".to_owned(),
            without: Some("its user-space half".to_owned()),
            ignored: Vec::new(),
            callbacks: BTreeMap::new(),
            lines: Vec::new(),
            overhead_s: 0.0,
            statistics: Vec::new(),
            states: Vec::new(),
            values: Vec::new(),
            restarts: Vec::new(),
            exit: None,
            output: Vec::new(),
        };
        matrix.comparisons[0].pairs[1].outcomes[0].report.sched_ext = Some(lacking.clone());
        let mean = matrix.geometric_mean(1, Metric::Time).unwrap();
        assert_eq!((mean.cells, mean.ratio.mean), (1, 2.0), "the other cell counts");
        matrix.comparisons[1].pairs[0].outcomes[0].report.sched_ext = Some(lacking);
        assert_eq!(matrix.comparisons[1].pairs[0].without(), Some("its user-space half"));
        assert!(matrix.geometric_mean(1, Metric::Time).is_none(), "nor does a ratio to such a one");
    }

    #[test]
    fn the_worst_cell_is_the_smallest_where_more_is_better_and_the_first_of_equals() {
        let matrix = matrix(&[0.5, 2.0, 2.0]);
        assert_eq!(matrix.geometric_mean(1, Metric::Time).unwrap().worst.machine, "m1");
        // Twice the time is half the throughput.
        let throughput = matrix.geometric_mean(1, Metric::Throughput).unwrap();
        assert_eq!((throughput.worst.machine.as_str(), throughput.worst_ratio.mean), ("m1", 0.5));
    }

    #[test]
    fn relative_errors_add_as_squares_over_the_cells() {
        // 3 % and 4 % make 5 %, over two cells 2.5 %.
        let ratio = |mean: f64, half: f64| Estimate { mean, half_width: Some(half) };
        let mean = geometric(&[ratio(2.0, 0.06), ratio(0.5, 0.02)]);
        assert!((mean.half_width.unwrap() - 0.025).abs() < 1e-12, "{mean:?}");
        let without = Estimate { mean: 1.0, half_width: None };
        assert_eq!(geometric(&[ratio(1.0, 0.1), without]).half_width, None);
    }
}
