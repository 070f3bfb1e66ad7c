// SPDX-License-Identifier: GPL-2.0-only
//! `tandem rerun`: a report made again from what it says of itself, and whether it comes out the same.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use tandem_simulator::bounded::Limit;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::produced::{ProducedBy, VERSION, without_outputs};
use crate::table::{paragraph, printable};

/// The commands whose reports say what they were produced by.
const COMMANDS: [&str; 5] = ["simulate", "compare", "tune", "reproduce", "experiment"];
/// Where a report has the time that it took, which differs from run to run.
const WALL: &str = "wall_s";
/// Most differences that are told.
const MOST: usize = 10;

const EXAMPLES: &str = "\
Examples:
  tandem simulate app.json -m hikey960 --json=report.json
  tandem rerun report.json

Run it where the report was made: paths are as they were there. Exit status: 0 the report comes out
the same to the byte (`wall_s`, the time that it took, aside); 1 it does not; 2 it cannot be told, as
the machine, the workload, an object or another file has changed.";

/// Make a report again from what it says of itself, and say whether it comes out the same
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Rerun {
    /// The report: what --json printed
    #[arg(value_name = "REPORT")]
    report: PathBuf,
}

impl Rerun {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let (text, report) = self.read()?;
        let produced = self.produced(&report)?;
        let changed: Vec<String> = produced.inputs.iter().filter_map(|input| input.changed()).collect();
        if !changed.is_empty() {
            return Err(self.refused(&changed.join("\n  ")));
        }
        let again = self.again(context, &produced)?;
        let mut said = match again.trim_end() == text.trim_end() {
            true => Ok(format!("The same to the byte: {}", produced.command.join(" "))),
            false => self.compared(&report, &again, &produced),
        };
        if let Ok(said) = &mut said {
            context.out.write_all(paragraph(&printable(said), context.width).as_bytes())?;
        }
        said.map(drop)
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::Options(format!("{}: {why}", self.report.display()))
    }

    fn read(&self) -> Result<(String, Value), Failure> {
        let read = Limit::REPORT.read_text(&self.report);
        let text = read.map_err(|error| self.refused(&format!("cannot be read: {error}")))?;
        let report = serde_json::from_str(&text).map_err(|error| self.refused(&format!("is no JSON: {error}")))?;
        Ok((text, report))
    }

    /// What the report says of itself, if that is a command which can be run again.
    fn produced(&self, report: &Value) -> Result<ProducedBy, Failure> {
        let none = || self.refused("does not say what it was produced by (`produced_by`): is it a report of `--json`?");
        let produced = report.get("produced_by").ok_or_else(none)?;
        let produced: ProducedBy = serde_json::from_value(produced.clone())
            .map_err(|error| self.refused(&format!("`produced_by` cannot be read: {error}")))?;
        match produced.command.get(1) {
            Some(command) if COMMANDS.contains(&command.as_str()) => Ok(produced),
            _ => Err(self
                .refused(&format!("was produced by `{}`, which is none of {COMMANDS:?}", produced.command.join(" ")))),
        }
    }

    /// What the command prints now. Nothing that was finished before is taken for it.
    fn again(&self, context: &Context<'_>, produced: &ProducedBy) -> Result<String, Failure> {
        // A report that somebody else has written may name files to write.
        let words: Vec<OsString> = produced.command.iter().map(OsString::from).collect();
        let words = without_outputs(&words).into_iter().chain(["--json".to_owned()]);
        let cli = Cli::read(words).map_err(|error| {
            let lines = error.to_string();
            self.refused(&format!(
                "its command is none of this version's: {}",
                lines.lines().next().unwrap_or_default()
            ))
        })?;
        let mut printed = Vec::new();
        let mut inner = Context {
            simulator: context.simulator,
            out: &mut printed,
            width: None,
            progress: context.progress,
            files: context.files.clone(),
            interrupt: context.interrupt.clone(),
            store: None,
            command: produced.command.clone(),
        };
        match cli.run(&mut inner) {
            // The report is there all the same, and was before.
            Ok(()) | Err(Failure::Ejected(_) | Failure::Worse(_) | Failure::Undecided(_)) => {
                Ok(String::from_utf8_lossy(&printed).into_owned())
            }
            Err(failure) => Err(failure),
        }
    }

    /// What to say of a report that has other bytes.
    fn compared(&self, report: &Value, again: &str, produced: &ProducedBy) -> Result<String, Failure> {
        let again: Value =
            serde_json::from_str(again).map_err(|error| Failure::System(format!("the new report: {error}")))?;
        let (before, now) = (without_wall(report), without_wall(&again));
        if before == now {
            return Ok(format!("The same, but for `{WALL}` or the layout of the text: {}", produced.command.join(" ")));
        }
        let mut differences = Vec::new();
        differ("", &before, &now, &mut differences);
        let more = match differences.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        differences.truncate(MOST);
        let version = match produced.version.as_str() {
            VERSION => String::new(),
            other => format!("\n  it was made by version {other}, this is {VERSION}"),
        };
        let file = self.report.display();
        Err(Failure::Differs(format!("{file}: comes out different:\n  {}{more}{version}", differences.join("\n  "))))
    }
}

fn without_wall(report: &Value) -> Value {
    let mut report = report.clone();
    if let Some(fields) = report.as_object_mut() {
        fields.remove(WALL);
    }
    report
}

/// Adds the JSON pointers at which two values differ, with both.
fn differ(at: &str, before: &Value, now: &Value, differences: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                differ(&format!("{at}/{key}"), &of(one), &of(other), differences);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differ(&format!("{at}/{index}"), one, other, differences);
            }
        }
        _ if before == now => {}
        _ => differences.push(format!("{at}: {} was {}", short(now), short(before))),
    }
}

/// A value in a few words.
fn short(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("a list of {}", values.len()),
        Value::Object(_) => "an object".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_have_their_place_and_both_values() {
        let before = json!({ "a": { "b": [1, 2.5] }, "c": [1], "d": "x" });
        let now = json!({ "a": { "b": [1, 2.0] }, "c": [1, 2], "e": null });
        let mut differences = Vec::new();
        differ("", &before, &now, &mut differences);
        assert_eq!(differences, ["/a/b/1: 2.0 was 2.5", "/c: a list of 2 was a list of 1", "/d: null was \"x\""]);
    }
}
