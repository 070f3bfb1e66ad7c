// SPDX-License-Identifier: GPL-2.0-only
//! From papers to results: find out what there is to run, run it, compute and judge.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::AST;
use tandem_simulator::input::InputError;

use super::axes::Place;
use super::expression::{Calculator, Question};
use super::library::Library;
use super::paper::{Cell, Experiment, Fold, Formula, Paper, Series};
use super::result::{CellResult, Counts, ExperimentResult, PaperResult, SeriesResult};
use super::runs::{Book, Change, Request, Simulation};
use super::verdict::{Published, Verdict, deviation};
use crate::context::Context;
use crate::failure::Failure;
use tandem_experiments::Estimate;

/// A paper whose expressions are read.
pub struct Study {
    pub paper: Rc<Paper>,
    calculator: Calculator,
    /// By experiment, then by series.
    formulas: Vec<Vec<Option<AST>>>,
    /// Runs of each simulation, whatever the experiments say.
    seeds: Option<u32>,
}

/// A cell of a paper, and all that it belongs to.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    pub index: (usize, usize),
    pub experiment: &'a Experiment,
    pub series: &'a Series,
    pub cell: &'a Cell,
}

impl Study {
    /// Reads the expressions of `paper`.
    pub fn new(paper: Rc<Paper>, book: &Rc<RefCell<Book>>, seeds: Option<u32>) -> Result<Self, InputError> {
        let calculator = Calculator::new(&paper, book);
        let compiled = |series: &Series| match &series.ours {
            Ok(formula) => calculator.compile(&formula.text).map(Some).map_err(|error| located(formula, error)),
            Err(_) => Ok(None),
        };
        let mut formulas = Vec::new();
        for experiment in &paper.experiments {
            formulas.push(experiment.series.iter().map(compiled).collect::<Result<Vec<_>, InputError>>()?);
        }
        Ok(Self { paper, calculator, formulas, seeds })
    }

    /// How many runs the simulations of `experiment` have.
    pub fn seeds(&self, experiment: &Experiment) -> u32 {
        self.seeds.unwrap_or(experiment.seeds)
    }

    /// All numbers of the paper that are simulated.
    pub fn numbers(&self) -> impl Iterator<Item = Number<'_>> {
        let experiments = self.paper.experiments.iter().enumerate();
        let series = experiments.flat_map(|(of, experiment)| {
            experiment.series.iter().enumerate().map(move |(index, series)| ((of, index), experiment, series))
        });
        let numbers = series.flat_map(|(index, experiment, series)| {
            series.cells.iter().map(move |cell| Number { index, experiment, series, cell })
        });
        numbers.filter(|number| number.series.ours.is_ok() && number.cell.not_modelled.is_none())
    }

    /// What is still to be run before all numbers are known.
    pub fn wanted(&self) -> Result<BTreeMap<Simulation, Request>, Failure> {
        for number in self.numbers() {
            self.estimate(number, None, self.seeds(number.experiment))?;
        }
        Ok(self.calculator.take_wanted())
    }

    /// Runs what is still to be run for what `ask` evaluates, as often as it asks for more. The progress bar says `what`.
    pub fn settle(
        &self,
        (library, context): (&Library, &Context<'_>),
        what: &str,
        ask: impl Fn() -> Result<BTreeMap<Simulation, Request>, Failure>,
    ) -> Result<(), Failure> {
        loop {
            let wanted = ask()?;
            if wanted.is_empty() {
                return Ok(());
            }
            self.calculator.book.borrow_mut().run((library, context), what, &wanted)?;
        }
    }

    /// Forgets the runs in which a parameter was changed.
    pub fn forget_changed(&self) {
        self.calculator.book.borrow_mut().forget_changed();
    }

    /// What was asked for by [`Study::estimate`] and is still to be run.
    pub fn take_wanted(&self) -> BTreeMap<Simulation, Request> {
        self.calculator.take_wanted()
    }

    /// The value of `number` over seeds, with a parameter changed or none.
    pub fn estimate(&self, number: Number<'_>, change: Option<&Change>, seeds: u32) -> Result<Estimate, InputError> {
        self.calculator.take_joint();
        let all: Vec<usize> = (0..seeds as usize).collect();
        let mut values = Vec::new();
        for seed in &all {
            values.push(self.folded(number, change, seeds, &[*seed])?);
            if self.calculator.take_joint() {
                return self.joint(number, change, seeds);
            }
        }
        let none = Estimate { mean: f64::NAN, half_width: None };
        Ok(Estimate::of_mean(&values).unwrap_or(none))
    }

    /// Likewise, of what takes several seeds together.
    fn joint(&self, number: Number<'_>, change: Option<&Change>, seeds: u32) -> Result<Estimate, InputError> {
        if let (0..2, Ok(formula)) = (seeds, &number.series.ours) {
            return Err(located(formula, (0, "jitter is that of several runs: it needs two seeds or more".to_owned())));
        }
        let failed = RefCell::new(None);
        let estimate = Estimate::by_jackknife(seeds as usize, |runs| {
            self.folded(number, change, seeds, runs).unwrap_or_else(|error| {
                failed.borrow_mut().get_or_insert(error);
                f64::NAN
            })
        });
        failed.into_inner().map_or(Ok(estimate), Err)
    }

    /// The value with these seeds, folded over the axes that the series names.
    fn folded(
        &self,
        number: Number<'_>,
        change: Option<&Change>,
        seeds: u32,
        runs: &[usize],
    ) -> Result<f64, InputError> {
        let Number { index: (experiment, series), experiment: of, series: numbers, cell } = number;
        let (Ok(formula), Some(ast)) = (&numbers.ours, &self.formulas[experiment][series]) else { return Ok(f64::NAN) };
        let mut values = Vec::new();
        for folded in of.axes.combinations(&numbers.over) {
            let mut place = folded;
            place.extend(cell.at.clone());
            let question = Question { experiment, place: &place, change, seeds };
            let value = self.calculator.value(ast, &formula.text, &question, runs);
            values
                .push(value.map_err(|(at, message)| located(formula, (at, format!("{message}{}", describe(&place)))))?);
        }
        Ok(match numbers.fold {
            Fold::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Fold::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Fold::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// All results of the paper; what they need has been run.
    pub fn results(&self) -> Result<PaperResult, InputError> {
        let mut experiments = Vec::new();
        for (index, experiment) in self.paper.experiments.iter().enumerate() {
            let of_series = |(number, series)| self.series((index, number), experiment, series);
            let series = experiment.series.iter().enumerate().map(of_series).collect::<Result<_, _>>()?;
            let Experiment { name, title, about, .. } = experiment;
            let (name, title, about) = (name.clone(), title.clone(), about.clone());
            experiments.push(ExperimentResult { name, title, about, seeds: self.seeds(experiment), series });
        }
        let Paper { name, title, source, .. } = &*self.paper;
        let (name, title, source) = (name.clone(), title.clone(), source.clone());
        Ok(PaperResult { name, title, source, counts: Counts::of(&experiments), experiments, sensitivity: None })
    }

    fn series(
        &self,
        index: (usize, usize),
        experiment: &Experiment,
        series: &Series,
    ) -> Result<SeriesResult, InputError> {
        let mut ours = Vec::new();
        for cell in &series.cells {
            let number = Number { index, experiment, series, cell };
            let modelled = series.ours.is_ok() && cell.not_modelled.is_none();
            ours.push(if modelled { Some(self.estimate(number, None, self.seeds(experiment))?) } else { None });
        }
        let means: Vec<Option<f64>> = ours.iter().map(|ours| ours.map(|ours| ours.mean)).collect();
        let judged = series.cells.iter().zip(&ours).map(|(cell, ours)| judged(series, cell, *ours, &means));
        Ok(SeriesResult {
            place: series.place.clone(),
            what: series.what.clone(),
            unit: series.unit.clone(),
            expression: series.ours.as_ref().ok().map(|formula| formula.text.clone()),
            cells: judged.collect(),
        })
    }
}

/// The verdict on a cell; `means` are ours of all cells of the series.
fn judged(series: &Series, cell: &Cell, ours: Option<Estimate>, means: &[Option<f64>]) -> CellResult {
    let not_modelled = cell.not_modelled.as_ref().or(series.ours.as_ref().err());
    let verdict = match (cell.published, ours) {
        (_, None) => Verdict::NotModelled,
        (None, _) => Verdict::Predicted,
        _ if cell.calibrated.is_some() => Verdict::Calibrated,
        (Some(value), Some(ours)) => {
            let reference = reference(series, cell, means);
            Published { value, bound: cell.bound, unit: &series.unit, reference }.judge(ours.mean)
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
        reason: not_modelled.or(cell.calibrated.as_ref()).cloned(),
        note: cell.note.clone(),
        headline: cell.headline,
    }
}

/// With what `cell` is ordered: what means "no effect", or another cell; the published value and ours.
fn reference(series: &Series, cell: &Cell, means: &[Option<f64>]) -> Option<(f64, f64)> {
    if series.beside.is_empty() {
        return series.neutral.map(|neutral| (neutral, neutral));
    }
    let place = series.beside_of(cell);
    let index = series.cells.iter().position(|other| other.at == place && other.at != cell.at)?;
    Some((series.cells[index].published?, means[index]?))
}

fn located(formula: &Formula, (at, message): (usize, String)) -> InputError {
    // The span is that of the literal: behind its quote, or three of them, comes the text.
    let literal = &formula.origin.text[formula.origin.span.clone()];
    let quotes = literal.find(|c| c != '\'' && c != '"').unwrap_or(0);
    let mut origin = formula.origin.clone();
    origin.span.start += (quotes + at).min(literal.len());
    origin.error(message)
}

fn describe(place: &Place) -> String {
    let values: Vec<String> = place.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
    if values.is_empty() { String::new() } else { format!(" (at {})", values.join(", ")) }
}
