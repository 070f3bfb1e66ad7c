// SPDX-License-Identifier: MIT OR Apache-2.0
//! A paper: its experiments as data, its published numbers. Plain data, read and checked.
//!
//! `raw` has the keys of the files, `read` makes a [`Paper`] of them, `series` reads series and their cells, `neutral` what "no
//! effect" is of them, `choice` what could have been done otherwise; `single` makes a [`Paper`] of one file.

mod choice;
mod neutral;
mod raw;
mod read;
mod series;
mod single;

use std::ops::Range;
use std::path::PathBuf;

use tandem_simulator::input::InputError;

use crate::axes::{Axes, Place};
use crate::template::Template;

pub use choice::{Alternative, Choice};
pub use raw::{Bound, Fold};

/// A paper, or any other set of experiments whose results shall stand beside given numbers.
#[derive(Debug)]
pub struct Paper {
    /// The name of the paper's folder.
    pub name: String,
    /// The title that its authors gave it.
    pub title: String,
    /// Authors and venue; empty for an experiment of one's own.
    pub source: String,
    /// The numbers that the sensitivity table moves.
    pub parameters: Vec<Parameter>,
    /// What would have to be known for more of its numbers to come out; empty if that is not said.
    pub unknown: String,
    /// What could have been done otherwise, and where that leads.
    pub choices: Vec<Choice>,
    /// The experiments, in the order of the report.
    pub experiments: Vec<Experiment>,
}

/// A number that is moved to see what depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// What people call the number.
    pub what: String,
    /// Where the number is.
    pub target: Target,
    /// Where the file names the number.
    pub origin: Origin,
}

/// Where a number is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// In a machine's description.
    Machine {
        /// The machine, without a configuration.
        machine: String,
        /// The way to the number: `memory.node-0.gb_per_s`, `opp_table.core.opps[0].mv`; `*` is all names, `[*]` all entries.
        /// Several, with commas between them, move together.
        path: String,
    },
    /// An option of workload generators, `--memory-bound`, wherever one of the paper's runs gives it.
    Generate(String),
}

/// A place in a file, for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The path of the file.
    pub path: PathBuf,
    /// The text of the file.
    pub text: std::rc::Rc<str>,
    /// The bytes of the place.
    pub span: Range<usize>,
}

impl Origin {
    /// A mistake at this place.
    pub fn error(&self, message: impl Into<String>) -> InputError {
        InputError::at(&self.path, &self.text, self.span.start, message)
    }
}

/// A table, a figure or a section of a paper.
#[derive(Debug)]
pub struct Experiment {
    /// The stem of the experiment's file.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// What is measured, how it is simulated, what is left out.
    pub about: String,
    /// Runs of each simulation, each with a seed of its own, from 0 on.
    pub seeds: u32,
    /// Whether the runs lack what every system does beside its workload, unless their options say whether they do.
    pub quiet: bool,
    /// What the experiment varies.
    pub axes: Axes,
    /// What is simulated.
    pub runs: Vec<Run>,
    /// What is computed from the runs.
    pub series: Vec<Series>,
}

/// A simulation for each combination of the axes that its texts name.
#[derive(Debug)]
pub struct Run {
    /// What expressions call the run.
    pub name: String,
    /// A machine, maybe with a configuration.
    pub machine: Template,
    /// What runs.
    pub workload: Work,
    /// The scheduler, with a governor behind it if wanted: `fair+schedutil`.
    pub scheduler: Template,
    /// Settings, time limit and the like, as options of `tandem simulate`: `--set`, `hz=1000`.
    pub options: Vec<Template>,
    /// The axes that the texts name, each once.
    pub axes: Vec<String>,
    /// Where the file has the run.
    pub origin: Origin,
}

/// The workload of a run.
#[derive(Debug)]
pub enum Work {
    /// Arguments of `tandem workload`.
    Generate(Vec<Template>),
    /// A bundled workload's name, or a file beside the experiment.
    Named(Template),
}

/// Numbers of one kind.
#[derive(Debug)]
pub struct Series {
    /// Where the paper has the numbers: `Table 3`. Empty if that is not said.
    pub place: String,
    /// The metric's name, for people.
    pub what: String,
    /// The metric's unit.
    pub unit: Unit,
    /// How the numbers are computed from the runs.
    pub ours: Ours,
    /// Axes whose values are folded into one number.
    pub over: Vec<String>,
    /// How the values of `over` become one.
    pub fold: Fold,
    /// In which axes, and to which values, the cell differs with which each cell is ordered; empty: none.
    pub beside: Place,
    /// The numbers themselves.
    pub cells: Vec<Cell>,
}

impl Series {
    /// The place of the cell with which `cell` is ordered.
    pub fn beside_of(&self, cell: &Cell) -> Place {
        let mut place = cell.at.clone();
        place.extend(self.beside.clone());
        place
    }
}

/// How the numbers of a series are computed.
#[derive(Debug)]
pub enum Ours {
    /// By an expression over the runs.
    Computed(Formula),
    /// Not at all, for this reason.
    NotModelled(String),
}

impl Ours {
    /// The expression, if there is one.
    pub fn formula(&self) -> Option<&Formula> {
        match self {
            Self::Computed(formula) => Some(formula),
            Self::NotModelled(_) => None,
        }
    }

    /// Why the numbers are not computed, if they are not.
    pub fn not_modelled(&self) -> Option<&String> {
        match self {
            Self::Computed(_) => None,
            Self::NotModelled(why) => Some(why),
        }
    }
}

/// An expression and where it stands.
#[derive(Debug, Clone)]
pub struct Formula {
    /// The expression, in the language Rhai.
    pub text: String,
    /// Where the file has the expression.
    pub origin: Origin,
}

/// A number that a paper prints, or that is predicted.
#[derive(Debug)]
pub struct Cell {
    /// The values of axes at which the number stands.
    pub at: Place,
    /// The paper's value; a prediction has none.
    pub published: Option<f64>,
    /// Whether the paper's value is a limit.
    pub bound: Option<Bound>,
    /// What a reader should know.
    pub note: Option<String>,
    /// Which parameter was fitted to the paper's value.
    pub calibrated: Option<String>,
    /// Why the number is not simulated.
    pub not_modelled: Option<String>,
    /// Which other numbers of the paper the published one is a mean of, or repeats: it is judged, but not counted again.
    pub derived: Option<String>,
    /// Which other numbers of the experiment the number is arithmetic of, so that it tests nothing of its own.
    pub derived_from: Option<String>,
    /// What the file says that "no effect" is; without it that follows from `beside` or the unit.
    pub neutral: Option<Neutral>,
    /// Whether it is one of the paper's main results.
    pub headline: bool,
}

/// What means "no effect".
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Neutral {
    /// This value.
    Value(f64),
    /// Another number of the experiment, by the indices of its series and of the cell there: its published value, or ours where
    /// there is none.
    Number {
        /// The series.
        series: usize,
        /// The cell in it.
        cell: usize,
    },
}

impl Cell {
    /// A number at `at` that is computed, and of which nothing else is known.
    fn computed(at: Place) -> Self {
        Self {
            at,
            published: None,
            bound: None,
            note: None,
            calibrated: None,
            not_modelled: None,
            derived: None,
            derived_from: None,
            neutral: None,
            headline: false,
        }
    }
}

/// A unit, and what the rules of comparing do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// Percent or percentage points: differences of 2 are small.
    Points(String),
    /// A value over another: differences of 0.02 are small.
    Ratio,
    /// Anything else: only relative differences count.
    Absolute(String),
}

impl Unit {
    /// Reads a unit: `%`, `ratio`, `W`. Any text is one.
    pub fn of(text: &str) -> Self {
        match text {
            "%" | "percentage points" => Self::Points(text.to_owned()),
            "ratio" => Self::Ratio,
            _ => Self::Absolute(text.to_owned()),
        }
    }

    /// The unit as it is written.
    pub fn name(&self) -> &str {
        match self {
            Self::Points(name) | Self::Absolute(name) => name,
            Self::Ratio => "ratio",
        }
    }

    /// The value that means "no effect", unless the series says another.
    pub fn neutral(&self) -> Option<f64> {
        match self {
            Self::Points(_) => Some(0.0),
            Self::Ratio => Some(1.0),
            Self::Absolute(_) => None,
        }
    }
}
