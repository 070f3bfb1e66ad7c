// SPDX-License-Identifier: MIT OR Apache-2.0
//! A record that knows how often it may have changed, so that sums over many records need not be made anew while none did.

use std::ops::{Deref, DerefMut};

use super::SchedAvg;

/// The record of a run queue. Whoever gets hold of it to change it counts as having done so.
#[derive(Debug, Clone, Default)]
pub struct Versioned {
    avg: SchedAvg,
    version: u32,
}

impl Versioned {
    /// How often the record may have changed so far; wraps.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl Deref for Versioned {
    type Target = SchedAvg;

    #[inline]
    fn deref(&self) -> &SchedAvg {
        &self.avg
    }
}

impl DerefMut for Versioned {
    #[inline]
    fn deref_mut(&mut self) -> &mut SchedAvg {
        self.version = self.version.wrapping_add(1);
        &mut self.avg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_looks_changes_nothing() {
        let mut record = Versioned::default();
        assert_eq!((record.util_avg, record.version()), (0, 0));
        record.util_avg = 5;
        assert_eq!((record.util_avg, record.version()), (5, 1));
    }
}
