// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds for k applications, 2 ≤ k ≤ n.

use serde::Serialize;

use super::model::{Model, ModelError, Phase, Policy};

/// Bounds of one application's speedup.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// Lower bound of the speedup.
    pub min: f64,
    /// Upper bound of the speedup. Where all applications are parallel one can exceed it, see `ManyApplications`.
    pub max: f64,
}

/// A [`Model`] with a number of applications, each in any phase.
///
/// **Tables 4 and 6 as printed.** The maximum of a parallel application is its speedup beside serial applications only.
/// If all applications are parallel, one whose threads fill the large core exceeds this maximum if `a + (n-k)/k >
/// n-k+1`. Table 6 does not consider that (Table 5, for k = 2, does): see [`ManyApplications::all_parallel_max`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ManyApplications {
    model: Model,
    applications: u32,
}

impl Bounds {
    /// How much the speedup varies: `max / min`.
    pub fn spread(&self) -> f64 {
        self.max / self.min
    }
}

impl Model {
    /// The model with `applications` (k) applications.
    ///
    /// # Errors
    /// [`ModelError::Applications`] if `applications` is less than two or more than the number of cores.
    pub fn many(&self, applications: u32) -> Result<ManyApplications, ModelError> {
        if !(2..=self.cores()).contains(&applications) {
            return Err(ModelError::Applications { applications, cores: self.cores() });
        }
        Ok(ManyApplications { model: *self, applications })
    }
}

impl ManyApplications {
    /// Number of applications (k).
    pub fn applications(&self) -> u32 {
        self.applications
    }

    /// Bounds of the speedup of an application in `phase`: Table 4 for the baseline, Table 6 for the proposed scheduler.
    pub fn bounds(&self, policy: Policy, phase: Phase) -> Bounds {
        let (n, a, k) = (self.model.n(), self.model.asymmetry(), self.k());
        let parallel = self.model.alone(Phase::Parallel);
        match (policy, phase) {
            // The worst case is a small core shared with a thread of each other application …
            (Policy::Baseline, Phase::Serial) => Bounds { min: 1.0 / (k * a), max: 1.0 },
            // … or a small core without others.
            (Policy::Proposed, Phase::Serial) => Bounds { min: 1.0 / a, max: 1.0 },
            // The best case: k-1 serial threads take half of a small core each …
            (Policy::Baseline, Phase::Parallel) => {
                Bounds { min: self.all_parallel_min(), max: (parallel - (k - 1.0) / 2.0) / parallel }
            }
            // … or all of the large core and of k-2 small cores.
            (Policy::Proposed, Phase::Parallel) => {
                Bounds { min: self.all_parallel_min(), max: (n - k + 1.0) / parallel }
            }
        }
    }

    /// Speedup if all applications are parallel and no thread of this one is on the large core.
    fn all_parallel_min(&self) -> f64 {
        self.model.n() / (self.k() * self.model.alone(Phase::Parallel))
    }

    /// Speedup if all applications are parallel and all threads on the large core are this one's: `(a + (n-k)/k) /
    /// (n-1+a)`, which is (11) for k = 2. The paper does not have it for larger k.
    pub fn all_parallel_max(&self) -> f64 {
        let (n, a, k) = (self.model.n(), self.model.asymmetry(), self.k());
        (a + (n - k) / k) / self.model.alone(Phase::Parallel)
    }

    fn k(&self) -> f64 {
        f64::from(self.applications)
    }
}
