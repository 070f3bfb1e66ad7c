// SPDX-License-Identifier: GPL-2.0-only
//! The files of `--figure` and `--figures`.

use std::fs;
use std::path::{Path, PathBuf};

use tandem_experiments::ExperimentResult;

use crate::context::Context;
use crate::failure::Failure;
use crate::figures;
use crate::files::{Files, Kind, Output, Staged};
use crate::reproduce::staged;

/// What is drawn where. What can be opened before the first run is open.
pub struct Drawings {
    page: Option<(Staged, Kind)>,
    folder: Option<PathBuf>,
    files: Files,
    force: bool,
}

impl Drawings {
    /// Opens the page, and makes the folder of the panels.
    ///
    /// # Errors
    /// A file or the folder cannot be made.
    pub fn open(
        page: Option<&Path>,
        folder: Option<&Path>,
        force: bool,
        context: &Context<'_>,
    ) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let is_pdf = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"));
            let kind = if is_pdf { Kind::Pdf } else { Kind::Figure };
            Ok::<_, Failure>((context.files.create(Output { path, kind, force })?, kind))
        };
        let page = page.map(open).transpose()?;
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, error))?;
        }
        Ok(Self { page, folder: folder.map(Path::to_owned), files: context.files.clone(), force })
    }

    /// Draws the numbers, and puts all files in their places.
    ///
    /// # Errors
    /// A file cannot be written, or there is one of another kind.
    pub fn write(self, experiment: &ExperimentResult) -> Result<(), Failure> {
        let mut written = Vec::new();
        if let Some(folder) = &self.folder {
            for figure in figures::of_experiment(experiment) {
                written.extend(staged(&self.files, folder, &figure, self.force)?);
            }
        }
        if let (Some((mut file, kind)), Some(page)) = (self.page, figures::page(experiment)) {
            match kind {
                Kind::Pdf => file.write_bytes(&page.pdf())?,
                _ => file.write_text(&page.svg())?,
            }
            written.push(file);
        }
        written.into_iter().try_for_each(Staged::finish)
    }
}
