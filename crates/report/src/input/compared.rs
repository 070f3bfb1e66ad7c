// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons: what `tandem compare --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_simulator::metrics::{Energy, Latency};

use crate::error::ReportError;

/// One comparison or several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// One per machine and workload.
    pub comparisons: Vec<Comparison>,
    geometric_means: Vec<Means>,
    missing: usize,
    gate: Option<Gate>,
    sensitivity: Vec<Sensitivity>,
}

/// Pairs of scheduler and governor on one machine and workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    seeds: Vec<u64>,
    pairs: Vec<Pair>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pair {
    scheduler: String,
    governor: String,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    #[serde(default)]
    ignored: BTreeMap<String, String>,
    metrics: BTreeMap<String, Metric>,
    runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Metric {
    mean: Option<f64>,
    half_width: Option<f64>,
    ratio: Option<f64>,
    ratio_half_width: Option<f64>,
    ratio_paired: Option<bool>,
    not_measured: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    seed: u64,
    time_s: f64,
    time_limited: bool,
    energy_j: Energy,
    wakeup_latency_ns: Option<Latency>,
    response_ns: Option<Latency>,
    apps: Vec<App>,
    #[serde(default)]
    warnings: Vec<String>,
    exit: Option<Exit>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct App {
    name: String,
    time_s: Option<f64>,
    performance: f64,
    speedup: Option<f64>,
    cpu_time_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exit {
    at_s: f64,
    kind: String,
    message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Means {
    scheduler: String,
    governor: String,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    metrics: BTreeMap<String, Mean>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Mean {
    ratio: f64,
    ratio_half_width: Option<f64>,
    cells: usize,
    worst: Worst,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Worst {
    machine: String,
    workload: String,
    ratio: f64,
    ratio_half_width: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Gate {
    judged: Vec<Judged>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Judged {
    machine: String,
    workload: String,
    pair: String,
    condition: String,
    judgement: String,
    ratio: Option<f64>,
    ratio_half_width: Option<f64>,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    runs: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sensitivity {
    machine: String,
    workload: String,
    moved: Vec<Moved>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Moved {
    table: String,
    key: String,
    trust: String,
    pairs: Vec<Elasticity>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Elasticity {
    pair: String,
    time_percent_per_percent: Option<f64>,
    energy_percent_per_percent: Option<f64>,
    time_half_width: Option<f64>,
    energy_half_width: Option<f64>,
}

impl Compared {
    /// Reads the comparison, or the matrix of several, `text` of `file`.
    pub fn read(file: &str, text: &str) -> Result<Self, ReportError> {
        #[derive(Deserialize)]
        struct Both {
            #[serde(default)]
            comparisons: Option<Vec<Comparison>>,
            #[serde(default)]
            geometric_means: Vec<Means>,
            #[serde(default)]
            missing: usize,
            #[serde(default)]
            gate: Option<Gate>,
            #[serde(default)]
            sensitivity: Vec<Sensitivity>,
        }
        let Both { comparisons, geometric_means, missing, gate, sensitivity } = super::read(file, text)?;
        let comparisons = match comparisons {
            Some(comparisons) => comparisons,
            None => vec![super::read(file, text)?],
        };
        Ok(Self { comparisons, geometric_means, missing, gate, sensitivity })
    }
}
