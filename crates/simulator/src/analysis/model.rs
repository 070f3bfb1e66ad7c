// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine of the model, and an application alone on it.

use serde::Serialize;

use crate::units::CAPACITY_SCALE;

/// Cores of which at most one is faster than the others. The unit of performance is one thread on a small core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    cores: u32,
    asymmetry: f64,
}

/// What the model has no answer for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// With fewer than two cores, applications share nothing but one core.
    #[error("the model needs at least 2 cores, not {0}")]
    Cores(u32),
    /// The asymmetry is below 1, so that the fast core would be the slow one, or more than capacities can express.
    #[error("the asymmetry must be a number from 1 (all cores alike) to {CAPACITY_SCALE}, not {0}")]
    Asymmetry(f64),
    /// Fewer than two applications share nothing; with more applications than cores, some serial ones have no core.
    #[error("the model covers 2 to {cores} applications on {cores} cores, not {applications}")]
    Applications {
        /// The number of applications that was asked for.
        applications: u32,
        /// The number of cores of the model.
        cores: u32,
    },
}

/// What an application is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// One thread is ready.
    Serial,
    /// As many threads as there are cores are ready.
    Parallel,
}

/// Whose scheduling decisions the model describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Baseline: threads are equals and stay where they happen to be, as the paper describes Linux 2.6.18.
    Baseline,
    /// Proposed: a serial phase goes first, and to the fastest idle core.
    Proposed,
}

impl Model {
    /// `cores` (n ≥ 2), one of which is `asymmetry` (a, 1 to 1024) times as fast as each other one.
    ///
    /// # Errors
    /// [`ModelError::Cores`] and [`ModelError::Asymmetry`], if a number lies outside of its range.
    pub fn new(cores: u32, asymmetry: f64) -> Result<Self, ModelError> {
        if cores < 2 {
            return Err(ModelError::Cores(cores));
        }
        if !(1.0..=CAPACITY_SCALE as f64).contains(&asymmetry) {
            return Err(ModelError::Asymmetry(asymmetry));
        }
        Ok(Self { cores, asymmetry })
    }

    /// Number of cores (n).
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// Asymmetry (a): the large core's speed over a small one's.
    pub fn asymmetry(&self) -> f64 {
        self.asymmetry
    }

    /// The model with the same number of cores, all alike (a = 1).
    pub fn symmetric(&self) -> Self {
        Self { asymmetry: 1.0, ..*self }
    }

    /// Whether `a` is below 2, as the paper assumes. From a = 2 on, two threads of the large core are as fast as one of
    /// a small core, so that it can be right to leave a small core idle, which the model never does. The formulas are
    /// defined for larger `a` too, and the paper's own machine has a = 2.
    pub fn within_assumption(&self) -> bool {
        self.asymmetry < 2.0
    }

    /// Performance of an application alone: (6) on the large core in a serial phase, (7) on all cores in a parallel
    /// one.
    pub fn alone(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Serial => self.asymmetry,
            Phase::Parallel => self.n() - 1.0 + self.asymmetry,
        }
    }

    pub(super) fn n(&self) -> f64 {
        f64::from(self.cores)
    }
}
