// SPDX-License-Identifier: GPL-2.0-only
//! The formats of a comparison: text, JSON, one row per run as JSON lines or CSV, Markdown.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output, Staged};
use crate::json::JsonOption;

/// The options that choose formats. Each prints its format instead of the text, or writes it to a file beside that.
#[derive(Debug, Args)]
pub struct Formats {
    #[command(flatten)]
    json: JsonOption,

    /// Print a line of JSON per run instead of text; with `=FILE`, write them there beside the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    jsonl: Option<Option<PathBuf>>,

    /// Print a line of comma-separated values per run instead of text; with `=FILE`, write them there beside the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    csv: Option<Option<PathBuf>>,

    /// Print the tables in Markdown instead of text; with `=FILE`, write them there beside the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    markdown: Option<Option<PathBuf>>,
}

/// What results look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One document.
    Json,
    /// One object per run.
    Lines,
    /// One line per run.
    Csv,
    /// Tables for a page.
    Markdown,
}

impl Format {
    fn kind(self) -> Kind {
        match self {
            Self::Text | Self::Json => Kind::Report,
            Self::Lines => Kind::Lines,
            Self::Csv => Kind::Csv,
            Self::Markdown => Kind::Markdown,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "the text",
            Self::Json => "--json",
            Self::Lines => "--jsonl",
            Self::Csv => "--csv",
            Self::Markdown => "--markdown",
        })
    }
}

/// Where the results are written.
#[derive(Debug)]
pub struct Destinations {
    /// What goes to standard output.
    printed: Format,
    files: Vec<(Format, Staged)>,
}

impl Formats {
    /// What stands behind each option: a file, or `None` for standard output.
    fn chosen(&self) -> Vec<(Format, Option<&Path>)> {
        let json = self.json.is_printed().then_some(None).or(self.json.file().map(Some));
        let others = [(Format::Lines, &self.jsonl), (Format::Csv, &self.csv), (Format::Markdown, &self.markdown)];
        let others = others.into_iter().filter_map(|(format, option)| {
            Some((format, option.as_ref()?.as_deref().filter(|path| *path != Path::new(DASH))))
        });
        json.map(|path| (Format::Json, path)).into_iter().chain(others).collect()
    }

    /// Whether files of another kind may be replaced.
    pub fn force(&self) -> bool {
        self.json.force()
    }

    /// Whether a format is printed for which no file was named.
    pub fn prints(&self) -> Option<Format> {
        self.chosen().into_iter().find(|(_, path)| path.is_none()).map(|(format, _)| format)
    }

    /// Whether tables are written to a file.
    pub fn writes_markdown(&self) -> bool {
        self.chosen().into_iter().any(|(format, path)| format == Format::Markdown && path.is_some())
    }

    /// Opens the outputs before the work, so that a path that cannot be written costs no work.
    ///
    /// # Errors
    /// Two formats are to be printed, or a file cannot be written.
    pub fn open(&self, context: &Context<'_>) -> Result<Destinations, Failure> {
        let (mut printed, mut files) = (Format::Text, Vec::new());
        for (format, path) in self.chosen() {
            match path {
                Some(path) => {
                    let output = Output { path, kind: format.kind(), force: self.force() };
                    files.push((format, context.files.create(output)?));
                }
                None if printed == Format::Text => printed = format,
                None => {
                    return Err(Failure::Options(format!(
                        "{printed} and {format} both print on standard output\n  help: {format}=FILE writes a file"
                    )));
                }
            }
        }
        Ok(Destinations { printed, files })
    }
}

impl Destinations {
    /// Where what an interrupt left goes: the same, but files keep what they had.
    pub fn without_files(self) -> Self {
        Self { files: Vec::new(), ..self }
    }

    /// Writes the results as `render` has them in each format.
    pub fn write(
        self,
        context: &mut Context<'_>,
        render: impl Fn(Format) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        for (format, mut file) in self.files {
            file.write_text(&render(format)?)?;
            file.finish()?;
        }
        Ok(context.out.write_all(render(self.printed)?.as_bytes())?)
    }
}
