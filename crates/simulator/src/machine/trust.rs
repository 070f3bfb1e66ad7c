// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far the source of a value can be relied upon.

use serde::Serialize;

use super::Provenance;

/// How far a source can be relied upon; the words that a source begins with say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A document or a program has the value.
    Documented,
    /// The value was computed from published numbers.
    Computed,
    /// The value was measured on the machine or one like it.
    Measured,
    /// The value was chosen so that a published result comes out.
    Calibrated,
    /// Nobody measured the value.
    Assumed,
}

impl Trust {
    /// All but documents: the words that their sources begin with, and their marks.
    pub(super) const MARKED: [(&'static str, Self, char); 4] = [
        ("measured", Self::Measured, '*'),
        ("computed", Self::Computed, '='),
        ("calibrated", Self::Calibrated, '~'),
        ("assumed", Self::Assumed, '?'),
    ];

    /// What `source` says of itself.
    pub fn of(source: &str) -> Self {
        let source = source.trim_start();
        if source.starts_with("derived") {
            return Self::Computed;
        }
        let known = Self::MARKED.iter().find(|(word, ..)| source.starts_with(word));
        known.map_or(Self::Documented, |(_, trust, _)| *trust)
    }

    /// The mark that lists have: `?` for what is assumed, a space for documents.
    pub fn mark(self) -> char {
        Self::MARKED.iter().find(|(_, trust, _)| *trust == self).map_or(' ', |(.., mark)| *mark)
    }
}

impl Provenance {
    /// How far the source can be relied upon.
    pub fn trust(&self) -> Trust {
        Trust::of(&self.source)
    }
}
