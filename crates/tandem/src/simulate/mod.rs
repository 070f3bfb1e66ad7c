// SPDX-License-Identifier: GPL-2.0-only
//! `tandem simulate`: one run.

mod late;
mod scheduler;
mod summary;
mod watched;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use tandem_experiments::Simulator;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{NoObserver, Observer};
use tandem_simulator::simulation::{Governor, Options};
use tandem_simulator::trace::TraceWriter;
use tandem_simulator::workload::Workload;

use crate::arguments::{Choice, Pair, ScenarioOptions, choice, governor, reads, warn_of_powersave};
use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output};
use crate::json::JsonOption;
use crate::workload;

use watched::Watched;

const EXAMPLES: &str = "\
Examples:
  tandem simulate app.json --machine hikey960
  tandem simulate app.json --machine hikey960 --scheduler fair+powersave --seed 7
  tandem simulate app.json -m ./mine.toml --set hz=1000 --duration 10s --trace run.perfetto
  tandem simulate app.json -m rk3399 --json | jq .energy_j.total
  tandem simulate app.json -m rk3399 -s ./scx_simple.bpf.o,fifo_sched=true
  tandem simulate app.json -m rk3399 -s tandem --set serial_first=true,sorted=true

The fields of the JSON are described in docs/reports.md. A sched_ext scheduler that errs is
ejected; the run goes on under fair, its report says so, and the exit status is 4.";

/// Simulate a workload once and say what it took
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Simulate {
    #[command(flatten)]
    scenario: ScenarioOptions,

    /// Scheduler (`fair`, `tandem`, `o1`, or a sched_ext object's path), or scheduler and governor as in `tandem+schedutil`
    #[arg(short, long, value_name = "S", default_value = "fair", value_parser = choice)]
    scheduler: Choice,

    /// Frequency governor: performance, powersave, userspace=CLOCK, ondemand, conservative or schedutil (the default)
    ///
    /// Some take settings, as in `userspace=1400MHz` or `ondemand=10ms,up_threshold=80`.
    #[arg(short, long, value_name = "G", value_parser = governor)]
    governor: Option<Governor>,

    /// Seed of all random streams: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,

    #[command(flatten)]
    json: JsonOption,

    /// Leave out of the report what differs from run to run (`wall_s`)
    #[arg(long)]
    reproducible: bool,

    /// Write the schedule as a Perfetto trace (open it at ui.perfetto.dev); `-` prints it instead of the text
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl Simulate {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        self.check_outputs()?;
        let pair = self.pair()?;
        let scenario = self.scenario.scenario();
        scenario.check([&pair.scheduler])?;
        let options = scenario.options(&pair, self.seed)?;
        let machine = Machine::load(&self.scenario.machine)?;
        scenario.check_on(&machine, &pair, self.seed)?;
        warn_of_powersave(context, &machine, [&pair.governor]);
        let workload = workload::load(&self.scenario.workload)?;
        for warning in &workload.warnings {
            context.warn(warning);
        }
        reads(context, &self.scenario.machine, Some(&self.scenario.workload), [&pair.scheduler]);
        let destination = self.json.open(context)?;
        let start = Instant::now();
        let mut report = self.simulate(context, &machine, &workload, &options)?;
        report.wall_s = (!self.reproducible).then(|| start.elapsed().as_secs_f64());
        let width = context.width;
        let text = || if self.prints_trace() { String::new() } else { summary::summary(&report, width) };
        destination.write(context, &report, text)?;
        match report.sched_ext.as_ref().filter(|scheduler| scheduler.exit.is_some()) {
            Some(scheduler) => Err(Failure::Ejected(format!("scheduler {} did not stay to the end", scheduler.name))),
            None => Ok(()),
        }
    }

    /// Whether the trace is what goes to standard output.
    fn prints_trace(&self) -> bool {
        self.trace.as_deref() == Some(Path::new(DASH))
    }

    /// Whether the outputs differ, as far as their names tell.
    fn check_outputs(&self) -> Result<(), Failure> {
        if self.prints_trace() && self.json.is_printed() {
            return Err(Failure::Options("--json and --trace both print on standard output".to_owned()));
        }
        if self.trace.is_some() && self.json.file() == self.trace.as_deref() {
            return Err(Failure::Options("--json and --trace name the same file".to_owned()));
        }
        Ok(())
    }

    fn pair(&self) -> Result<Pair, Failure> {
        self.scheduler.with_governor(self.governor).map_err(|error| Failure::Options(error.to_string()))
    }

    fn simulate(
        &self,
        context: &mut Context<'_>,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
    ) -> Result<Report, Failure> {
        let (simulator, bar) = (context.simulator, context.spinner());
        let Some(path) = &self.trace else {
            return observed(simulator, bar, machine, workload, options, &mut NoObserver);
        };
        if self.prints_trace() {
            let (_, report) = traced(&mut *context.out, simulator, bar, machine, workload, options)?;
            return Ok(report);
        }
        let file = context.files.create(Output { path, kind: Kind::Trace, force: self.json.force() })?;
        let (file, report) = traced(file, simulator, bar, machine, workload, options).map_err(|error| match error {
            Failure::Output(error) => Failure::writing(path, error),
            error => error,
        })?;
        file.finish()?;
        Ok(report)
    }
}

/// Simulates, and shows on `bar`, if there is one, how far the run has come.
fn observed(
    simulator: &dyn Simulator,
    bar: Option<ProgressBar>,
    machine: &Machine,
    workload: &Workload,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, Failure> {
    Ok(match bar {
        None => simulator.simulate(machine, workload, options, observer)?,
        Some(bar) => {
            let mut watched = Watched::new(observer, bar, &workload.name, options.time_limit);
            simulator.simulate(machine, workload, options, &mut watched)?
        }
    })
}

/// Simulates while the trace is written to `output`, and gives both back.
fn traced<W: Write>(
    output: W,
    simulator: &dyn Simulator,
    bar: Option<ProgressBar>,
    machine: &Machine,
    workload: &Workload,
    options: &Options,
) -> Result<(W, Report), Failure> {
    let mut trace = TraceWriter::new(output, machine, &workload.applications);
    let report = observed(simulator, bar, machine, workload, options, &mut trace)?;
    Ok((trace.finish()?, report))
}
