// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there is no number.

use std::io;
use std::path::Path;
use std::time::Duration;

/// Why something that could count energy says nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Files of counters are root's since 2020 (they tell too much of what the processor computes), perf events want
    /// CAP_PERFMON.
    #[error("only root may read it")]
    NotAllowed,
    /// The system does not read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It has no number where there should be one.
    #[error("it says `{0}`, which is no number that it could have")]
    Garbage(String),
    /// Virtual machines, and processors without the counter in question, often have one that is 0 for ever.
    #[error("it did not move in {:.1} s", .0.as_secs_f64())]
    StandsStill(Duration),
    /// It went away, or could not be read any more, at this time of the measurement.
    #[error("it was lost after {:.1} s: {why}", .after.as_secs_f64())]
    Lost {
        /// Since the beginning.
        after: Duration,
        /// What happened then.
        why: Box<Self>,
    },
    /// Its number became smaller, and it does not say where it starts again.
    #[error("its count went back")]
    WentBack,
    /// The platform's counter is less than that of the processors in it.
    #[error("it is less than the packages, which are part of it")]
    LessThanItsParts,
    /// The machine draws from the mains, and nobody knows how much.
    #[error("the machine is on mains power")]
    OnMains,
    /// The battery's state is not `Discharging`.
    #[error("it is not discharging")]
    NotDischarging,
    /// A battery counts in big steps, seconds or minutes apart; that many were seen.
    #[error("it counted on {0} times only: its steps are too big for so short a time")]
    TooFewSteps(u32),
}

impl Why {
    /// It in a word that does not change while it stays the same, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::Unreadable(_) => "unreadable",
            Self::Garbage(_) => "garbage",
            Self::StandsStill(_) => "stands_still",
            Self::Lost { .. } => "lost",
            Self::WentBack => "went_back",
            Self::LessThanItsParts => "less_than_its_parts",
            Self::OnMains => "on_mains",
            Self::NotDischarging => "not_discharging",
            Self::TooFewSteps(_) => "too_few_steps",
        }
    }

    /// The reason that an error is.
    pub(super) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed,
            // The system's words, without the number.
            _ => Self::Unreadable(error.to_string().split(" (os error").next().unwrap_or_default().to_owned()),
        }
    }
}

/// The text of a file without what surrounds it.
pub(super) fn read_text(path: &Path) -> Result<String, Why> {
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| match error.kind() {
        // It is not UTF-8.
        io::ErrorKind::InvalidData => Why::Garbage("bytes that are no text".to_owned()),
        _ => Why::of(&error),
    })
}

/// The number in a file. No counter and no power that is meant here is below 0.
pub(super) fn read_number(path: &Path) -> Result<u64, Why> {
    const SHOWN: usize = 20;
    let text = read_text(path)?;
    text.parse().map_err(|_| Why::Garbage(text.chars().filter(|c| !c.is_control()).take(SHOWN).collect()))
}
