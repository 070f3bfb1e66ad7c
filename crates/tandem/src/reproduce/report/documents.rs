// SPDX-License-Identifier: GPL-2.0-only
//! The files of `--write`: `results.md`, `results.json`, and for each paper a page and the figures of its panels. Pages are
//! opened before the first run, which panels there are is known at the end; all appear together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tandem_experiments::{Paper, Results};

use super::{markdown, page as of_paper};
use crate::context::Context;
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::files::{Files, Kind, Output, Staged};

/// The files, open.
pub struct Documents {
    folder: PathBuf,
    markdown: Staged,
    json: Staged,
    /// By paper, in their order.
    pages: Vec<Staged>,
    /// Where figures are made, and whether they may replace files of another kind.
    files: Files,
    force: bool,
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
            files: context.files.clone(),
            force,
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
        for figure in results.papers.iter().flat_map(figures::of_paper) {
            drawn.extend(staged(&self.files, &self.folder.join(PAGES), &figure, self.force)?);
        }
        drawn.into_iter().chain(self.pages).chain([self.json, self.markdown]).try_for_each(Staged::finish)
    }
}

/// The files of a figure in `folder`, SVG and PDF, written and not yet in their places.
///
/// # Errors
/// One cannot be written, or there is a file of another kind.
pub fn staged(files: &Files, folder: &Path, figure: &Figure, force: bool) -> Result<[Staged; 2], Failure> {
    let create = |kind, format: &str, bytes: &[u8]| {
        let path = folder.join(format!("{}.{format}", figure.name));
        let mut file = files.create(Output { path: &path, kind, force })?;
        file.write_bytes(bytes)?;
        Ok::<_, Failure>(file)
    };
    Ok([create(Kind::Figure, "svg", figure.svg().as_bytes())?, create(Kind::Pdf, "pdf", &figure.pdf())?])
}

/// The folder of the papers' pages.
const PAGES: &str = "results";

/// The name of a paper's page.
pub fn page(paper: &str) -> String {
    format!("{PAGES}/{paper}.md")
}
