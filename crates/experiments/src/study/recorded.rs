// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of ours that were computed before, read from the JSON of earlier results, to be judged anew without a run.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tandem_simulator::input::InputError;

use super::result::{ParameterResult, SCHEMA};
use crate::axes::Place;
use crate::paper::{Cell, Experiment, Paper, Series};
use crate::statistics::Estimate;

/// Numbers of ours that a file holds.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    papers: Vec<RecordedPaper>,
}

#[derive(Debug, Deserialize)]
struct Document {
    schema: u32,
    papers: Vec<RecordedPaper>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RecordedPaper {
    name: String,
    experiments: Vec<RecordedExperiment>,
    pub(super) sensitivity: Option<Vec<ParameterResult>>,
}

#[derive(Debug, Deserialize)]
struct RecordedExperiment {
    name: String,
    seeds: u32,
    series: Vec<RecordedSeries>,
}

#[derive(Debug, Deserialize)]
struct RecordedSeries {
    #[serde(rename = "where")]
    place: String,
    what: String,
    expression: Option<String>,
    cells: Vec<RecordedCell>,
}

#[derive(Debug, Deserialize)]
struct RecordedCell {
    at: Place,
    ours: Option<Estimate>,
}

impl Recorded {
    /// Reads the `text` of the file at `path`: what `tandem reproduce --json` wrote.
    ///
    /// # Errors
    /// A file that is no such JSON, with the place of the mistake.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InputError> {
        let document: Document = serde_json::from_str(text).map_err(|error| {
            let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let at = (before + error.column().saturating_sub(1)).min(text.len());
            InputError::at(path, text, at, error.to_string()).help("expected the JSON of `tandem reproduce`")
        })?;
        if document.schema != SCHEMA {
            let found = format!("the results have version {} of the schema", document.schema);
            return Err(InputError::whole(path, found).help(format!("this program reads version {SCHEMA}")));
        }
        Ok(Self { path: path.to_owned(), papers: document.papers })
    }

    /// What the file has of `paper`.
    pub(super) fn paper(&self, paper: &Paper) -> Result<&RecordedPaper, InputError> {
        let found = self.papers.iter().find(|recorded| recorded.name == paper.name);
        found.ok_or_else(|| self.missing(&format!("nothing of the paper `{}`", paper.name)))
    }

    /// Our value of a cell; an error if the file has none, or one that another expression gave.
    pub(super) fn ours(
        &self,
        paper: &RecordedPaper,
        experiment: &Experiment,
        series: &Series,
        cell: &Cell,
    ) -> Result<Estimate, InputError> {
        let of_experiment = paper.experiments.iter().find(|recorded| recorded.name == experiment.name);
        let all = of_experiment.iter().flat_map(|recorded| &recorded.series);
        let formula = series.ours.formula().map(|formula| &formula.text);
        let same = all.filter(|other| other.place == series.place && other.what == series.what);
        let mut same = same.filter(|other| other.expression.as_ref() == formula);
        let ours = same.find_map(|other| other.cells.iter().find(|other| other.at == cell.at)?.ours);
        ours.ok_or_else(|| {
            let Experiment { name, .. } = experiment;
            self.missing(&format!(
                "no number of {}/{name}, `{}` at {:?}, by the expression of today",
                paper.name, series.what, cell.at
            ))
        })
    }

    /// Runs of each simulation.
    pub(super) fn seeds(paper: &RecordedPaper, experiment: &Experiment) -> Option<u32> {
        paper.experiments.iter().find(|recorded| recorded.name == experiment.name).map(|recorded| recorded.seeds)
    }

    fn missing(&self, what: &str) -> InputError {
        InputError::whole(&self.path, format!("has {what}")).help("`tandem reproduce` without --from computes it")
    }
}
