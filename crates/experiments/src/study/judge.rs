// SPDX-License-Identifier: MIT OR Apache-2.0
//! From ours of all numbers of an experiment to its results, each judged.

use super::result::{CellResult, ExperimentResult, SeriesResult};
use super::score::{Correlation, Score};
use super::verdict::{Published, Verdict, deviation};
use crate::paper::{Cell, Experiment, Neutral, Series};
use crate::statistics::Estimate;

/// What there is of ours.
#[derive(Debug, Clone, Copy)]
pub enum Found {
    /// This value.
    Ours(Estimate),
    /// Nothing is simulated.
    NotModelled,
    /// The runs are missing.
    Lacking,
}

impl Found {
    fn estimate(self) -> Option<Estimate> {
        match self {
            Self::Ours(estimate) => Some(estimate),
            Self::NotModelled | Self::Lacking => None,
        }
    }
}

/// The results of `experiment` with what was `found` for each cell of each series, without those that are lacking; `None` if none
/// is left.
pub fn of_experiment(experiment: &Experiment, found: &[Vec<Found>], seeds: u32) -> Option<ExperimentResult> {
    let ours: Vec<Vec<Option<Estimate>>> =
        found.iter().map(|series| series.iter().map(|found| found.estimate()).collect()).collect();
    let mut results = Vec::new();
    for (index, series) in experiment.series.iter().enumerate() {
        let there =
            series.cells.iter().enumerate().filter(|(number, _)| !matches!(found[index][*number], Found::Lacking));
        let cells: Vec<_> =
            there.map(|(number, cell)| Judge { experiment, index, ours: &ours }.of(cell, number)).collect();
        results.extend((!cells.is_empty()).then(|| SeriesResult {
            place: series.place.clone(),
            what: series.what.clone(),
            unit: series.unit.clone(),
            expression: series.ours.formula().map(|formula| formula.text.clone()),
            cells,
        }));
    }
    let Experiment { name, title, about, .. } = experiment;
    (!results.is_empty()).then(|| ExperimentResult {
        name: name.clone(),
        title: title.clone(),
        about: about.clone(),
        seeds,
        correlations: Correlation::of(&results),
        series: results,
    })
}

/// Judges the cells of one series.
struct Judge<'a> {
    experiment: &'a Experiment,
    /// Of the series.
    index: usize,
    /// Ours, by series, then by cell.
    ours: &'a [Vec<Option<Estimate>>],
}

impl Judge<'_> {
    fn series(&self) -> &Series {
        &self.experiment.series[self.index]
    }

    /// The result of the cell with this `number`.
    fn of(&self, cell: &Cell, number: usize) -> CellResult {
        let (series, ours) = (self.series(), self.ours[self.index][number]);
        let not_modelled = cell.not_modelled.as_ref().or(series.ours.not_modelled());
        let (verdict, score) = match (cell.published, ours) {
            (_, None) => (Verdict::NotModelled, None),
            (None, _) => (Verdict::Predicted, None),
            _ if cell.calibrated.is_some() => (Verdict::Calibrated, None),
            (Some(value), Some(ours)) => {
                let published =
                    Published { value, bound: cell.bound, unit: &series.unit, reference: self.reference(cell) };
                (published.judge(ours), Some(Score::of(&published, ours.mean, self.neutral(cell))))
            }
        };
        let both = cell.published.zip(ours);
        CellResult {
            at: cell.at.clone(),
            published: cell.published,
            bound: cell.bound,
            ours,
            deviation: both.and_then(|(published, ours)| deviation(&series.unit, published, ours.mean)),
            verdict,
            score,
            reason: not_modelled.or(cell.calibrated.as_ref()).cloned(),
            derived: cell.derived.clone(),
            derived_from: cell.derived_from.clone(),
            note: cell.note.clone(),
            headline: cell.headline,
        }
    }

    /// What `cell` is ordered with: another cell, or what means "no effect"; the published value and ours.
    fn reference(&self, cell: &Cell) -> Option<(f64, Estimate)> {
        let series = self.series();
        if series.beside.is_empty() {
            let neutral = self.declared(cell).or(series.unit.neutral());
            return neutral.map(|neutral| (neutral, Estimate { mean: neutral, half_width: Some(0.0) }));
        }
        let index = self.beside(cell)?;
        Some((series.cells[index].published?, self.ours[self.index][index]?))
    }

    /// What means "no effect" to `cell`: what the file says; without that the published value of the cell beside, or the unit's.
    fn neutral(&self, cell: &Cell) -> f64 {
        let beside = || self.series().cells[self.beside(cell)?].published;
        self.declared(cell).or_else(beside).or(self.series().unit.neutral()).unwrap_or(0.0)
    }

    /// What the file says that "no effect" is.
    fn declared(&self, cell: &Cell) -> Option<f64> {
        match cell.neutral? {
            Neutral::Value(value) => Some(value),
            Neutral::Number { series, cell } => {
                let ours = self.ours[series][cell].map(|ours| ours.mean);
                self.experiment.series[series].cells[cell].published.or(ours)
            }
        }
    }

    /// The index of the cell beside `cell`, if that is another one.
    fn beside(&self, cell: &Cell) -> Option<usize> {
        let series = self.series();
        if series.beside.is_empty() {
            return None;
        }
        let place = series.beside_of(cell);
        series.cells.iter().position(|other| other.at == place && other.at != cell.at)
    }
}
