// SPDX-License-Identifier: MIT OR Apache-2.0
//! What could have been done otherwise in reproducing a paper, and where that leads.

use schemars::JsonSchema;
use serde::Serialize;
use tandem_simulator::input::InputError;
use toml::Spanned;

use super::raw;
use super::read::File;
use super::series::said;

/// Something that the paper leaves open, and what was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Choice {
    /// What was to be chosen.
    pub what: String,
    /// What was chosen.
    pub chosen: String,
    /// The reason.
    pub why: String,
    /// Whether verdicts were known when it was chosen, so that it may have been chosen for them.
    pub after_verdicts: bool,
    /// What else could have been chosen; at least one.
    pub alternatives: Vec<Alternative>,
}

/// What could have been chosen instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Alternative {
    /// What else could have been done.
    pub what: String,
    /// What comes out then, from a run; or `not run`.
    pub gives: String,
}

pub fn read_choice(file: &File, choice: Spanned<raw::Choice>) -> Result<Choice, InputError> {
    let span = choice.span();
    let raw = choice.into_inner();
    if raw.alternative.is_empty() {
        return Err(file
            .error(&span, "a choice without an alternative is none")
            .help("expected `[[choice.alternative]]`, with `what` and `gives`: numbers from a run, or `not run`"));
    }
    let alternative = |alternative: Spanned<raw::Alternative>| {
        let raw = alternative.into_inner();
        Ok(Alternative { what: said(file, raw.what, "what")?, gives: said(file, raw.gives, "gives")? })
    };
    Ok(Choice {
        what: said(file, raw.what, "what")?,
        chosen: said(file, raw.chosen, "chosen")?,
        why: said(file, raw.why, "why")?,
        after_verdicts: raw.after_verdicts,
        alternatives: raw.alternative.into_iter().map(alternative).collect::<Result<_, InputError>>()?,
    })
}
