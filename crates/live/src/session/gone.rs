// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a scheduler went before it was asked to.

use std::fmt;

use crate::Exit;

/// How a scheduler went before it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    /// The scheduler recorded how it ended.
    Recorded(Exit),
    /// The scheduler recorded nothing; what sched_ext is doing now.
    Silent(String),
    /// It was to be loaded again, or looked after, and that failed.
    Lost(String),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(exit) => write!(f, "{exit}"),
            Self::Lost(why) => write!(f, "{why}"),
            Self::Silent(state) => write!(f, "it does not say why; sched_ext is {state}"),
        }
    }
}
