// SPDX-License-Identifier: GPL-2.0-only
//! What the commands have in common that study experiments: their options, and the way from experiments to results.

use std::rc::Rc;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use tandem_experiments::{
    Book, Environment, ExperimentError, Library, Missing, Paper, PaperResult, Progress, Results, SCHEMA, Shard, Stored,
    Study, Used,
};

use crate::arguments::{BpfOption, Carried};
use crate::context::Context;
use crate::failure::Failure;
use crate::store::StoreOption;

/// The options of the commands that study experiments.
#[derive(Debug, Args)]
pub struct StudyOptions {
    /// Runs of each simulation, each with a seed of its own, instead of what the experiments say
    #[arg(long, value_name = "N", value_parser = RangedI64ValueParser::<u32>::new().range(1..=1000))]
    seeds: Option<u32>,

    /// Simulations at a time; by default as many as there are cores
    #[arg(long, value_name = "N", value_parser = RangedI64ValueParser::<usize>::new().range(1..=1024))]
    jobs: Option<usize>,

    /// Also say how far main results (`headline`) move when a parameter of the files is a fifth smaller or larger
    #[arg(long)]
    sensitivity: bool,

    #[command(flatten)]
    store: StoreOption,

    #[command(flatten)]
    pub bpf: BpfOption,
}

/// What came of it.
pub struct Studied {
    /// The results, those that were finished if Ctrl-C came.
    pub results: Results,
    /// What the runs name.
    pub used: Used,
    /// How many runs a sched_ext scheduler did not see the end of.
    ejected: usize,
}

impl Studied {
    /// The failure that comes with the results if a scheduler went before the end of a run.
    ///
    /// # Errors
    /// [`Failure::Ejected`].
    pub fn whole(&self) -> Result<(), Failure> {
        match self.ejected {
            0 => Ok(()),
            runs => Err(Failure::Ejected(format!("in {runs} runs the scheduler did not stay to the end"))),
        }
    }
}

impl StudyOptions {
    /// The results of all papers; those that were finished, if Ctrl-C stops it.
    pub fn study(&self, papers: Vec<Paper>, library: &Library, context: &Context<'_>) -> Result<Studied, Failure> {
        let book = Rc::new(Book::new(self.jobs)?);
        let studies = papers.into_iter().map(|paper| Study::new(paper, &book, self.seeds));
        let studies = studies.collect::<Result<Vec<_>, _>>()?;
        let store = context.store()?;
        let simulator = Stored::new(context.simulator, store.as_ref(), self.store.fresh);
        let progress = &context.bar().keeping(store.as_ref());
        let environment = Environment { library, schedulers: &Carried, simulator: &simulator, progress };
        let mut results = Results { schema: SCHEMA, papers: Vec::new(), missing: Vec::new() };
        for study in &studies {
            let (paper, missing) = self.of_paper(study, environment)?;
            results.papers.extend(paper);
            results.missing.extend(missing);
        }
        context.tell_store(&simulator);
        Ok(Studied { results, used: book.used(), ejected: book.ejected() })
    }

    /// Runs a share of what a paper's numbers need, and keeps it in the store: how many runs that were, and of how many in all.
    ///
    /// # Errors
    /// There is no store; or as of any study.
    pub fn run_shard(
        &self,
        paper: Paper,
        shard: Shard,
        library: &Library,
        context: &Context<'_>,
    ) -> Result<(usize, usize), Failure> {
        let Some(store) = context.store()? else {
            return Err(Failure::Options(
                "--shard leaves its runs in the store of finished runs, and there is none".to_owned(),
            ));
        };
        let book = Rc::new(Book::new(self.jobs)?.only(shard));
        let study = Study::new(paper, &book, self.seeds)?;
        let simulator = Stored::new(context.simulator, Some(&store), self.store.fresh);
        let progress = &context.bar().keeping(Some(&store));
        let environment = Environment { library, schedulers: &Carried, simulator: &simulator, progress };
        match study.run(environment) {
            Ok(_) => {}
            Err(ExperimentError::Interrupted) if !progress.stopped() => {}
            Err(error) => return Err(error.into()),
        }
        context.tell_store(&simulator);
        Ok(book.shared())
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
