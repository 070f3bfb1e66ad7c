// SPDX-License-Identifier: GPL-2.0-only
//! `tandem schema`: the JSON Schema of what a command prints for programs.
//!
//! Schemas are made from the types that are printed; descriptions are their doc comments.

use std::io;

use clap::{Args, ValueEnum};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use tandem_experiments::{Compared, Results};
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Listing;

use crate::analyze::Analysis;
use crate::context::Context;
use crate::explain::Explanation;
use crate::failure::Failure;
use crate::produced::Produced;
use crate::{experiment, tune, why};

const EXAMPLES: &str = "\
Examples:
  tandem schema simulate
  tandem schema compare > compare.schema.json

The schemas are those of this version; docs/reports.md describes the same fields.";

/// Print the JSON Schema of what `--json` of a command prints
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SchemaCommand {
    /// The command
    #[arg(value_name = "COMMAND")]
    document: Document,
}

/// Documents that have a schema, by the command that prints them with `--json`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Document {
    /// The report of a run.
    Simulate,
    /// The longest waits of a run, with their causes.
    Why,
    /// A comparison, or a matrix of several.
    Compare,
    /// What Tandem's mechanisms can do.
    Explain,
    /// The settings that a search found.
    Tune,
    /// The numbers of an experiment.
    Experiment,
    /// The numbers of papers beside the published ones.
    Reproduce,
    /// What an analytical model says of applications that share a machine.
    Analyze,
    /// What is in a sched_ext object, as `tandem scheduler show` prints it.
    Scheduler,
}

impl SchemaCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.document.schema()).map_err(io::Error::from)? + "\n";
        Ok(context.out.write_all(text.as_bytes())?)
    }
}

impl Document {
    /// The command that prints the document.
    pub fn command(self) -> &'static str {
        match self {
            Self::Simulate => "simulate",
            Self::Why => "why",
            Self::Compare => "compare",
            Self::Explain => "explain",
            Self::Tune => "tune",
            Self::Experiment => "experiment",
            Self::Reproduce => "reproduce",
            Self::Analyze => "analyze",
            Self::Scheduler => "scheduler",
        }
    }

    fn schema(self) -> Schema {
        let mut schema = match self {
            Self::Simulate => schema_of::<Produced<'static, Report>>(),
            Self::Why => schema_of::<why::Document<'static>>(),
            Self::Compare => schema_of::<Produced<'static, Compared<'static>>>(),
            Self::Explain => schema_of::<Explanation>(),
            Self::Tune => schema_of::<Produced<'static, tune::Document<'static>>>(),
            Self::Experiment => schema_of::<Produced<'static, experiment::Document<'static>>>(),
            Self::Reproduce => schema_of::<Produced<'static, Results>>(),
            Self::Analyze => schema_of::<Analysis>(),
            Self::Scheduler => schema_of::<Listing>(),
        };
        let subcommand = if matches!(self, Self::Scheduler) { " show" } else { "" };
        schema.insert("title".to_owned(), format!("tandem {}{subcommand} --json", self.command()).into());
        schema
    }
}

/// The JSON Schema (draft 2020-12) of what values of a type are written as.
fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.with_transform(RecursiveTransform(in_words_of_json)).into_generator().into_root_schema_for::<T>()
}

/// Makes the text of a doc comment one of JSON: in one line, and a missing value is `null` there.
fn in_words_of_json(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let words: Vec<&str> = text.split_whitespace().collect();
        *text = words.join(" ").replace("`None`", "`null`");
    }
}
