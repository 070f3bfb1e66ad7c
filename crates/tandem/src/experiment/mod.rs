// SPDX-License-Identifier: GPL-2.0-only
//! `tandem experiment`: an experiment of one's own, in one file. docs/experiments.md is its guide.
//!
//! The experiment is read and run as those of papers are ([`StudyOptions`]); [`sheet`] and [`csv`] show its numbers,
//! [`drawings`] draws them.

mod csv;
mod drawings;
mod sheet;

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use tandem_experiments::{ExperimentResult, NoShard, Paper, PaperResult, ParameterResult, SCHEMA, Shard};

use crate::arguments::QuietOption;
use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::produced::ProducedBy;
use crate::reproduce::{StudyOptions, missing};

use drawings::Drawings;

const EXAMPLES: &str = "\
Examples:
  tandem experiment governors.toml
  tandem experiment governors.toml --seeds 20 --csv > governors.csv
  tandem experiment governors.toml --figures figures
  tandem experiment governors.toml --markdown --figure governors.pdf
  tandem experiment governors.toml --shard 3/64 && tandem experiment governors.toml

The file says what varies (axes), what is simulated (runs) and which numbers are computed (series);
docs/experiments.md has a worked example, docs/reports.md the fields of the JSON.

Ctrl-C prints what is finished (exit status 130). Finished runs are kept: the same command goes on.";

/// Run an experiment that a file describes, and print the numbers that it asks for
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExperimentCommand {
    /// The experiment: a TOML file. Machines and workloads that it names may be files beside it
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    pub study: StudyOptions,

    #[command(flatten)]
    quiet: QuietOption,

    #[command(flatten)]
    json: JsonOption,

    /// Print a row for each number, as CSV, instead of text
    #[arg(long, conflicts_with = "markdown")]
    csv: bool,

    /// Print tables in Markdown instead of text
    #[arg(long)]
    markdown: bool,

    /// Only run this share of the runs, such as `3/64`, and leave them in the store of finished runs: for arrays of batch jobs
    ///
    /// All shares together are all runs. Once they are done, the same command without the option prints the numbers. The store
    /// (TANDEM_STORE) must be a folder that all jobs see, and the program the same file.
    #[arg(long, value_name = "K/N", value_parser = shard, conflicts_with_all = ["csv", "markdown", "figure", "figures", "sensitivity", "json"])]
    shard: Option<Shard>,

    /// Draw the numbers with their intervals, and published ones beside them: all panels on one page, as PDF if the name ends in
    /// `.pdf`, else as SVG
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,

    /// Draw them for a paper: a file for each panel, as SVG and as PDF, named for the experiment and the quantity, in this folder,
    /// which is made if it is not there
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// Reads `3/64`.
fn shard(text: &str) -> Result<Shard, String> {
    text.parse().map_err(|error: NoShard| error.to_string())
}

/// The results for programs; docs/reports.md describes the fields.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Version of this schema.
    schema: u32,
    #[serde(flatten)]
    experiment: &'a ExperimentResult,
    /// Whether the runs had what every system does beside their workload, but for those whose options say otherwise.
    disturbed: bool,
    /// How far the main results move with each parameter; `None` if that was not asked for, or if none is named.
    sensitivity: Option<&'a Vec<ParameterResult>>,
}

impl ExperimentCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        if self.json.is_printed() && (self.csv || self.markdown) {
            return Err(Failure::Options("--json prints, and so do --csv and --markdown".to_owned()));
        }
        let (library, mut paper) = Paper::of_file(&self.file)?;
        paper.experiments.iter_mut().for_each(|experiment| experiment.quiet |= self.quiet.quiet);
        let (name, disturbed) = (paper.name.clone(), paper.experiments.iter().any(|experiment| !experiment.quiet));
        context.interrupt.awaited();
        library.files().for_each(|path| context.files.reads(&path, "a file of the experiment"));
        if let Some(shard) = self.shard {
            let (done, of) = self.study.run_shard(paper, shard, &library, context)?;
            writeln!(context.out, "shard {shard}: {done} of {of} runs are done and kept")?;
            return Ok(());
        }
        let destination = self.json.open(context)?;
        let drawings = Drawings::open(self.figure.as_deref(), self.figures.as_deref(), self.json.force(), context)?;
        let studied = self.study.study(vec![paper], &library, context)?;
        let (results, width) = (&studied.results, context.width);
        let interrupted = !results.missing.is_empty();
        let produced = ProducedBy::study(&context.command, &library, &[&name], &studied.used, false);
        if let Some(result) = results.papers.first() {
            let destination = if interrupted { destination.without_file() } else { destination };
            destination.write(context, &produced.of(&Document::of(result, disturbed)), || {
                self.shown(result, disturbed, width)
            })?;
        }
        if interrupted {
            return Err(Failure::Interrupted(missing(&results.missing)));
        }
        if let Some(result) = results.papers.first() {
            drawings.write(&result.experiments[0])?;
        }
        studied.whole()
    }

    fn shown(&self, result: &PaperResult, disturbed: bool, width: Option<usize>) -> String {
        match (self.csv, self.markdown) {
            (true, _) => csv::render(result),
            (_, true) => sheet::markdown(result, disturbed),
            _ => sheet::text(result, disturbed, width),
        }
    }
}

impl<'a> Document<'a> {
    /// A file has one experiment.
    fn of(result: &'a PaperResult, disturbed: bool) -> Self {
        Self { schema: SCHEMA, experiment: &result.experiments[0], disturbed, sensitivity: result.sensitivity.as_ref() }
    }
}
