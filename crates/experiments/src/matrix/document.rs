// SPDX-License-Identifier: MIT OR Apache-2.0
//! The matrix for programs; docs/reports.md describes every field.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::Value;
use tandem_simulator::metrics::SCHEMA;

use super::{GeometricMean, Matrix};
use crate::comparison::{Comparison, Metric};
use crate::gate::Gate;
use crate::scenario::pair::Pair;
use crate::sensitivity::Sensitivity;

impl Serialize for Matrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::of(self).serialize(serializer)
    }
}

impl JsonSchema for Matrix {
    fn schema_name() -> Cow<'static, str> {
        "Matrix".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Document::json_schema(generator)
    }
}

/// Pairs on several machines and workloads.
#[derive(Serialize, JsonSchema)]
struct Document<'a> {
    /// Version of this schema.
    schema: u32,
    /// Seeds of the runs.
    seeds: &'a [u64],
    /// One per machine and workload, by machine, then by workload.
    comparisons: &'a [Comparison],
    /// One per pair but the first.
    geometric_means: Vec<Means<'a>>,
    /// Combinations of machine and workload that an interrupt left unfinished.
    missing: usize,
}

/// A pair's geometric means over all machines and workloads.
#[derive(Serialize, JsonSchema)]
struct Means<'a> {
    /// The scheduler, with the settings behind its name.
    scheduler: String,
    /// The governor, with the settings that are not the default.
    governor: String,
    /// Values of the settings that were varied, by name.
    parameters: BTreeMap<&'a str, Value>,
    /// By the metric's name; metrics without a ratio in any cell are left out.
    metrics: BTreeMap<&'static str, Mean<'a>>,
}

/// The geometric mean of a metric's ratios to the first pair.
#[derive(Serialize, JsonSchema)]
struct Mean<'a> {
    /// The mean of the ratios.
    ratio: f64,
    /// The 95 % confidence interval is the ratio ± this; null where a cell has none.
    ratio_half_width: Option<f64>,
    /// Over how many cells it is.
    cells: usize,
    /// The cell with the worst ratio.
    worst: Worst<'a>,
}

/// The cell in which a pair fares worst.
#[derive(Serialize, JsonSchema)]
struct Worst<'a> {
    /// The machine's name.
    machine: &'a str,
    /// The workload's name.
    workload: &'a str,
    /// The ratio there.
    ratio: f64,
    /// Its 95 % confidence interval is the ratio ± this.
    ratio_half_width: Option<f64>,
}

/// What `tandem compare --json` prints: a comparison, or a matrix of several, and what was judged.
#[derive(Serialize, JsonSchema)]
pub struct Compared<'a> {
    #[serde(flatten)]
    results: Shape<'a>,
    /// What a baseline says of them; only with --baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a Gate>,
    /// How far the results depend on values of the machines, one per machine and workload; only with --sensitivity.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sensitivity: &'a [Sensitivity],
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Shape<'a> {
    /// One machine and one workload.
    One(&'a Comparison),
    /// Several.
    Many(&'a Matrix),
}

impl<'a> Compared<'a> {
    /// One comparison.
    pub fn one(comparison: &'a Comparison, gate: Option<&'a Gate>) -> Self {
        Self { results: Shape::One(comparison), gate, sensitivity: &[] }
    }

    /// Comparisons on several machines or workloads.
    pub fn many(matrix: &'a Matrix, gate: Option<&'a Gate>) -> Self {
        Self { results: Shape::Many(matrix), gate, sensitivity: &[] }
    }

    /// With how far the results depend on values of the machines.
    #[must_use]
    pub fn sensitive_to(self, sensitivity: &'a [Sensitivity]) -> Self {
        Self { sensitivity, ..self }
    }
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
