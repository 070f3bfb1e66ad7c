// SPDX-License-Identifier: MIT OR Apache-2.0
//! The matrix for programs; docs/reports.md describes every field.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;
use tandem_simulator::metrics::SCHEMA;

use super::{GeometricMean, Matrix};
use crate::comparison::{Comparison, Metric};
use crate::scenario::pair::Pair;

impl Serialize for Matrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::of(self).serialize(serializer)
    }
}

/// A matrix as JSON.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    seeds: &'a [u64],
    comparisons: &'a [Comparison],
    geometric_means: Vec<Means<'a>>,
    missing: usize,
}

/// A pair's means, by the metric's key; metrics without one are left out.
#[derive(Serialize)]
struct Means<'a> {
    scheduler: String,
    governor: String,
    parameters: BTreeMap<&'a str, Value>,
    metrics: BTreeMap<&'static str, Mean<'a>>,
}

#[derive(Serialize)]
struct Mean<'a> {
    ratio: f64,
    ratio_half_width: Option<f64>,
    cells: usize,
    worst: Worst<'a>,
}

#[derive(Serialize)]
struct Worst<'a> {
    machine: &'a str,
    workload: &'a str,
    ratio: f64,
    ratio_half_width: Option<f64>,
}

impl<'a> Document<'a> {
    fn of(matrix: &'a Matrix) -> Self {
        let others = matrix.pairs.iter().enumerate().skip(1);
        Self {
            schema: SCHEMA,
            seeds: &matrix.seeds,
            comparisons: &matrix.comparisons,
            geometric_means: others.map(|(index, pair)| Means::of(matrix, index, pair)).collect(),
            missing: matrix.missing,
        }
    }
}

impl<'a> Means<'a> {
    fn of(matrix: &'a Matrix, index: usize, pair: &'a Pair) -> Self {
        let mean = |metric: Metric| Some((metric.key(), Mean::of(&matrix.geometric_mean(index, metric)?)));
        Self {
            scheduler: pair.scheduler.to_string(),
            governor: pair.governor.to_string(),
            parameters: pair.parameters.iter().map(|set| (set.key.as_str(), set.typed())).collect(),
            metrics: Metric::ALL.into_iter().filter_map(mean).collect(),
        }
    }
}

impl<'a> Mean<'a> {
    fn of(mean: &GeometricMean<'a>) -> Self {
        let GeometricMean { ratio, cells, worst, worst_ratio } = mean;
        Self {
            ratio: ratio.mean,
            ratio_half_width: ratio.half_width,
            cells: *cells,
            worst: Worst {
                machine: &worst.machine,
                workload: &worst.workload,
                ratio: worst_ratio.mean,
                ratio_half_width: worst_ratio.half_width,
            },
        }
    }
}
