// SPDX-License-Identifier: GPL-2.0-only
//! The files of `--write`: `results.md`, `results.json`, and a page and a figure for each paper. All are opened before the first run,
//! and appear together at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tandem_experiments::{Paper, Results};

use super::super::figures;
use super::{markdown, page as of_paper};
use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output, Staged};

/// The files, open.
pub struct Documents {
    folder: PathBuf,
    markdown: Staged,
    json: Staged,
    /// By paper, in their order.
    pages: Vec<Staged>,
    /// By paper, in their order.
    figures: Vec<Staged>,
    /// Behind the files in it, which go first.
    _pages: Folder,
}

/// A folder for pages; goes again if it was made for them and none came.
struct Folder(Option<PathBuf>);

impl Folder {
    fn make(path: &Path) -> Result<Self, Failure> {
        if path.is_dir() {
            return Ok(Self(None));
        }
        fs::create_dir(path).map_err(|error| Failure::writing(path, error))?;
        Ok(Self(Some(path.to_owned())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // One that has files stays.
        let _ = self.0.take().map(fs::remove_dir);
    }
}

impl Documents {
    /// Opens them all.
    pub fn open(folder: &Path, papers: &[Paper], force: bool, context: &Context<'_>) -> Result<Self, Failure> {
        let open = |name: &str, kind| context.files.create(Output { path: &folder.join(name), kind, force });
        let made = Folder::make(&folder.join(PAGES))?;
        Ok(Self {
            folder: folder.to_owned(),
            markdown: open("results.md", Kind::Results)?,
            json: open("results.json", Kind::Report)?,
            pages: papers.iter().map(|paper| open(&page(&paper.name), Kind::Results)).collect::<Result<_, _>>()?,
            figures: papers.iter().map(|paper| open(&figure(&paper.name), Kind::Figure)).collect::<Result<_, _>>()?,
            _pages: made,
        })
    }

    /// Writes the results, in JSON as `document`, and puts the files in their places.
    pub fn write(mut self, results: &Results, document: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
        self.json.write_text(&(json + "\n"))?;
        self.markdown.write_text(&markdown::render(results))?;
        for (paper, file) in results.papers.iter().zip(&mut self.pages) {
            file.write_text(&of_paper::render(paper))?;
        }
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
        drawn.into_iter().chain(self.pages).chain([self.json, self.markdown]).try_for_each(Staged::finish)
    }
}

/// The folder of the papers' pages.
const PAGES: &str = "results";

/// The name of a paper's page.
pub fn page(paper: &str) -> String {
    format!("{PAGES}/{paper}.md")
}

/// The name of a paper's figure.
pub fn figure(paper: &str) -> String {
    format!("results-{paper}.svg")
}
