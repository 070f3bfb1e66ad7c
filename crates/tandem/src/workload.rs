// SPDX-License-Identifier: GPL-2.0-only
//! `tandem workload`: what workloads are bundled and what their threads do.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jsonc_parser::{JsonValue, ParseOptions, parse_to_value};
use tandem_simulator::input::InputError;
use tandem_simulator::workload::Workload;
use tandem_simulator::workload::bundled::BUNDLED;

use crate::context::Context;
use crate::failure::Failure;
use crate::table::{descriptions, paragraph, printable};

const EXAMPLES: &str = "\
Examples:
  tandem workload list
  tandem workload show pipeline
  tandem workload show ./app.json";

/// List and show workloads
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WorkloadCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the bundled workloads
    List,
    Show(Show),
}

/// Say what a workload is and what each of its threads does
#[derive(Debug, Args)]
struct Show {
    /// A bundled name or an rt-app JSON file
    #[arg(value_name = "NAME")]
    workload: PathBuf,

    /// Print the file itself
    #[arg(long)]
    source: bool,
}

impl WorkloadCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        match &self.action {
            Action::List => list(context),
            Action::Show(show) => show.run(context),
        }
    }
}

/// The text of the workload that `spec` names, as [`Workload::load`] finds it.
fn text(spec: &Path) -> Result<String, InputError> {
    match bundled_text(spec) {
        Some(text) if !spec.exists() => Ok(text.to_owned()),
        _ => fs::read_to_string(spec).map_err(|error| InputError::whole(spec, format!("cannot be read: {error}"))),
    }
}

fn bundled_text(spec: &Path) -> Option<&'static str> {
    BUNDLED.iter().find(|(name, _)| Path::new(name) == spec).map(|(_, text)| *text)
}

fn list(context: &mut Context<'_>) -> Result<(), Failure> {
    let row = |(name, text): &(&str, &str)| ((*name).to_owned(), first_sentence(&description(text)).to_owned());
    let rows: Vec<(String, String)> = BUNDLED.iter().map(row).collect();
    Ok(context.out.write_all(descriptions(&rows, context.width).as_bytes())?)
}

impl Show {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        // Loading first: its mistakes say more than the file system's.
        let workload = Workload::load(&self.workload)?;
        let text = text(&self.workload)?;
        if self.source {
            return Ok(context.out.write_all(text.as_bytes())?);
        }
        let description = description(&text);
        let mut shown = String::new();
        if !description.is_empty() {
            shown = paragraph(&description, context.width) + "\n";
        }
        shown += &workload.listing().to_string().split('\n').map(printable).collect::<Vec<_>>().join("\n");
        for warning in &workload.warnings {
            shown += &paragraph(&format!("warning: {warning}"), context.width);
        }
        Ok(context.out.write_all(shown.as_bytes())?)
    }
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// What the file says of itself: `tandem.description` at its top; empty if it says nothing.
fn description(text: &str) -> String {
    let file = parse_to_value(text, &ParseOptions::default()).ok().flatten();
    let Some(JsonValue::Object(file)) = file else { return String::new() };
    let description = file.get_object("tandem").and_then(|tandem| tandem.get_string("description"));
    description.map_or(String::new(), |text| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_describe_itself() {
        let text = r#"{ /* a comment */ "tandem": { "description": "Two threads." }, "tasks": {}, }"#;
        assert_eq!(description(text), "Two threads.");
        assert_eq!(description(r#"{ "tasks": {} }"#), "");
    }

    #[test]
    fn every_bundled_workload_has_a_description_and_loads() {
        for (name, text) in BUNDLED {
            assert!(!description(text).is_empty(), "{name}");
            Workload::load(Path::new(name)).unwrap();
        }
    }
}
