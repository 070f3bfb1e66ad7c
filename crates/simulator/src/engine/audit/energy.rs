// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was drawn only grows.

use crate::engine::hardware::Hardware;

/// Joules of each part that has a meter, at the last check.
#[derive(Debug, Default)]
pub(super) struct Drawn(Vec<f64>);

impl Drawn {
    /// Asserts that no part has given energy back.
    pub fn check(&mut self, hardware: &Hardware<'_>) {
        let joules = hardware.joules_so_far();
        for (index, (before, after)) in self.0.iter().zip(&joules).enumerate() {
            // A payment rounds.
            let slack = 1e-12 + 1e-12 * before;
            assert!(after + slack >= *before, "meter {index} went back from {before} J to {after} J");
            assert!(after.is_finite(), "meter {index} shows {after} J");
        }
        self.0 = joules;
    }
}
