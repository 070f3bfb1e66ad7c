// SPDX-License-Identifier: GPL-2.0-only
//! `tandem reproduce`: the experiments of papers, each published number beside ours.
//!
//! The experiments are [`tandem_experiments`]'; [`library`] has the papers that the command carries, [`study`] goes from
//! experiments to results, [`recorded`] from numbers of earlier runs, [`report`] shows these. `tandem experiment`
//! shares most of it.

mod library;
mod recorded;
mod report;
mod study;

use std::path::PathBuf;

use clap::Args;
use tandem_experiments::{Library, Paper};

use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::produced::ProducedBy;

use recorded::judged_anew;
use report::documents::Documents;

pub use library::{bundled, text as carried_text};
pub use report::documents::staged;
pub use report::text::missing;
pub use report::{numbers, sensitivity};
pub use study::StudyOptions;

const EXAMPLES: &str = "\
Examples:
  tandem reproduce
  tandem reproduce memory --seeds 20
  tandem reproduce --sensitivity --write docs
  tandem reproduce --papers ./papers --list
  tandem reproduce --from docs/results.json

A number of ours agrees with the published one within 10 %, or within 2 percentage points, on the
same side of \"no effect\" or of another cell; it has the same direction if it is farther off on that
side and its interval excludes no effect, which that of one seed never does; else it differs.
It holds by the strict rule if it is off by no more than a quarter of the published effect.
papers/README.md describes the files, docs/reports.md the fields of the JSON.

Ctrl-C prints what is finished and says what is missing (exit status 130); files stay as they
were. A second one ends the command at once. Finished runs are kept: the same command goes on.";

/// Run the experiments of papers and show each published number beside ours
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Reproduce {
    /// Papers (see --list); all of them by default
    #[arg(value_name = "PAPER")]
    papers: Vec<String>,

    /// Read the papers of this folder instead of those that the command carries
    #[arg(long = "papers", value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Judge the numbers of this JSON, of an earlier `reproduce --json` or --write, by the papers' files as they are; nothing is run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "jobs", "fresh", "sensitivity"])]
    from: Option<PathBuf>,

    #[command(flatten)]
    pub study: StudyOptions,

    #[command(flatten)]
    json: JsonOption,

    /// Write results.md, results.json, a results/PAPER.md for each paper, and its figures (SVG and PDF) beside that, into this folder
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Say what papers and experiments there are, and run nothing
    #[arg(long, conflicts_with_all = ["seeds", "jobs", "fresh", "json", "sensitivity", "write", "from"])]
    list: bool,
}

impl Reproduce {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let library = match &self.folder {
            Some(folder) => Library::of_folder(folder)?,
            None => bundled(),
        };
        let names = library.names(&self.papers)?;
        let papers = names.iter().map(|name| Paper::read(&library, name)).collect::<Result<Vec<_>, _>>()?;
        if self.list {
            return Ok(context.out.write_all(report::text::list(&papers, context.width).as_bytes())?);
        }
        context.interrupt.awaited();
        if self.folder.is_some() {
            library.files().for_each(|path| context.files.reads(&path, "a paper's file"));
        }
        let destination = self.json.open(context)?;
        let open = |folder| Documents::open(folder, &papers, self.json.force(), context);
        let documents = self.write.as_deref().map(open).transpose()?;
        if let Some(path) = &self.from {
            return judged_anew(path, papers, documents, destination, context);
        }
        let studied = self.study.study(papers, &library, context)?;
        let (results, width) = (&studied.results, context.width);
        let produced = ProducedBy::study(&context.command, &library, &names, &studied.used, self.folder.is_none());
        if !results.missing.is_empty() {
            // Dropped unfinished, the documents leave the folder as it was.
            drop(documents);
            let destination = destination.without_file();
            destination.write(context, &produced.of(results), || report::text::render(results, width))?;
            return Err(Failure::Interrupted(report::text::missing(&results.missing)));
        }
        if let Some(documents) = documents {
            documents.write(results, &produced.of(results))?;
        }
        destination.write(context, &produced.of(results), || report::text::render(results, width))?;
        studied.whole()
    }
}

#[cfg(test)]
mod tests;
