// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments with simulations: many runs at once, and what their numbers say.

mod comparison;
mod error;
#[cfg(test)]
mod fixture;
mod parallel;
mod progress;
mod scenario;
mod simulator;
mod statistics;

pub use comparison::{
    Comparison, ComparisonRuns, Limits, Measured, Metric, NotMeasured, Outcome, PairResult, tell_apart,
};
pub use error::ExperimentError;
pub use parallel::run_all;
pub use progress::{Progress, Silent};
pub use scenario::generated::text as generated_workload;
pub use scenario::line::{LineError, scenario as scenario_of_line};
pub use scenario::pair::{Choice, ChoiceError, FairOrObject, Pair, Schedulers};
pub use scenario::settings::{Setting, Settings};
pub use scenario::values::{ValueError, parse_duration, parse_hotplug};
pub use scenario::{Scenario, ScenarioError, Settable, UnknownSetting};
pub use simulator::{Linux, Simulator};
pub use statistics::{Estimate, jitter, mean};
