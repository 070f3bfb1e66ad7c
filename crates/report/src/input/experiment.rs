// SPDX-License-Identifier: MIT OR Apache-2.0
//! An experiment: what `tandem experiment --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The numbers of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The stem of the experiment's file.
    pub name: String,
    title: String,
    #[serde(default)]
    about: String,
    seeds: u64,
    #[serde(default)]
    disturbed: bool,
    series: Vec<Series>,
    #[serde(default)]
    sensitivity: Option<Vec<Parameter>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Series {
    what: String,
    unit: String,
    #[serde(default)]
    expression: Option<String>,
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Cell {
    at: BTreeMap<String, String>,
    ours: Option<Estimate>,
    #[serde(default)]
    published: Option<f64>,
    #[serde(default)]
    deviation: Option<f64>,
    verdict: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Estimate {
    mean: f64,
    half_width: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Parameter {
    what: String,
    target: String,
    not_valid: Option<String>,
    headlines: Vec<Moved>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Moved {
    what: String,
    unit: String,
    unchanged: f64,
    smaller: Option<f64>,
    larger: Option<f64>,
}
