// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a paper as they are written: keys and types, nothing checked beyond them. `papers/README.md` is the guide.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::{Spanned, Value};

/// The file `paper.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    pub title: String,
    pub source: String,
    pub experiments: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub parameter: Vec<Spanned<Parameter>>,
    pub unknown: Option<String>,
    #[serde(default)]
    pub choice: Vec<Spanned<Choice>>,
}

/// What could have been done otherwise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub what: Spanned<String>,
    pub chosen: Spanned<String>,
    pub why: Spanned<String>,
    pub after_verdicts: bool,
    #[serde(default)]
    pub alternative: Vec<Spanned<Alternative>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    pub what: Spanned<String>,
    pub gives: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    pub machine: Option<Spanned<String>>,
    pub path: Option<Spanned<String>>,
    pub generate: Option<Spanned<String>>,
    pub what: String,
}

/// The file of an experiment: any other TOML file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub title: String,
    #[serde(default)]
    pub about: String,
    pub seeds: Option<Spanned<u32>>,
    pub quiet: Option<bool>,
    #[serde(default)]
    pub axes: BTreeMap<Spanned<String>, Spanned<Value>>,
    #[serde(default)]
    pub run: BTreeMap<Spanned<String>, Spanned<Run>>,
    #[serde(default)]
    pub series: Vec<Spanned<Series>>,
    #[serde(default)]
    pub parameter: Vec<Spanned<Parameter>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub machine: Spanned<String>,
    pub generate: Option<Spanned<Vec<Spanned<String>>>>,
    pub workload: Option<Spanned<String>>,
    pub scheduler: Spanned<String>,
    #[serde(default)]
    pub options: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    #[serde(rename = "where", default)]
    pub place: String,
    pub what: String,
    pub unit: Spanned<String>,
    pub ours: Option<Spanned<String>>,
    pub over: Option<Spanned<Value>>,
    pub each: Option<Spanned<Value>>,
    #[serde(default)]
    pub fold: Fold,
    #[serde(default)]
    pub headline: bool,
    pub neutral: Option<Spanned<Value>>,
    pub beside: Option<Spanned<BTreeMap<String, String>>>,
    pub not_modelled: Option<String>,
    pub derived: Option<String>,
    pub derived_from: Option<Spanned<String>>,
    #[serde(default)]
    pub cell: Vec<Spanned<Cell>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    pub at: Option<Spanned<BTreeMap<String, String>>>,
    pub published: Option<f64>,
    pub note: Option<String>,
    pub bound: Option<Bound>,
    pub calibrated: Option<Spanned<String>>,
    pub not_modelled: Option<String>,
    pub derived: Option<String>,
    pub derived_from: Option<Spanned<String>>,
    pub neutral: Option<Spanned<Value>>,
    #[serde(default)]
    pub headline: bool,
}

/// How several values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fold {
    /// The mean of the values.
    #[default]
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// A published number that is no value but a limit of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Bound {
    /// The true value is no larger.
    #[serde(rename = "at most")]
    AtMost,
    /// The true value is no smaller.
    #[serde(rename = "at least")]
    AtLeast,
}

impl Bound {
    /// How files write the limit.
    pub fn words(self) -> &'static str {
        match self {
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
        }
    }
}
