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
    /// Applications would not share anything but one core.
    #[error("the model needs at least 2 cores, not {0}")]
    Cores(u32),
    /// The fast core would be the slow one, or faster than capacities can say.
    #[error("the asymmetry must be a number from 1 (all cores alike) to {CAPACITY_SCALE}, not {0}")]
    Asymmetry(f64),
    /// One application shares with nobody; with more than cores, not all serial ones have a core.
    #[error("the model covers 2 to {cores} applications on {cores} cores, not {applications}")]
    Applications {
        /// As asked for.
        applications: u32,
        /// Of the model.
        cores: u32,
    },
}

/// What an application is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// One thread is ready.
    Serial,
    /// As many threads as there are cores are ready.
    Parallel,
}

/// Whose scheduling decisions the model describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Threads are equals and stay where they happen to be: Linux 2.6.18, as the paper sees it.
    Baseline,
    /// A serial phase goes first, and to the fastest idle core.
    Proposed,
}

impl Model {
    /// `cores` (n ≥ 2), one of which is `asymmetry` (a, 1 to 1024) times as fast as each other one.
    ///
    /// # Errors
    /// [`ModelError::Cores`], [`ModelError::Asymmetry`].
    pub fn new(cores: u32, asymmetry: f64) -> Result<Self, ModelError> {
        if cores < 2 {
            return Err(ModelError::Cores(cores));
        }
        if !(1.0..=CAPACITY_SCALE as f64).contains(&asymmetry) {
            return Err(ModelError::Asymmetry(asymmetry));
        }
        Ok(Self { cores, asymmetry })
    }

    /// n.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// a: the large core's speed over a small one's.
    pub fn asymmetry(&self) -> f64 {
        self.asymmetry
    }

    /// The same number of cores, all alike (a = 1).
    pub fn symmetric(&self) -> Self {
        Self { asymmetry: 1.0, ..*self }
    }

    /// Whether `a` is below 2, as the paper assumes. From there on two threads of the large core are as well off as one of
    /// a small core, so that it can be right to leave a small core idle, which the model never does. Its formulas are
    /// defined beyond that, too, and the paper's own machine has a = 2.
    pub fn within_assumption(&self) -> bool {
        self.asymmetry < 2.0
    }

    /// Performance of an application alone: (6) on the large core in a serial phase, (7) on all in a parallel one.
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
