// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments with simulations: many runs, and what their numbers say.
//!
//! # Where to start
//!
//! *Which scheduler is better on this machine, and how sure is that?* [`ComparisonRuns`] runs several pairs of scheduler
//! and governor with the same seeds; the [`Comparison`] has the mean of each [`Metric`] with its 95 % confidence interval,
//! and its ratio to the first pair.
//!
//! ```
//! use std::path::Path;
//!
//! use tandem_experiments::{Choice, ComparisonRuns, FairOrObject, Linux, Metric, Scenario, Silent};
//! use tandem_simulator::machine::Machine;
//! use tandem_simulator::workload::Workload;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runs = ComparisonRuns {
//!     machine: &Machine::load("hikey960")?,
//!     workload: &Workload::load(Path::new("pipeline"))?,
//!     scenario: &Scenario::default(),
//!     pairs: vec![
//!         Choice::parse("fair+performance", &FairOrObject)?.pair(),
//!         Choice::parse("fair+powersave", &FairOrObject)?.pair(),
//!     ],
//!     seeds: vec![0, 1, 2],
//!     alone: false,
//! };
//! let comparison = runs.run(&Linux, &Silent)?;
//! let time = comparison.pairs[1].metric(Metric::Time).ratio.ok_or("not measured")?.estimate;
//! assert!(time.mean > 1.0 && !time.includes_one());
//! # Ok(())
//! # }
//! ```
//!
//! *And on all of these machines and workloads, with these settings?* [`MatrixRuns`] runs every combination in one pool, with
//! the [`VariedSetting`]s that [`spanned`] makes pairs of; the [`Matrix`] has a comparison per machine and workload, the
//! [`GeometricMean`] of each pair's ratios with its worst cell, and [`Rows`], one per run.
//!
//! *Is it worse than yesterday?* A [`Baseline`] keeps a matrix's numbers; a [`Gate`] judges later ones by [`Condition`]s such as
//! `energy > 1.02`: worse, not worse, undecided.
//!
//! *Which values of the machine's description does that hang on?* [`SensitivityRuns`] moves each of them by a fifth both ways; the
//! [`Sensitivity`] has the elasticities of time and energy, and whether schedulers change places.
//!
//! *What do these experiments give, and do they agree with published numbers?* A [`Paper`] is a set of experiments as
//! data, in a [`Library`] of files; a [`Study`] of it gives a [`PaperResult`]. `papers/README.md` describes the files. An
//! experiment of one's own, whose cells need no published values, is a sweep over any axes: [`Paper::of_file`].
//!
//! *Which settings of this scheduler are better?* [`Tuning`] searches, and says how sure that is.
//!
//! # How one experiment flows
//!
//! 1. [`Paper::read`] checks the files: axes, runs, series of numbers with an expression each.
//! 2. A cell of a series stands at a [`Place`]: it fixes the axes that its expression's runs name in braces. A [`Template`]
//!    with the values filled in is a simulation.
//! 3. [`Study::run`] evaluates the expressions. A run that they ask for and the [`Book`] lacks is remembered; the book runs
//!    each distinct simulation once for each seed, on all cores; then the expressions are evaluated again.
//! 4. The values of the seeds become an [`Estimate`], the mean with its interval. What takes several runs together, as
//!    jitter does, has the interval of the jackknife.
//! 5. [`Published::judge`] compares the mean with the published value: one rule, six [`Verdict`]s.
//! 6. [`Study::sensitivity`] runs the main results again with each parameter a fifth smaller and larger.
//! 7. [`Results`] and [`Comparison`] are data: `serde` writes them as the JSON that docs/reports.md describes.
//!
//! # What this crate is given
//!
//! An [`Environment`], or the arguments of [`ComparisonRuns::run`]: the [`Simulator`], which is [`Linux`] but for tests;
//! [`Schedulers`], which turns the name of a scheduler into one ([`FairOrObject`] knows `fair` and the paths of objects);
//! [`Progress`], which hears how many runs are done ([`Silent`] does not listen). [`Stored`] is a simulator, too: it has the
//! reports of earlier runs from a [`Store`], and runs only what is not there. The crate prints nothing and knows neither
//! a command line nor a terminal.
//!
//! # What holds
//!
//! The same inputs give the same bytes, on any number of threads. Times are seconds, energies joules and powers watts,
//! unless a name says otherwise. A mistake in a file is an
//! [`InputError`](tandem_simulator::input::InputError) with its place; everything else that a user can cause is a variant
//! of [`ExperimentError`].
//!
//! # The rooms
//!
//! - `scenario`: what runs have in common, the pairs that they differ in, and how both are written
//! - `comparison`: pairs on one machine and workload
//! - `matrix`: the same on many machines and workloads, geometric means, one row per run
//! - `gate`: whether numbers are worse than a baseline's
//! - `library`, `paper`, `axes`, `template`: experiments as data
//! - `expression`, `metrics`: numbers of reports, and what is computed of them
//! - `runs`: simulations made ready, run once, kept; numbers made larger or smaller
//! - `sensitivity`: which values of a machine matter for a workload
//! - `study`: from a paper to its results, verdicts, sensitivity
//! - `sweep`: a large grid in tasks that any number of processes do, one row per run
//! - `search`: settings of a scheduler that are better, and how sure that is
//! - `store`: reports of runs that were finished before
//! - [`memory`]: how much of it the simulations of a process may spend
//! - `statistics`: means with intervals. `parallel`, `progress`, `simulator`: many runs at once

mod axes;
mod comparison;
mod environment;
mod error;
mod expression;
#[cfg(test)]
mod fixture;
mod gate;
mod library;
mod matrix;
pub mod memory;
mod metrics;
mod paper;
mod parallel;
mod progress;
mod runs;
mod scenario;
mod search;
mod sensitivity;
mod simulator;
mod statistics;
mod store;
mod study;
mod sweep;
mod template;

pub use axes::{Axes, Axis, AxisError, AxisValue, Place};
pub use comparison::{
    Comparison, ComparisonRuns, Limits, Measured, Metric, NotMeasured, Outcome, PairResult, tell_apart,
};
pub use environment::Environment;
pub use error::ExperimentError;
pub use gate::{
    Baseline, BaselineRatio, Condition, ConditionError, Decided, Gate, Judge, Judged, Judgement, Mistake, Reference,
    Side, Subject, decide, looks, options as scenario_options,
};
pub use library::Library;
pub use matrix::{Compared, GeometricMean, Matrix, MatrixRuns, Rows};
pub use paper::{
    Alternative, Bound, Cell, Choice as OpenChoice, Experiment, Fold, Formula, Neutral, Origin, Ours, Paper, Parameter,
    Run, Series, Target, Unit, Work,
};
pub use parallel::{run_all, run_until_stopped};
pub use progress::{Progress, Silent};
pub use runs::{Book, NoShard, Shard, Used, with_values};
pub use scenario::generated::text as generated_workload;
pub use scenario::line::LineError;
pub use scenario::pair::{Choice, ChoiceError, FairOrObject, Pair, Schedulers};
pub use scenario::parameter::{ParameterError, VariedSetting, spanned};
pub use scenario::settings::{Setting, Settings};
pub use scenario::values::{ValueError, parse_duration, parse_hotplug};
pub use scenario::{CarriedObject, ClockOutside, FairOrCarried, Scenario, ScenarioError, Settable, UnknownSetting};
pub use search::{
    Certainty, Confirmed, CostRatio, Dimension, Domain, Goal, GoalError, Limit, Minimised, Tuned, Tuning,
};
pub use sensitivity::{
    Elasticities, FIFTH, MovedValue, NotMoved, Sensitivity, SensitivityError, SensitivityRuns, Turn, Which,
};
pub use simulator::{Linux, LinuxWithin, Simulator};
pub use statistics::{Estimate, Ratio};
pub use store::{Digest, Keys, Store, Stored};
pub use study::{
    CellResult, Correlation, Counts, ExperimentResult, Missing, Moved, PaperResult, ParameterResult, Published,
    Recorded, Results, SCHEMA, Score, Scores, SeriesResult, Study, Tally, Verdict,
};
pub use sweep::{Column, Enough, Kind, Named, Repeats, Sweep, SweepError, Task, Tracker};
pub use template::Template;
