// SPDX-License-Identifier: GPL-2.0-only
//! What the model says, as data.

use serde::Serialize;
use tandem_simulator::analysis::{Bounds, Fairness, Model, ModelError, Phase, Policy, Speedup, State};

/// The model's tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Theory {
    /// n.
    pub cores: u32,
    /// a.
    pub asymmetry: f64,
    /// Whether a < 2.
    pub within_assumption: bool,
    /// Performance of an application alone, in threads on a small core.
    pub alone: Alone,
    /// Table 1.
    pub baseline: [StateRow; 4],
    /// Table 2.
    pub baseline_symmetric: [StateRow; 4],
    /// Table 5.
    pub proposed: [StateRow; 4],
    /// Table 3, and the same from Table 5.
    pub fairness: ByPolicy<Fairness>,
    /// Tables 4 and 6; `None` where no number of applications was given.
    pub many: Option<Many>,
}

/// By phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Alone {
    /// Serial.
    pub serial: f64,
    /// Parallel.
    pub parallel: f64,
}

/// Something of each scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ByPolicy<T> {
    /// The baseline's.
    pub baseline: T,
    /// The proposed scheduler's.
    pub proposed: T,
}

/// A line of Tables 1, 2 and 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StateRow {
    /// Of A and B.
    pub state: State,
    /// Of A.
    #[serde(flatten)]
    pub speedup: Speedup,
    /// max / min.
    pub spread: f64,
}

/// Tables 4 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Many {
    /// k.
    pub applications: u32,
    /// Table 4.
    pub baseline: ByPhase,
    /// Table 6.
    pub proposed: ByPhase,
    /// Most that an application gets where all are parallel; not in the paper.
    pub all_parallel_max: f64,
}

/// The lines of Tables 4 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ByPhase {
    /// Of an application in a serial phase.
    pub serial: BoundsRow,
    /// Of one in a parallel phase.
    pub parallel: BoundsRow,
}

/// A line of Tables 4 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoundsRow {
    /// Of an application's speedup.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// max / min.
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
