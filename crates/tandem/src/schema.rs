// SPDX-License-Identifier: GPL-2.0-only
//! `tandem schema`: the JSON Schema of what a command prints for programs.

use std::io;

use clap::{Args, ValueEnum};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use tandem_experiments::Compared;

use crate::context::Context;
use crate::failure::Failure;
use crate::produced::Produced;

/// Print the JSON Schema of what `--json` of a command prints
#[derive(Debug, Args)]
pub struct SchemaCommand {
    /// The command
    #[arg(value_name = "COMMAND")]
    document: Document,
}

/// Documents that have a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Document {
    /// `tandem compare --json`.
    Compare,
}

impl SchemaCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let schema = match self.document {
            Document::Compare => schema_of::<Compared<'static>>("tandem compare --json"),
        };
        let text = serde_json::to_string_pretty(&schema).map_err(io::Error::from)? + "\n";
        Ok(context.out.write_all(text.as_bytes())?)
    }
}

/// The JSON Schema (draft 2020-12) of documents called `title`, which say what they were produced by.
fn schema_of<T: Serialize + JsonSchema + 'static>(title: &str) -> Schema {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Produced<'static, T>>();
    schema.insert("title".to_owned(), title.into());
    schema
}
