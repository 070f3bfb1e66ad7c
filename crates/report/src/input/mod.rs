// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `--json` of the command prints, as far as a page shows it. docs/reports.md describes every field.
//!
//! What is read here is written into the page again, so that it has what is here and nothing else. Fields that a later version
//! adds are ignored. Each file is told by its first fields ([`Kind`]).

mod compared;
mod experiment;
mod produced;
mod run;
mod waits;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

pub use compared::{Compared, Comparison};
pub use experiment::Experiment;
pub use produced::{ProducedBy, producer};
pub use run::Run;
pub use waits::Waits;

use crate::error::ReportError;

/// The version of the schemas that is read.
const SCHEMA: u64 = 1;

/// What a JSON file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `tandem simulate --json`.
    Run,
    /// `tandem compare --json`, of one machine and workload or of several.
    Compared,
    /// `tandem experiment --json`.
    Experiment,
    /// `tandem why --json`.
    Waits,
}

/// The fields by which files are told apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Probe {
    schema: Option<serde_json::Value>,
    tasks: Option<IgnoredAny>,
    cpus: Option<IgnoredAny>,
    pairs: Option<IgnoredAny>,
    comparisons: Option<IgnoredAny>,
    series: Option<IgnoredAny>,
    waits: Option<IgnoredAny>,
    papers: Option<IgnoredAny>,
    mechanisms: Option<IgnoredAny>,
    baseline_of: Option<IgnoredAny>,
    best: Option<IgnoredAny>,
}

impl Kind {
    /// What the JSON `text` of the file `file` is.
    ///
    /// # Errors
    /// What is no JSON, with its line and column; what is JSON of something else.
    pub fn of(file: &str, text: &str) -> Result<Self, ReportError> {
        let foreign = |what: &str| {
            ReportError::whole(
                file,
                format!(
                    "{what}; a page shows what `tandem simulate`, `compare`, `experiment` and `why` print with --json"
                ),
            )
        };
        if text.trim_start().starts_with('[') {
            // What is no object is no report, but what is no JSON either is told with its place.
            serde_json::from_str::<IgnoredAny>(text).map_err(|error| ReportError::json(file, &error))?;
            return Err(foreign("is a list, not a report"));
        }
        let probe: Probe = serde_json::from_str(text).map_err(|error| ReportError::json(file, &error))?;
        let kind = match probe {
            Probe { baseline_of: Some(_), .. } => return Err(foreign("is a baseline of `tandem compare --save`")),
            Probe { waits: Some(_), .. } => Self::Waits,
            Probe { pairs: Some(_), .. } | Probe { comparisons: Some(_), .. } => Self::Compared,
            Probe { series: Some(_), .. } => Self::Experiment,
            Probe { tasks: Some(_), cpus: Some(_), .. } => Self::Run,
            Probe { papers: Some(_), .. } => return Err(foreign("is what `tandem reproduce` prints")),
            Probe { mechanisms: Some(_), .. } => return Err(foreign("is what `tandem explain` prints")),
            Probe { best: Some(_), .. } => return Err(foreign("is what `tandem tune` prints")),
            Probe { tasks: Some(_), .. } => return Err(foreign("is no report: is it a workload?")),
            _ => return Err(foreign("is no report")),
        };
        match probe.schema.as_ref().and_then(serde_json::Value::as_u64) {
            Some(SCHEMA) => Ok(kind),
            Some(other) => Err(ReportError::whole(
                file,
                format!("has version {other} of its schema; this program reads version {SCHEMA}"),
            )),
            None => Err(foreign("does not say which version of a schema it has (`schema`)")),
        }
    }
}

/// Reads the JSON `text` of `file`.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ReportError> {
    serde_json::from_str(text).map_err(|error| ReportError::json(file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_fields() {
        for (text, kind) in [
            (r#"{"schema": 1, "tasks": [], "cpus": []}"#, Kind::Run),
            (r#"{"schema": 1, "pairs": []}"#, Kind::Compared),
            (r#"{"schema": 1, "comparisons": []}"#, Kind::Compared),
            (r#"{"schema": 1, "series": []}"#, Kind::Experiment),
            (r#"{"schema": 1, "waits": []}"#, Kind::Waits),
        ] {
            assert_eq!(Kind::of("f", text), Ok(kind), "{text}");
        }
    }

    #[test]
    fn what_is_no_report_says_what_it_is_and_damage_has_its_place() {
        for (text, said) in [
            ("{\"schema\": 1,\n  \"pairs\": [}", "f.json:2:13: expected value"),
            ("", "f.json:1:1: EOF while parsing a value"),
            ("[1, 2", "f.json:1:5: EOF while parsing a list"),
            ("[1, 2]", "f.json: is a list, not a report"),
            (r#"{"tasks": {}}"#, "f.json: is no report: is it a workload?"),
            (r#"{"a": 1}"#, "f.json: is no report; a page shows"),
            (r#"{"schema": 2, "pairs": []}"#, "f.json: has version 2 of its schema; this program reads version 1"),
            (r#"{"pairs": []}"#, "does not say which version"),
            (r#"{"schema": 1, "papers": []}"#, "is what `tandem reproduce` prints"),
            (r#"{"schema": 1, "baseline_of": {}, "pairs": []}"#, "is a baseline of"),
        ] {
            let error = Kind::of("f.json", text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
