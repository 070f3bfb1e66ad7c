// SPDX-License-Identifier: GPL-2.0-only
//! `tandem report`: runs, comparisons, experiments and waits as one page for a browser.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tandem_report::Page;
use tandem_simulator::Machine;
use tandem_simulator::bounded::{Limit, read_by_head};
use tandem_simulator::trace::is_trace;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output};
use crate::produced::{Input, InputKind};

const EXAMPLES: &str = "\
Examples:
  tandem simulate app.json -m hikey960 --report run.html
  tandem simulate app.json -m hikey960 --json=run.json --trace run.pftrace
  tandem why app.json -m hikey960 --json=why.json
  tandem report run.json run.pftrace why.json -o report.html
  tandem report results/ -o report.html

The page needs no network and no other file: send it, or put it on the web. docs/report.md describes it.";

/// Make one page for a browser of runs, comparisons, experiments and waits
///
/// Inputs are told by what is in them: the JSON that `simulate`, `compare`, `experiment` and `why` print with --json, and the traces
/// that `simulate --trace` writes, which have every slice of a run. A trace and the JSON of the same run become one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportCommand {
    /// Files with JSON of the command or its traces, or folders whose `.json` and `.pftrace` files are such
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,

    /// Write the page to this file; `-` prints it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The page's title, instead of one made of what it shows
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Replace an existing file even if it is no page of this command, or protected against writing
    #[arg(long)]
    force: bool,
}

impl ReportCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let mut page = Page::default();
        if let Some(title) = &self.title {
            page.set_title(title);
        }
        for input in &self.inputs {
            for path in files_of(input)? {
                context.files.reads(&path, "an input of the report");
                add(&mut page, &path)?;
            }
        }
        if page.is_empty() {
            return Err(Failure::Options(
                "there is nothing to show: no input has a run, a comparison or waits".to_owned(),
            ));
        }
        add_machines(&mut page, context);
        let output = Output { path: &self.output, kind: Kind::Page, force: self.force };
        context.deliver(Some(output), &html(&page)?)
    }
}

/// The page's text.
pub fn html(page: &Page) -> Result<String, Failure> {
    page.html().map_err(|no_page| Failure::System(no_page.to_string()))
}

/// The file, or those of a folder that may be inputs, by name.
fn files_of(input: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let refused = |error| mistake(input, &format!("cannot be read: {error}"));
    let entries = fs::read_dir(input).map_err(refused)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(refused)?;
    let is_input = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        path.is_file() && ["json", "pftrace", "perfetto-trace", "perfetto"].contains(&ending)
    };
    paths.retain(is_input);
    paths.sort();
    match paths.is_empty() {
        true => Err(mistake(input, "has no file that ends in .json or .pftrace")),
        false => Ok(paths),
    }
}

fn mistake(path: &Path, what: &str) -> Failure {
    Failure::Options(format!("{}: {what}", path.display()))
}

/// Adds a file, whatever it is.
fn add(page: &mut Page, path: &Path) -> Result<(), Failure> {
    let read = read_by_head(path, |head| if is_trace(head) { Limit::TRACE } else { Limit::REPORT });
    let bytes = read.map_err(|error| mistake(path, &format!("cannot be read: {error}")))?;
    let file = path.display().to_string();
    let added = if is_trace(&bytes) {
        page.add_trace(&file, &bytes)
    } else {
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| mistake(path, "is neither JSON nor a trace of `tandem simulate --trace`"))?;
        page.add_json(&file, &text).map(drop)
    };
    added.map_err(|error| Failure::Options(error.to_string()))
}

/// Adds the machines that inputs are of, as far as their descriptions are still those that were used.
fn add_machines(page: &mut Page, context: &Context<'_>) {
    for (name, described) in page.machines() {
        let Some((spec, sha256)) = described else { continue };
        let input = Input { kind: InputKind::Machine, name: spec.clone(), sha256 };
        if let Some(changed) = input.changed() {
            context.warn(&format!("{changed}; {name} is not drawn"));
        } else if let Ok(machine) = Machine::load(&spec) {
            page.add_machine(&machine);
        }
    }
}
