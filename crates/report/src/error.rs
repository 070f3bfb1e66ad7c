// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an input cannot be shown.

use std::fmt;

/// Why an input cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{place}: {what}")]
pub struct ReportError {
    /// The file, as the caller named it.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong there.
    pub what: String,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line and a column, both from 1.
    Text(usize, usize),
    /// The number of a byte, from 0.
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Text(line, column) => write!(f, ":{line}:{column}"),
            Self::Byte(at) => write!(f, ": byte {at}"),
        }
    }
}

impl ReportError {
    /// A mistake in a file as a whole.
    pub fn whole(file: &str, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: Place::Whole, what: what.into() }
    }

    /// What `serde_json` says of a file.
    pub fn json(file: &str, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The place stands before the message here.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what).to_owned();
        Self { file: file.to_owned(), place: Place::Text(error.line().max(1), error.column().max(1)), what }
    }

    /// A mistake at a byte of a file.
    pub fn byte(file: &str, at: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: Place::Byte(at), what: what.into() }
    }
}
