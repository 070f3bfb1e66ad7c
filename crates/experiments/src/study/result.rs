// SPDX-License-Identifier: MIT OR Apache-2.0
//! What reproducing yields: each number of each paper beside ours. The field names are the JSON schema (docs/reports.md).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::score::{Correlation, Score, Scores};
use super::verdict::Verdict;
use crate::axes::Place;
use crate::paper::{Bound, Choice, Unit};
use crate::statistics::Estimate;

/// Version of the JSON schema; grows when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Results {
    /// Version of this schema.
    pub schema: u32,
    /// The results of each paper, by name.
    pub papers: Vec<PaperResult>,
    /// What an interrupt kept from being run; the JSON has it only then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// What an interrupt kept from being run, of one paper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// The name of the paper's folder.
    pub paper: String,
    /// How many of its simulated numbers are missing.
    pub numbers: usize,
    /// How many simulated numbers it has.
    pub of: usize,
    /// Whether its sensitivity table was asked for and is missing.
    pub sensitivity: bool,
}

/// The results of a paper.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PaperResult {
    /// The name of the paper's folder.
    pub name: String,
    /// The title that its authors gave it.
    pub title: String,
    /// Authors and venue.
    pub source: String,
    /// Numbers by verdict.
    pub counts: Counts,
    /// How many numbers hold by which rule.
    pub scores: Scores,
    /// Of all its tables together: how our effects go with the published ones.
    pub correlations: Vec<Correlation>,
    /// What would have to be known for more of its numbers to come out; empty if that is not said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unknown: String,
    /// What could have been done otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The results of each experiment, in the order of the report.
    pub experiments: Vec<ExperimentResult>,
    /// How far the main results move with each parameter; `None` if that was not asked for or the paper names none.
    pub sensitivity: Option<Vec<ParameterResult>>,
}

/// The results of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentResult {
    /// The stem of the experiment's file.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// What is measured, how it is simulated, what is left out.
    pub about: String,
    /// Runs of each simulation.
    pub seeds: u32,
    /// How our effects go with the published ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub correlations: Vec<Correlation>,
    /// The results of each series.
    pub series: Vec<SeriesResult>,
}

/// Numbers of one kind, ours beside the paper's.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SeriesResult {
    /// Where the paper has the numbers.
    #[serde(rename = "where")]
    pub place: String,
    /// The metric's name, for people.
    pub what: String,
    /// The metric's unit.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub unit: Unit,
    /// How ours are computed; `None` where nothing is simulated.
    pub expression: Option<String>,
    /// The numbers themselves.
    pub cells: Vec<CellResult>,
}

/// A number of ours beside the paper's.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CellResult {
    /// Which number: the values of axes at which it stands.
    pub at: Place,
    /// The paper's value, in the unit of the series; a prediction has none.
    pub published: Option<f64>,
    /// Whether the paper's value is a limit.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "Option<Bound>")]
    pub bound: Option<Bound>,
    /// The mean of our runs over their seeds, in the unit of the series, with its interval; `None` where nothing is simulated.
    pub ours: Option<Estimate>,
    /// Percentage points for percentages, else percent of the published value.
    pub deviation: Option<f64>,
    /// How ours stands to the paper's value.
    pub verdict: Verdict,
    /// What the verdict is worth; only judged numbers have it.
    #[serde(flatten)]
    pub score: Option<Score>,
    /// Why there is none of ours, or which parameter was fitted.
    pub reason: Option<String>,
    /// Which other numbers the published one is a mean of, or repeats, so that it is not counted; the JSON has it only then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
    /// Which other numbers it is arithmetic of, so that it tests nothing of its own; the JSON has it only then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from: Option<String>,
    /// What a reader should know.
    pub note: Option<String>,
    /// Whether it is one of the paper's main results.
    pub headline: bool,
}

/// How far the main results move with a parameter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ParameterResult {
    /// What people call the parameter.
    pub what: String,
    /// The machine and the path in its description, or the option.
    pub target: String,
    /// Why it cannot be a fifth smaller or larger, if it cannot: a share above 1.
    pub not_valid: Option<String>,
    /// The main results, in the order of the report.
    pub headlines: Vec<Moved>,
}

/// A main result with a parameter as it is, a fifth smaller, and a fifth larger.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// The metric and which, for people.
    pub what: String,
    /// The metric's unit.
    #[serde(serialize_with = "by_name", deserialize_with = "of_name")]
    #[schemars(with = "String")]
    pub unit: Unit,
    /// With the parameter as the files say, in that unit; the mean over the few seeds of the table.
    pub unchanged: f64,
    /// With the parameter a fifth smaller, in that unit.
    pub smaller: Option<f64>,
    /// With the parameter a fifth larger, in that unit.
    pub larger: Option<f64>,
}

/// Numbers by verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Counts(pub BTreeMap<Verdict, usize>);

impl Counts {
    /// Counts the numbers of `experiments`, each once: not those that are means of others.
    pub fn of(experiments: &[ExperimentResult]) -> Self {
        let mut counts = Self(Verdict::ALL.into_iter().map(|verdict| (verdict, 0)).collect());
        let cells = experiments.iter().flat_map(|experiment| &experiment.series).flat_map(|series| &series.cells);
        for cell in cells.filter(|cell| cell.derived.is_none()) {
            *counts.0.entry(cell.verdict).or_default() += 1;
        }
        counts
    }

    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        for (verdict, count) in &other.0 {
            *self.0.entry(*verdict).or_default() += count;
        }
    }

    /// How many have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.0.get(&verdict).copied().unwrap_or(0)
    }

    /// Published numbers.
    pub fn published(&self) -> usize {
        self.0.iter().filter(|(verdict, _)| **verdict != Verdict::Predicted).map(|(_, count)| count).sum()
    }

    /// Published numbers that are judged: neither calibrated nor without a model.
    pub fn judged(&self) -> usize {
        [Verdict::Agrees, Verdict::SameDirection, Verdict::Differs].map(|verdict| self.count(verdict)).iter().sum()
    }

    /// The share of the judged that agree, and of those that do or have the same direction; `None` if none is judged.
    pub fn shares(&self) -> Option<(f64, f64)> {
        let judged = self.judged() as f64;
        let agree = self.count(Verdict::Agrees) as f64;
        (judged > 0.0).then(|| (agree / judged, (agree + self.count(Verdict::SameDirection) as f64) / judged))
    }
}

impl Results {
    /// Numbers of all papers by verdict.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::of(&[]);
        self.papers.iter().for_each(|paper| counts.add(&paper.counts));
        counts
    }
}

impl Results {
    /// How many numbers of all papers hold by which rule.
    pub fn scores(&self) -> Scores {
        let mut scores = Scores::default();
        self.papers.iter().for_each(|paper| scores.add(&paper.scores));
        scores
    }
}

impl CellResult {
    /// Whether the published number is no arithmetic of others.
    pub fn is_independent(&self) -> bool {
        self.derived.is_none() && self.derived_from.is_none()
    }
}

impl SeriesResult {
    /// The axes whose values its cells name.
    pub fn axes(&self) -> BTreeSet<&str> {
        self.cells.iter().flat_map(|cell| cell.at.keys()).map(String::as_str).collect()
    }

    /// What tells its cells apart, each as text: the values of those axes that are not the same in all of them.
    pub fn labels(&self) -> Vec<String> {
        let same =
            |axis: &str, value: &str| self.cells.iter().all(|cell| cell.at.get(axis).is_some_and(|own| own == value));
        // Of a single one, all is told.
        let several = self.cells.len() > 1;
        let label = |cell: &CellResult| {
            let parts = cell.at.iter().filter(|(axis, value)| !several || !same(axis, value));
            parts.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
        };
        self.cells.iter().map(label).collect()
    }
}

fn by_name<S: serde::Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.name())
}

fn of_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
    String::deserialize(deserializer).map(|name| Unit::of(&name))
}

fn in_words<S: serde::Serializer>(bound: &Option<Bound>, serializer: S) -> Result<S::Ok, S::Error> {
    bound.map(Bound::words).serialize(serializer)
}
