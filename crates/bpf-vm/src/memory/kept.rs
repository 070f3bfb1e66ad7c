// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept outside of the arena and comes and goes.

use super::Memory;
use crate::fault::FaultKind;

/// How many things were kept at most outside of the arena, all of which count against its limit.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    most: usize,
}

impl Kept {
    /// Counts one more thing of so many bytes beside those that there are.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if there is no room for it.
    #[inline]
    pub(crate) fn one_more(&mut self, memory: &mut Memory, there_are: usize, bytes: u64) -> Result<(), FaultKind> {
        if there_are >= self.most {
            memory.reserve(bytes)?;
            self.most = there_are + 1;
        }
        Ok(())
    }
}
