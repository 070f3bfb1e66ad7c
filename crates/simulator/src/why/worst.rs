// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worst of many.

use crate::units::Nanos;

/// The longest of what was offered, at most so many, the longest first; of equals the earlier.
#[derive(Debug)]
pub struct Worst<T> {
    most: usize,
    kept: Vec<(Nanos, T)>,
}

impl<T> Worst<T> {
    /// Keeps at most `most`.
    pub fn new(most: usize) -> Self {
        Self { most, kept: Vec::new() }
    }

    /// Whether something of this length would be kept; nothing of length 0 is.
    #[inline]
    pub fn takes(&self, length: Nanos) -> bool {
        length > 0 && (self.kept.len() < self.most || self.kept.last().is_some_and(|(least, _)| *least < length))
    }

    /// Offers something of this length.
    pub fn offer(&mut self, length: Nanos, what: T) {
        if !self.takes(length) {
            return;
        }
        let at = self.kept.partition_point(|(kept, _)| *kept >= length);
        self.kept.insert(at, (length, what));
        self.kept.truncate(self.most);
    }

    /// What was kept.
    pub fn into_vec(self) -> Vec<T> {
        self.kept.into_iter().map(|(_, what)| what).collect()
    }
}
