// SPDX-License-Identifier: GPL-2.0-only
//! `tandem machine`: what machines there are, what they look like, and a description of this one.

mod draw;
mod matters;
mod new;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use signal_hook::consts::SIGINT;
use tandem_live::bandwidth::{self, Bandwidth, WINDOW, WINDOWS};
use tandem_live::calibrate::{CalibrateError, calibrate};
use tandem_live::changes::{ChangeError, restore_left_behind};
use tandem_live::session::{FOLDER, ROOT};
use tandem_simulator::machine::detect::{Measured, MeasuredMemory, detect_measured};
use tandem_simulator::machine::show::{provenance, show};
use tandem_simulator::machine::{Machine, catalogue};

use crate::calibrate::{remarks, values};
use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output};
use crate::table::descriptions;

use draw::Draw;
use matters::Matters;
use new::New;

/// Columns of a drawing if there is no terminal.
const WIDTH_OF_FILES: usize = 100;

const EXAMPLES: &str = "\
Examples:
  tandem machine list
  tandem machine show hikey960
  tandem machine show ./mine.toml --sources
  tandem machine show ./mine.toml --for periodic --scheduler tandem
  tandem machine new mine --like hikey960 --output mine.toml
  tandem machine detect --output this-machine.toml
  tandem machine detect --measure --output this-machine.toml
  sudo tandem machine detect --calibrate --output this-machine.toml";

/// List, show, begin and detect machines
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
    New(New),
    Detect(Detect),
}

/// Draw a machine: packages, clusters, CPUs, clocks, idle states, memory, watts idle and at full load
#[derive(Debug, Args)]
struct Show {
    /// A bundled name or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(value_name = "M")]
    machine: String,

    /// Say where every value comes from
    #[arg(long)]
    sources: bool,

    #[command(flatten)]
    matters: Matters,
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

    /// Measure for some minutes what this machine has meters for: clocks, SMT, memory, costs of switching and, by RAPL, hwmon or a
    /// battery, watts at each clock and in each idle state. Loads all CPUs, holds clocks and idle states (as root) and gives them
    /// back. Says what it could not measure. Best while nothing else runs
    #[arg(long)]
    calibrate: bool,

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
            Action::New(new) => new.run(context),
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
        machine.odd_nodes().into_iter().for_each(|warning| context.warn(&warning));
        let width = context.width.unwrap_or(WIDTH_OF_FILES);
        let mut text = show(&machine, width);
        text.push('\n');
        text += &Draw::of(&machine, context.simulator)?.text(width);
        if self.sources {
            text.push('\n');
            text += &provenance(&machine);
        }
        text += &self.matters.text(context, &self.machine)?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(context.out.write_all(text.as_bytes())?)
    }
}

impl Detect {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        if (self.measure || self.calibrate) && self.root != Path::new(ROOT) {
            let option = if self.calibrate { "--calibrate" } else { "--measure" };
            let why = format!("{option} loads this machine, and --root names another one's files");
            return Err(Failure::Options(why));
        }
        let file = self.output.as_deref().filter(|path| *path != Path::new(DASH));
        let output = file.map(|path| Output { path, kind: Kind::Machine, force: self.force });
        // Whoever measures for minutes wants to know before whether the file can be written.
        let staged = output.map(|output| context.files.create(output)).transpose()?;
        let mut measured = if self.calibrate { self.calibrated(context)? } else { Measured::default() };
        if self.measure || self.calibrate {
            measured.memory = match self.bandwidths() {
                // The minutes before were not in vain.
                Err(why) if self.calibrate => {
                    context.warn(&format!("not measured: bandwidth of memory: {why}"));
                    BTreeMap::new()
                }
                bandwidths => bandwidths?,
            };
        }
        if context.interrupt.has_arrived() {
            return Err(stopped(context, "nothing was written"));
        }
        let detected = detect_measured(&self.root, &self.name(), &measured);
        let detected = detected.map_err(|error| Failure::System(error.to_string()))?;
        for warning in &detected.warnings {
            context.warn(warning);
        }
        match staged {
            Some(mut staged) => {
                staged.write_bytes(detected.toml.as_bytes())?;
                staged.finish()
            }
            None => context.deliver(None, &detected.toml),
        }
    }

    /// What the nodes of this machine can move.
    fn bandwidths(&self) -> Result<BTreeMap<u32, MeasuredMemory>, Failure> {
        let measured = bandwidth::measure(&self.root).map_err(|error| Failure::System(error.to_string()))?;
        Ok(measured.into_iter().map(|(node, bandwidth)| (node, source_of(&bandwidth))).collect())
    }

    /// What else can be measured; what could not is said.
    fn calibrated(&self, context: &mut Context<'_>) -> Result<Measured, Failure> {
        let folder = Path::new(FOLDER);
        // What a killed process holds would be measured.
        match restore_left_behind(Path::new(ROOT), folder) {
            Ok(found) => found.unread.iter().for_each(|why| context.warn(&why.to_string())),
            Err(ChangeError::Journal { why, .. }) if why.kind() == ErrorKind::PermissionDenied => {
                context.warn("only root may give back what a killed Tandem has left changed, if there is anything");
            }
            Err(why) => context.warn(&why.to_string()),
        }
        context.interrupt.all_awaited();
        let interrupt = context.interrupt.clone();
        let found = calibrate(&self.root, folder, &|| interrupt.has_arrived()).map_err(|error| match error {
            CalibrateError::Stopped { .. } => stopped(context, &format!("{error}; nothing was written")),
            CalibrateError::Read(_) => Failure::System(error.to_string()),
        })?;
        for remark in remarks(&found) {
            context.warn(&remark);
        }
        Ok(values(&found))
    }

    fn name(&self) -> String {
        let file = self.output.as_deref().filter(|path| *path != Path::new(DASH));
        let stem = file.and_then(Path::file_stem);
        stem.map_or_else(|| "detected".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }
}

/// Why there is no description, after a signal. The status of others than Ctrl-C is theirs, as of a program that they end.
fn stopped(context: &Context<'_>, why: &str) -> Failure {
    match context.interrupt.signal().filter(|signal| *signal != SIGINT) {
        Some(signal) => {
            context.warn(&format!("ended by a signal: {why}"));
            Failure::Status(128 + signal as u8)
        }
        None => Failure::Interrupted(why.to_owned()),
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
