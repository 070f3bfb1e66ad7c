// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments with simulations: many runs at once, and what their numbers say.

mod axes;
mod comparison;
mod environment;
mod error;
mod expression;
#[cfg(test)]
mod fixture;
mod library;
mod metrics;
mod paper;
mod parallel;
mod progress;
mod runs;
mod scenario;
mod simulator;
mod statistics;
mod study;

pub use axes::{Axes, Axis, AxisError, AxisValue, Place, Template};
pub use comparison::{
    Comparison, ComparisonRuns, Limits, Measured, Metric, NotMeasured, Outcome, PairResult, tell_apart,
};
pub use environment::Environment;
pub use error::ExperimentError;
pub use library::Library;
pub use paper::{
    Bound, Cell, Experiment, Fold, Formula, Origin, Ours, Paper, Parameter, Run, Series, Target, Unit, Work,
};
pub use parallel::run_all;
pub use progress::{Progress, Silent};
pub use runs::Book;
pub use scenario::line::LineError;
pub use scenario::pair::{Choice, ChoiceError, FairOrObject, Pair, Schedulers};
pub use scenario::settings::{Setting, Settings};
pub use scenario::values::{ValueError, parse_duration, parse_hotplug};
pub use scenario::{Scenario, ScenarioError, Settable, UnknownSetting};
pub use simulator::{Linux, Simulator};
pub use statistics::{Estimate, jitter, mean};
pub use study::{
    CellResult, Counts, ExperimentResult, Moved, PaperResult, ParameterResult, Published, Results, SCHEMA,
    SeriesResult, Study, Verdict, deviation,
};
