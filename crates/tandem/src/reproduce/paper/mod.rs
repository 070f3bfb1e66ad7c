// SPDX-License-Identifier: GPL-2.0-only
//! A paper: its experiments as data, its published numbers. Plain data, read and checked.
//!
//! `raw` has the keys of the files, `read` makes this of them.

mod raw;
mod read;

use std::ops::Range;
use std::path::PathBuf;

use tandem_simulator::input::InputError;

use super::axes::{Axes, Place, Template};

pub use raw::{Bound, Fold};
pub use read::paper;

/// A paper.
#[derive(Debug)]
pub struct Paper {
    /// Its folder's name.
    pub name: String,
    /// As its authors call it.
    pub title: String,
    /// Authors and venue.
    pub source: String,
    /// What the sensitivity table moves.
    pub parameters: Vec<Parameter>,
    /// In the order of the report.
    pub experiments: Vec<Experiment>,
}

/// A number that is moved to see what depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// For people.
    pub what: String,
    /// Where it is.
    pub target: Target,
    /// Where the file names it.
    pub origin: Origin,
}

/// Where a number is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// In a machine's description.
    Machine {
        /// The machine, without a configuration.
        machine: String,
        /// The way to it: `memory.node-0.gb_per_s`, `opp_table.core.opps[0].mv`; `*` is all names, `[*]` all entries.
        /// Several, with commas between them, move together.
        path: String,
    },
    /// An option of workload generators, `--memory-bound`, wherever one of the paper's runs gives it.
    Generate(String),
}

/// A place in a file, for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: std::rc::Rc<str>,
    /// The bytes of the place.
    pub span: Range<usize>,
}

impl Origin {
    /// A mistake there.
    pub fn error(&self, message: impl Into<String>) -> InputError {
        InputError::at(&self.path, &self.text, self.span.start, message)
    }
}

/// A table, a figure or a section of a paper.
#[derive(Debug)]
pub struct Experiment {
    /// Its file's stem.
    pub name: String,
    /// For people.
    pub title: String,
    /// What is measured, how it is simulated, what is left out.
    pub about: String,
    /// Runs of each simulation.
    pub seeds: u32,
    /// What it varies.
    pub axes: Axes,
    /// Its simulations.
    pub runs: Vec<Run>,
    /// Its numbers.
    pub series: Vec<Series>,
}

/// A simulation for each combination of the axes that its texts name.
#[derive(Debug)]
pub struct Run {
    /// As expressions call it.
    pub name: String,
    /// A machine, maybe with a configuration.
    pub machine: Template,
    /// What runs.
    pub workload: Work,
    /// As `-s` takes it.
    pub scheduler: Template,
    /// Further options of `tandem simulate`.
    pub options: Vec<Template>,
    /// The axes that the texts name, each once.
    pub axes: Vec<String>,
    /// Where it stands.
    pub origin: Origin,
}

/// A run's workload.
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
    /// Where in the paper.
    pub place: String,
    /// The metric, for people.
    pub what: String,
    /// Its unit.
    pub unit: Unit,
    /// How it is computed from the runs; why it is not otherwise.
    pub ours: Result<Formula, String>,
    /// Axes whose values are folded into one number.
    pub over: Vec<String>,
    /// How.
    pub fold: Fold,
    /// The value that means "no effect".
    pub neutral: Option<f64>,
    /// What another place is for each cell: that of the cell it is ordered with.
    pub beside: Place,
    /// The numbers.
    pub cells: Vec<Cell>,
}

/// An expression and where it stands.
#[derive(Debug, Clone)]
pub struct Formula {
    /// Rhai.
    pub text: String,
    /// Where.
    pub origin: Origin,
}

/// A number.
#[derive(Debug)]
pub struct Cell {
    /// What it fixes of the axes.
    pub at: Place,
    /// The paper's value; a prediction has none.
    pub published: Option<f64>,
    /// Whether that is a limit.
    pub bound: Option<Bound>,
    /// What a reader should know.
    pub note: Option<String>,
    /// Which parameter was fitted to it.
    pub calibrated: Option<String>,
    /// Why it is not simulated.
    pub not_modelled: Option<String>,
    /// Whether it is one of the paper's main results.
    pub headline: bool,
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
    /// Reads a unit.
    pub fn of(text: &str) -> Self {
        match text {
            "%" | "percentage points" => Self::Points(text.to_owned()),
            "ratio" => Self::Ratio,
            _ => Self::Absolute(text.to_owned()),
        }
    }

    /// As it is written.
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
