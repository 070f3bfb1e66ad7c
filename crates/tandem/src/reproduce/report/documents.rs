// SPDX-License-Identifier: GPL-2.0-only
//! The files of `--write`: `results.md`, `results.json` and a figure for each paper. All are opened before the first run,
//! and appear together at the end.

use std::io;
use std::path::{Path, PathBuf};

use tandem_experiments::{Paper, Results};

use super::super::figures;
use super::markdown;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output, Staged};
use crate::produced::ProducedBy;

/// The files, open.
pub struct Documents {
    folder: PathBuf,
    markdown: Staged,
    json: Staged,
    /// By paper, in their order.
    figures: Vec<Staged>,
}

impl Documents {
    /// Opens them all.
    pub fn open(folder: &Path, papers: &[Paper], force: bool, context: &Context<'_>) -> Result<Self, Failure> {
        let open = |name: &str, kind| context.files.create(Output { path: &folder.join(name), kind, force });
        Ok(Self {
            folder: folder.to_owned(),
            markdown: open("results.md", Kind::Results)?,
            json: open("results.json", Kind::Report)?,
            figures: papers.iter().map(|paper| open(&figure(&paper.name), Kind::Figure)).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the results, in JSON with what they were `produced` by, and puts the files in their places.
    pub fn write(mut self, results: &Results, produced: &ProducedBy) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(&produced.of(results)).map_err(io::Error::from)?;
        self.json.write_text(&(json + "\n"))?;
        self.markdown.write_text(&markdown::render(results))?;
        let mut drawn = Vec::new();
        for (paper, mut file) in results.papers.iter().zip(self.figures) {
            let draw = figures::svg(paper).map_err(|error| {
                Failure::System(format!(
                    "{}: cannot be drawn: {error}",
                    self.folder.join(figure(&paper.name)).display()
                ))
            })?;
            if let Some(svg) = draw {
                file.write_text(&svg)?;
                drawn.push(file);
            }
        }
        drawn.into_iter().chain([self.json, self.markdown]).try_for_each(Staged::finish)
    }
}

/// The name of a paper's figure.
pub fn figure(paper: &str) -> String {
    format!("results-{paper}.svg")
}
