// SPDX-License-Identifier: GPL-2.0-only
//! `tandem simulate`: one run.

mod late;
mod page;
mod scheduler;
mod summary;
pub mod watched;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use tandem_experiments::Simulator;
use tandem_report::timeline::Recorder;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Bpf, Options, Scheduler};
use tandem_simulator::trace::TraceWriter;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output};
use crate::json::JsonOption;
use crate::one_run::{OneRun, OneRunOptions, ejection};
use crate::produced::Rests;

use page::{Both, PageFile};
use watched::Watch;

const EXAMPLES: &str = "\
Examples:
  tandem simulate app.json --machine hikey960
  tandem simulate app.json --machine hikey960 --scheduler fair+powersave --seed 7
  tandem simulate app.json -m ./mine.toml --set hz=1000 --duration 10s --trace run.perfetto
  tandem simulate app.json -m rk3399 --json | jq .energy_j.total
  tandem simulate app.json -m rk3399 --report run.html
  tandem simulate app.json -m rk3399 -s ./scx_simple.bpf.o,fifo_sched=true
  tandem simulate app.json -m rk3399 -s tandem --set serial_first=true,sorted=true

The fields of the JSON are described in docs/reports.md. A sched_ext scheduler that errs is
ejected; the run goes on under fair, its report says so, and the exit status is 4.";

/// Has the programs of the scheduler counted line by line; an error where there are none.
fn profile(options: &mut Options) -> Result<(), Failure> {
    if options.scheduler == Scheduler::Fair {
        let why = "--profile-bpf is for a sched_ext scheduler, as in `-s tandem`: `fair` is the kernel's own and has no programs";
        return Err(Failure::Options(why.to_owned()));
    }
    options.bpf = Bpf::Profiled;
    Ok(())
}

/// Simulate a workload once and say what it took
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Simulate {
    #[command(flatten)]
    pub run: OneRunOptions,

    #[command(flatten)]
    json: JsonOption,

    /// Leave out of the report what differs from run to run (`wall_s`)
    #[arg(long)]
    reproducible: bool,

    /// Say which functions and source lines of a sched_ext scheduler its instructions were executed of; its programs are
    /// interpreted then
    #[arg(long, conflicts_with = "bpf")]
    profile_bpf: bool,

    /// Write the schedule as a Perfetto trace (open it at ui.perfetto.dev); `-` prints it instead of the text
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Write the run as a page for a browser: who ran where, clocks, power, energy, latencies (see `tandem report`); `-` prints it
    /// instead of the text
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Simulate {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        self.check_outputs()?;
        let mut run = self.run.prepare(context)?;
        if self.profile_bpf {
            profile(&mut run.options)?;
        }
        let destination = self.json.open(context)?;
        let mut page =
            self.report.as_deref().map(|path| PageFile::create(context, path, &run, self.json.force())).transpose()?;
        let start = Instant::now();
        let mut report = self.simulate(context, &run, page.as_mut().map(|page| &mut page.recorder))?;
        report.wall_s = (!self.reproducible).then(|| start.elapsed().as_secs_f64());
        let rests = [Rests::of(&run.machine.name, &run.description, std::iter::once(&report))?];
        run.produced.resting_on(&rests);
        let width = context.width;
        let disturbed = run.options.kernel.disturbances;
        let text = || match self.prints_trace() || self.prints_page() {
            true => String::new(),
            false => summary::summary(&report, disturbed, &rests, width),
        };
        let produced = run.produced.of(&report);
        if let Some(page) = page {
            page.finish(&run, &report, &produced, context.out)?;
        }
        destination.write(context, &produced, text)?;
        ejection(&report)
    }

    /// Whether the trace is what goes to standard output.
    fn prints_trace(&self) -> bool {
        self.trace.as_deref() == Some(Path::new(DASH))
    }

    /// Whether the page is what goes to standard output.
    fn prints_page(&self) -> bool {
        self.report.as_deref() == Some(Path::new(DASH))
    }

    /// Whether the outputs differ, as far as their names tell.
    fn check_outputs(&self) -> Result<(), Failure> {
        let printed =
            [("--json", self.json.is_printed()), ("--trace", self.prints_trace()), ("--report", self.prints_page())];
        let printed: Vec<&str> = printed.iter().filter(|(_, prints)| *prints).map(|(option, _)| *option).collect();
        if let [one, other, ..] = printed[..] {
            return Err(Failure::Options(format!("{one} and {other} both print on standard output")));
        }
        if self.trace.is_some() && self.json.file() == self.trace.as_deref() {
            return Err(Failure::Options("--json and --trace name the same file".to_owned()));
        }
        Ok(())
    }

    fn simulate(
        &self,
        context: &mut Context<'_>,
        run: &OneRun,
        recorder: Option<&mut Recorder>,
    ) -> Result<Report, Failure> {
        let (simulator, watch) = (context.simulator, context.watch());
        let Some(path) = &self.trace else {
            return match recorder {
                Some(recorder) => run.observed(simulator, watch, recorder),
                None => run.observed(simulator, watch, &mut NoObserver),
            };
        };
        if self.prints_trace() {
            let (_, report) = traced(&mut *context.out, simulator, watch, run, recorder)?;
            return Ok(report);
        }
        let file = context.files.create(Output { path, kind: Kind::Trace, force: self.json.force() })?;
        let (file, report) = traced(file, simulator, watch, run, recorder).map_err(|error| match error {
            Failure::Output(error) => Failure::writing(path, error),
            error => error,
        })?;
        file.finish()?;
        Ok(report)
    }
}

/// Simulates while the trace is written to `output`, and gives both back.
fn traced<W: Write>(
    output: W,
    simulator: &dyn Simulator,
    watch: Watch,
    run: &OneRun,
    recorder: Option<&mut Recorder>,
) -> Result<(W, Report), Failure> {
    let trace = TraceWriter::new(output, &run.machine, &run.workload.applications);
    let mut trace = trace.naming(&run.workload).about(&run.facts());
    let report = match recorder {
        Some(recorder) => run.observed(simulator, watch, &mut Both(&mut trace, recorder))?,
        None => run.observed(simulator, watch, &mut trace)?,
    };
    Ok((trace.finish()?, report))
}
