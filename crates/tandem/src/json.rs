// SPDX-License-Identifier: GPL-2.0-only
//! `--json`: results for programs instead of, or beside, those for people.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output, Staged};

/// The option, shared by the commands that have results.
#[derive(Debug, Args)]
pub struct JsonOption {
    /// Print JSON instead of text; with `=FILE`, write it there beside the text (`=-` is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<PathBuf>>,

    /// Replace existing files even if they are of another kind than what is written, or protected against writing
    #[arg(long)]
    force: bool,
}

/// Where the results are written.
#[derive(Debug)]
pub enum Destination {
    /// Text on standard output.
    Text,
    /// JSON on standard output.
    Json,
    /// JSON in this file, text on standard output.
    Both(Staged),
}

impl JsonOption {
    /// The option as a command has it that reads it itself.
    pub fn new(json: Option<Option<PathBuf>>, force: bool) -> Self {
        Self { json, force }
    }

    /// The file that was named, if one was.
    pub fn file(&self) -> Option<&Path> {
        self.json.as_ref()?.as_deref().filter(|path| *path != Path::new(DASH))
    }

    /// Whether JSON is what goes to standard output.
    pub fn is_printed(&self) -> bool {
        self.json.is_some() && self.file().is_none()
    }

    /// Whether files of another kind may be replaced.
    pub fn force(&self) -> bool {
        self.force
    }

    /// Opens the output before the work, so that a path that cannot be written costs no work.
    pub fn open(&self, context: &Context<'_>) -> Result<Destination, Failure> {
        match self.file() {
            Some(path) => {
                let output = Output { path, kind: Kind::Report, force: self.force };
                Ok(Destination::Both(context.files.create(output)?))
            }
            None if self.is_printed() => Ok(Destination::Json),
            None => Ok(Destination::Text),
        }
    }
}

impl Destination {
    /// Where what an interrupt left goes: the same, but files keep what they had.
    pub fn without_file(self) -> Self {
        match self {
            Self::Both(_) => Self::Text,
            other => other,
        }
    }

    /// Writes the results; `text` is for people.
    pub fn write(
        self,
        context: &mut Context<'_>,
        results: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let json = || serde_json::to_string_pretty(results).map(|json| json + "\n").map_err(io::Error::from);
        match self {
            Self::Json => context.out.write_all(json()?.as_bytes())?,
            Self::Text => context.out.write_all(text().as_bytes())?,
            Self::Both(mut file) => {
                file.write_text(&json()?)?;
                file.finish()?;
                context.out.write_all(text().as_bytes())?;
            }
        }
        Ok(())
    }
}
