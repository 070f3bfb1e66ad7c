// SPDX-License-Identifier: GPL-2.0-only
//! The model's results, as data.

use schemars::JsonSchema;
use serde::Serialize;
use tandem_simulator::analysis::{Bounds, Fairness, Model, ModelError, Phase, Policy, Speedup, State};

/// The model's tables.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Theory {
    /// Number of cores (n).
    pub cores: u32,
    /// Speed of the large core over a small one's (a).
    pub asymmetry: f64,
    /// Whether a < 2, as the paper assumes.
    pub within_assumption: bool,
    /// Performance of an application alone, in threads on a small core.
    pub alone: Alone,
    /// Table 1: speedups under the baseline.
    pub baseline: [StateRow; 4],
    /// Table 2: speedups under the baseline on equal cores.
    pub baseline_symmetric: [StateRow; 4],
    /// Table 5: speedups under the proposed scheduler.
    pub proposed: [StateRow; 4],
    /// Table 3, and its counterpart computed from Table 5.
    pub fairness: ByPolicy<Fairness>,
    /// Tables 4 and 6; `None` if no number of applications was given.
    pub many: Option<Many>,
}

/// Performance of an application alone, by phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Alone {
    /// Performance in a serial phase.
    pub serial: f64,
    /// Performance in a parallel phase.
    pub parallel: f64,
}

/// A value for each scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ByPolicy<T> {
    /// Value under the baseline.
    pub baseline: T,
    /// Value under the proposed scheduler.
    pub proposed: T,
}

/// A line of Tables 1, 2 and 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StateRow {
    /// Phases of A and B.
    pub state: State,
    /// Speedup of A.
    #[serde(flatten)]
    pub speedup: Speedup,
    /// How much the speedup varies: max / min.
    pub spread: f64,
}

/// Tables 4 and 6: bounds for several applications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Many {
    /// Number of applications (k).
    pub applications: u32,
    /// Table 4: bounds under the baseline.
    pub baseline: ByPhase,
    /// Table 6: bounds under the proposed scheduler.
    pub proposed: ByPhase,
    /// Highest speedup of an application if all are parallel; not in the paper.
    pub all_parallel_max: f64,
}

/// The lines of Tables 4 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ByPhase {
    /// Bounds of an application in a serial phase.
    pub serial: BoundsRow,
    /// Bounds of an application in a parallel phase.
    pub parallel: BoundsRow,
}

/// A line of Tables 4 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BoundsRow {
    /// Bounds of the application's speedup.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// How much the speedup varies: max / min.
    pub spread: f64,
}

impl Theory {
    /// All tables of `model`; those for several applications, if their number is given.
    pub fn of(model: Model, applications: Option<u32>) -> Result<Self, ModelError> {
        Ok(Self {
            cores: model.cores(),
            asymmetry: model.asymmetry(),
            within_assumption: model.within_assumption(),
            alone: Alone { serial: model.alone(Phase::Serial), parallel: model.alone(Phase::Parallel) },
            baseline: rows(&model, Policy::Baseline),
            baseline_symmetric: rows(&model.symmetric(), Policy::Baseline),
            proposed: rows(&model, Policy::Proposed),
            fairness: ByPolicy {
                baseline: model.fairness(Policy::Baseline),
                proposed: model.fairness(Policy::Proposed),
            },
            many: applications.map(|applications| many(&model, applications)).transpose()?,
        })
    }
}

fn rows(model: &Model, policy: Policy) -> [StateRow; 4] {
    let row = |state| {
        let speedup = model.speedup(policy, state);
        StateRow { state, speedup, spread: speedup.spread() }
    };
    State::ALL.map(row)
}

fn many(model: &Model, applications: u32) -> Result<Many, ModelError> {
    let many = model.many(applications)?;
    let row = |policy, phase| {
        let bounds = many.bounds(policy, phase);
        BoundsRow { bounds, spread: bounds.spread() }
    };
    let rows = |policy| ByPhase { serial: row(policy, Phase::Serial), parallel: row(policy, Phase::Parallel) };
    Ok(Many {
        applications,
        baseline: rows(Policy::Baseline),
        proposed: rows(Policy::Proposed),
        all_parallel_max: many.all_parallel_max(),
    })
}
