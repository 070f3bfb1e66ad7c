// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a paper to its results: find out what there is to run, run it, compute and judge.
//!
//! `result` is what comes out, as data; `judge` and `verdict` judge, `score` says what a verdict is worth; `recorded` has numbers
//! of earlier runs; `sensitivity` moves the parameters.

mod judge;
mod recorded;
mod result;
mod score;
mod sensitivity;
mod verdict;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::AST;
use tandem_simulator::input::InputError;

use crate::axes::Place;
use crate::environment::Environment;
use crate::error::ExperimentError;
use crate::expression::{Calculator, Question};
use crate::paper::{Cell, Experiment, Fold, Formula, Ours, Paper, Run, Series};
use crate::runs::{self, Book, Change, Request, Simulation, check_parameter};
use crate::statistics::Estimate;

pub use recorded::Recorded;
pub use result::{
    CellResult, Counts, ExperimentResult, Missing, Moved, PaperResult, ParameterResult, Results, SCHEMA, SeriesResult,
};
pub use score::{Correlation, Score, Scores, Tally};
pub use verdict::{Published, Verdict};

use judge::Found;

/// A paper under study: its expressions are read, and its numbers can be computed from the runs in a [`Book`].
pub struct Study {
    paper: Rc<Paper>,
    calculator: Calculator,
    /// The expressions, by experiment, then by series.
    formulas: Vec<Vec<Option<AST>>>,
    /// Runs of each simulation, whatever the experiments say.
    seeds: Option<u32>,
}

/// A cell of a paper, and all that the cell belongs to.
#[derive(Clone, Copy)]
struct Number<'a> {
    /// Indices of the experiment and of its series.
    index: (usize, usize),
    experiment: &'a Experiment,
    series: &'a Series,
    cell: &'a Cell,
}

impl Study {
    /// Reads the expressions of `paper`. Each simulation has `seeds` runs; `None`: as many as its experiment says.
    ///
    /// # Errors
    /// An expression that cannot be read, with its place.
    pub fn new(paper: Paper, book: &Rc<Book>, seeds: Option<u32>) -> Result<Self, InputError> {
        let paper = Rc::new(paper);
        let calculator = Calculator::new(&paper, book);
        let compiled = |series: &Series| match &series.ours {
            Ours::Computed(formula) => {
                calculator.compile(&formula.text).map(Some).map_err(|error| located(formula, error))
            }
            Ours::NotModelled(_) => Ok(None),
        };
        let mut formulas = Vec::new();
        for experiment in &paper.experiments {
            formulas.push(experiment.series.iter().map(compiled).collect::<Result<Vec<_>, InputError>>()?);
        }
        Ok(Self { paper, calculator, formulas, seeds })
    }

    /// The paper.
    pub fn paper(&self) -> &Paper {
        &self.paper
    }

    /// Runs what the paper's numbers need and the book does not have, then computes and judges them.
    ///
    /// # Errors
    /// A mistake in a file that a run names, in an expression or in a setting; a run without a report.
    pub fn run(&self, environment: Environment<'_>) -> Result<PaperResult, ExperimentError> {
        self.settle(environment, &self.paper.name, || self.wanted())?;
        Ok(self.finished()?.0)
    }

    /// The results of those numbers whose runs are in the book, and how many simulated numbers are left out for want of runs:
    /// what there is after [`Study::run`] was interrupted.
    ///
    /// # Errors
    /// A mistake in an expression.
    pub fn finished(&self) -> Result<(PaperResult, usize), InputError> {
        let of_runs = |number: Number<'_>| {
            let estimate = self.estimate(number, None, self.seeds(number.experiment))?;
            let lacking = !self.calculator.take_wanted().is_empty();
            Ok(if lacking { Found::Lacking } else { Found::Ours(estimate) })
        };
        self.results(of_runs, |experiment| self.seeds(experiment))
    }

    /// The paper's numbers as `recorded`, judged by what its files say today; nothing is run.
    ///
    /// # Errors
    /// A number that is simulated and not recorded, or that another expression gave.
    pub fn judged_anew(&self, recorded: &Recorded) -> Result<PaperResult, InputError> {
        let of = recorded.paper(&self.paper)?;
        let ours =
            |number: Number<'_>| recorded.ours(of, number.experiment, number.series, number.cell).map(Found::Ours);
        let seeds = |experiment: &Experiment| Recorded::seeds(of, experiment).unwrap_or(experiment.seeds);
        let (results, _) = self.results(ours, seeds)?;
        Ok(PaperResult { sensitivity: of.sensitivity.clone(), ..results })
    }

    /// The results of those numbers that `ours` finds, and how many it lacks. `seeds` is how many runs there are of each
    /// simulation of an experiment.
    fn results(
        &self,
        ours: impl Fn(Number<'_>) -> Result<Found, InputError>,
        seeds: impl Fn(&Experiment) -> u32,
    ) -> Result<(PaperResult, usize), InputError> {
        let mut missing = 0;
        let mut experiments = Vec::new();
        for (index, experiment) in self.paper.experiments.iter().enumerate() {
            let mut found = Vec::new();
            for (of, series) in experiment.series.iter().enumerate() {
                let number = |cell| Number { index: (index, of), experiment, series, cell };
                let modelled = |cell: &Cell| series.ours.formula().is_some() && cell.not_modelled.is_none();
                let find = |cell| if modelled(cell) { ours(number(cell)) } else { Ok(Found::NotModelled) };
                found.push(series.cells.iter().map(find).collect::<Result<Vec<_>, _>>()?);
            }
            missing += found.iter().flatten().filter(|found| matches!(found, Found::Lacking)).count();
            experiments.extend(judge::of_experiment(experiment, &found, seeds(experiment)));
        }
        let Paper { name, title, source, unknown, choices, .. } = &*self.paper;
        let paper = PaperResult {
            name: name.clone(),
            title: title.clone(),
            source: source.clone(),
            counts: Counts::of(&experiments),
            scores: Scores::of(&experiments),
            correlations: Correlation::of(experiments.iter().flat_map(|experiment| &experiment.series)),
            unknown: unknown.clone(),
            choices: choices.clone(),
            experiments,
            sensitivity: None,
        };
        Ok((paper, missing))
    }

    /// How many of the paper's numbers are simulated.
    pub fn simulated(&self) -> usize {
        self.numbers().count()
    }

    /// How far the paper's main results move when each of its parameters is a fifth smaller or larger; a row for each
    /// parameter. What the results need and the book does not have is run first.
    ///
    /// # Errors
    /// The same as of [`Study::run`], and a parameter that no machine has.
    pub fn sensitivity(&self, environment: Environment<'_>) -> Result<Vec<ParameterResult>, ExperimentError> {
        self.settle(environment, &self.paper.name, || self.wanted())?;
        sensitivity::of_paper(self, environment)
    }

    /// Whether everything can be run that the paper's numbers need: files are read, schedulers loaded, nothing is
    /// simulated. How many simulations these are.
    ///
    /// # Errors
    /// The same as of [`Study::run`].
    pub fn check_numbers(&self, environment: Environment<'_>) -> Result<usize, ExperimentError> {
        let wanted = self.wanted()?;
        runs::check(environment, &wanted)?;
        Ok(wanted.len())
    }

    /// Whether every run can be run with the first value of each axis, even if no number needs the run. Nothing is
    /// simulated.
    ///
    /// # Errors
    /// The same as of [`Study::run`].
    pub fn check_runs(&self, environment: Environment<'_>) -> Result<(), ExperimentError> {
        let first = |experiment: &Experiment, run: &Run| {
            let place = experiment.axes.combinations(&run.axes).swap_remove(0);
            let label = runs::label(&self.paper, experiment, run, &place);
            let simulation = Simulation::of(&self.paper.name, experiment, run, &place);
            let simulation = simulation.map_err(|error| run.origin.error(format!("{label}: {error}")))?;
            Ok((simulation, Request { label, origin: run.origin.clone(), seeds: 1 }))
        };
        let experiments = self.paper.experiments.iter();
        let wanted = experiments.flat_map(|of| of.runs.iter().map(move |run| first(of, run)));
        runs::check(environment, &wanted.collect::<Result<_, InputError>>()?)
    }

    /// Whether the descriptions of machines have the numbers that the paper's parameters name.
    ///
    /// # Errors
    /// A machine or a number that is not there.
    pub fn check_parameters(&self, environment: Environment<'_>) -> Result<(), InputError> {
        let Paper { name, parameters, .. } = &*self.paper;
        parameters.iter().try_for_each(|parameter| check_parameter(environment.library, name, parameter))
    }

    /// How many runs the simulations of `experiment` have.
    fn seeds(&self, experiment: &Experiment) -> u32 {
        self.seeds.unwrap_or(experiment.seeds)
    }

    /// All numbers of the paper that are simulated.
    fn numbers(&self) -> impl Iterator<Item = Number<'_>> {
        let experiments = self.paper.experiments.iter().enumerate();
        let series = experiments.flat_map(|(of, experiment)| {
            experiment.series.iter().enumerate().map(move |(index, series)| ((of, index), experiment, series))
        });
        let numbers = series.flat_map(|(index, experiment, series)| {
            series.cells.iter().map(move |cell| Number { index, experiment, series, cell })
        });
        numbers.filter(|number| number.series.ours.formula().is_some() && number.cell.not_modelled.is_none())
    }

    /// What is still to be run before all numbers are known.
    fn wanted(&self) -> Result<BTreeMap<Simulation, Request>, InputError> {
        for number in self.numbers() {
            self.estimate(number, None, self.seeds(number.experiment))?;
        }
        Ok(self.calculator.take_wanted())
    }

    /// Runs what is still to be run for what `ask` evaluates, as often as it asks for more; `what` says what for.
    fn settle(
        &self,
        environment: Environment<'_>,
        what: &str,
        ask: impl Fn() -> Result<BTreeMap<Simulation, Request>, InputError>,
    ) -> Result<(), ExperimentError> {
        loop {
            let wanted = ask()?;
            if wanted.is_empty() {
                return Ok(());
            }
            self.calculator.book.run(environment, what, &wanted)?;
        }
    }

    /// Forgets the runs in which a parameter was changed.
    fn forget_changed(&self) {
        self.calculator.book.forget_changed();
    }

    /// What was asked for by [`Study::estimate`] and is still to be run.
    fn take_wanted(&self) -> BTreeMap<Simulation, Request> {
        self.calculator.take_wanted()
    }

    /// The value of `number` over seeds, with a parameter changed or none.
    fn estimate(&self, number: Number<'_>, change: Option<&Change>, seeds: u32) -> Result<Estimate, InputError> {
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

    /// The value of a `number` that takes several seeds together.
    fn joint(&self, number: Number<'_>, change: Option<&Change>, seeds: u32) -> Result<Estimate, InputError> {
        if let (0..2, Some(formula)) = (seeds, number.series.ours.formula()) {
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
        let (Some(formula), Some(ast)) = (numbers.ours.formula(), &self.formulas[experiment][series]) else {
            return Ok(f64::NAN);
        };
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
