// SPDX-License-Identifier: GPL-2.0-only
//! `tandem reproduce`: the experiments of papers, each published number beside ours.
//!
//! The experiments are [`tandem_experiments`]'; [`library`] has the papers that the command carries, [`report`] and
//! [`figures`] show results.

mod figures;
mod library;
mod report;

use std::path::PathBuf;
use std::rc::Rc;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use tandem_experiments::{
    Book, Environment, ExperimentError, Library, Missing, Paper, PaperResult, Results, SCHEMA, Stored, Study,
};

use crate::arguments::Carried;
use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::store::StoreOption;

use report::documents::Documents;

const EXAMPLES: &str = "\
Examples:
  tandem reproduce
  tandem reproduce memory --seeds 20
  tandem reproduce --sensitivity --write docs
  tandem reproduce --papers ./papers --list

A number of ours agrees with the published one within 10 %, or within 2 percentage points, on the
same side of \"no effect\" or of another cell; it has the same direction if it is farther off on that
side and its interval excludes no effect, which that of one seed never does; else it differs.
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

    /// Runs of each simulation, each with a seed of its own, instead of what the experiments say
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    seeds: Option<u32>,

    /// Simulations at a time; by default as many as there are cores
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    jobs: Option<usize>,

    #[command(flatten)]
    store: StoreOption,

    #[command(flatten)]
    json: JsonOption,

    /// Also say how far each paper's main results move when a parameter of its machines is a fifth smaller or larger
    #[arg(long)]
    sensitivity: bool,

    /// Write results.md, results.json and a results-PAPER.svg for each paper into this folder
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Say what papers and experiments there are, and run nothing
    #[arg(long, conflicts_with_all = ["seeds", "jobs", "fresh", "json", "sensitivity", "write"])]
    list: bool,
}

impl Reproduce {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let library = match &self.folder {
            Some(folder) => Library::of_folder(folder)?,
            None => library::bundled(),
        };
        let names = library.names(&self.papers)?;
        let papers = names.into_iter().map(|name| Paper::read(&library, name)).collect::<Result<Vec<_>, _>>()?;
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
        let book = Rc::new(Book::new(self.jobs)?);
        let results = self.reproduce(papers, &library, &book, context)?;
        let width = context.width;
        if !results.missing.is_empty() {
            // Dropped unfinished, the documents leave the folder as it was.
            drop(documents);
            let destination = destination.without_file();
            destination.write(context, &results, || report::text::render(&results, width))?;
            return Err(Failure::Interrupted(report::text::missing(&results.missing)));
        }
        if let Some(documents) = documents {
            documents.write(&results)?;
        }
        destination.write(context, &results, || report::text::render(&results, width))?;
        match book.ejected() {
            0 => Ok(()),
            runs => Err(Failure::Ejected(format!("in {runs} runs the scheduler did not stay to the end"))),
        }
    }

    /// The results of all papers; those that were finished, if Ctrl-C stops it.
    fn reproduce(
        &self,
        papers: Vec<Paper>,
        library: &Library,
        book: &Rc<Book>,
        context: &Context<'_>,
    ) -> Result<Results, Failure> {
        let studies = papers.into_iter().map(|paper| Study::new(paper, book, self.seeds));
        let studies = studies.collect::<Result<Vec<_>, _>>()?;
        let store = context.store()?;
        let simulator = Stored::new(context.simulator, store.as_ref(), self.store.fresh);
        let progress = &context.bar();
        let environment = Environment { library, schedulers: &Carried, simulator: &simulator, progress };
        let mut results = Results { schema: SCHEMA, papers: Vec::new(), missing: Vec::new() };
        for study in &studies {
            let (paper, missing) = self.of_paper(study, environment)?;
            results.papers.extend(paper);
            results.missing.extend(missing);
        }
        context.tell_found(simulator.found());
        Ok(results)
    }

    /// The results of a paper, and what Ctrl-C has left out of them.
    fn of_paper(
        &self,
        study: &Study,
        environment: Environment<'_>,
    ) -> Result<(Option<PaperResult>, Option<Missing>), Failure> {
        let sensitivity = self.sensitivity && !study.paper().parameters.is_empty();
        let missing = |numbers| {
            let (paper, of) = (study.paper().name.clone(), study.simulated());
            Missing { paper, numbers, of, sensitivity }
        };
        if environment.progress.stopped() {
            return Ok((None, Some(missing(study.simulated()))));
        }
        let mut paper = match study.run(environment) {
            Ok(paper) => paper,
            Err(ExperimentError::Interrupted) => {
                let (paper, numbers) = study.finished()?;
                // What is not simulated is there in any case, and worth nothing alone.
                return Ok((Some(paper).filter(|_| numbers < study.simulated()), Some(missing(numbers))));
            }
            Err(error) => return Err(error.into()),
        };
        if sensitivity {
            match study.sensitivity(environment) {
                Ok(rows) => paper.sensitivity = Some(rows),
                Err(ExperimentError::Interrupted) => return Ok((Some(paper), Some(missing(0)))),
                Err(error) => return Err(error.into()),
            }
        }
        Ok((Some(paper), None))
    }
}

#[cfg(test)]
mod tests;
