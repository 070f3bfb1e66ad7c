// SPDX-License-Identifier: GPL-2.0-only
//! `tandem machine`: what machines there are, what they look like, and a description of this one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tandem_live::bandwidth::{self, Bandwidth, WINDOW, WINDOWS};
use tandem_live::session::ROOT;
use tandem_simulator::machine::detect::{MeasuredMemory, detect_measured};
use tandem_simulator::machine::show::{provenance, show};
use tandem_simulator::machine::{Machine, catalogue};

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output};
use crate::table::descriptions;

/// Columns of a drawing if there is no terminal.
const WIDTH_OF_FILES: usize = 100;

const EXAMPLES: &str = "\
Examples:
  tandem machine list
  tandem machine show hikey960
  tandem machine show ./mine.toml --sources
  tandem machine detect --output this-machine.toml
  tandem machine detect --measure --output this-machine.toml";

/// List, show and detect machines
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MachineCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the bundled machines
    List,
    Show(Show),
    Detect(Detect),
}

/// Draw a machine: packages, clusters, CPUs, clocks, idle states, memory
#[derive(Debug, Args)]
struct Show {
    /// A bundled name or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(value_name = "M")]
    machine: String,

    /// Say where every value comes from
    #[arg(long)]
    sources: bool,
}

/// Describe the machine this runs on, from sysfs, debugfs and /proc
#[derive(Debug, Args)]
struct Detect {
    /// Read this folder as the root of the file system
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,

    /// Write the description to this file instead of standard output (`-`); its stem becomes the machine's name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Measure what the memory of each node can move, instead of assuming it: all CPUs of a node read for a third of a second,
    /// then one of them. Best while nothing else runs
    #[arg(long)]
    measure: bool,

    /// Replace an existing file even if no `tandem machine detect` wrote it
    #[arg(long)]
    force: bool,
}

impl MachineCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        match &self.action {
            Action::List => list(context),
            Action::Show(show) => show.run(context),
            Action::Detect(detect) => detect.run(context),
        }
    }
}

fn list(context: &mut Context<'_>) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for name in catalogue::names() {
        rows.push((name.to_string(), Machine::load(name)?.title));
    }
    Ok(context.out.write_all(descriptions(&rows, context.width).as_bytes())?)
}

impl Show {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let machine = Machine::load(&self.machine)?;
        let mut text = show(&machine, context.width.unwrap_or(WIDTH_OF_FILES));
        if self.sources {
            text.push('\n');
            text += &provenance(&machine);
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(context.out.write_all(text.as_bytes())?)
    }
}

impl Detect {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let memory = if self.measure { self.measured()? } else { BTreeMap::new() };
        let detected = detect_measured(&self.root, &self.name(), &memory);
        let detected = detected.map_err(|error| Failure::System(error.to_string()))?;
        for warning in &detected.warnings {
            context.warn(warning);
        }
        let output = self.output.as_deref().map(|path| Output { path, kind: Kind::Machine, force: self.force });
        context.deliver(output, &detected.toml)
    }

    /// What the nodes of this machine can move.
    fn measured(&self) -> Result<BTreeMap<u32, MeasuredMemory>, Failure> {
        if self.root != Path::new(ROOT) {
            return Err(Failure::Options(
                "--measure loads this machine, and --root names another one's files".to_owned(),
            ));
        }
        let measured = bandwidth::measure(&self.root).map_err(|error| Failure::System(error.to_string()))?;
        Ok(measured.into_iter().map(|(node, bandwidth)| (node, source_of(&bandwidth))).collect())
    }

    fn name(&self) -> String {
        let file = self.output.as_deref().filter(|path| *path != Path::new(DASH));
        let stem = file.and_then(Path::file_stem);
        stem.map_or_else(|| "detected".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }
}

/// What was measured, with how.
fn source_of(bandwidth: &Bandwidth) -> MeasuredMemory {
    let Bandwidth { bytes_per_s, thread_bytes_per_s, threads } = *bandwidth;
    let (window, plural) = (WINDOW.as_millis(), if threads == 1 { "" } else { "s" });
    MeasuredMemory {
        bytes_per_s,
        thread_bytes_per_s,
        source: format!(
            "measured by `tandem machine detect --measure`: {threads} thread{plural} that read, and one alone, the best of \
             {WINDOWS} times {window} ms"
        ),
    }
}
