// SPDX-License-Identifier: GPL-2.0-only
//! `tandem why`: the longest waits of a run, and what was to blame.
//!
//! The simulator finds out ([`tandem_simulator::why`]); [`text`] tells it to people.

mod text;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use schemars::JsonSchema;
use serde::Serialize;
use tandem_simulator::input::valid_names;
use tandem_simulator::metrics::Report;
use tandem_simulator::why::{Recorder, Report as Waits};
use tandem_simulator::workload::Workload;

use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::one_run::{OneRunOptions, ejection};

/// Version of the JSON schema; it grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  tandem why app.json --machine hikey960
  tandem why app.json -m hikey960 -s ./scx_simple.bpf.o --worst 10
  tandem why app.json -m rk3399 -s tandem --task render
  tandem why app.json -m rk3399 --json | jq '.waits[] | {task, cause, waited_s}'

A wait for a CPU is from runnable to the first instruction. docs/why.md says what each cause means and
where its limits are; the fields of the JSON are described in docs/reports.md.";

/// Say why threads waited: the longest waits and misses of a run, each with its cause
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Why {
    #[command(flatten)]
    pub run: OneRunOptions,

    /// Only waits of this thread, or of all threads of this task of the workload
    #[arg(long, value_name = "T")]
    task: Option<String>,

    /// How many waits for a CPU, waits for a mutex and late rounds are told
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = RangedI64ValueParser::<u32>::new().range(1..=10_000),
        allow_negative_numbers = true
    )]
    worst: u32,

    #[command(flatten)]
    json: JsonOption,
}

/// The longest waits of a run, with their causes; docs/reports.md describes the fields.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'r> {
    /// Version of this schema.
    schema: u32,
    /// The workload's name.
    workload: &'r str,
    /// The machine's name, with its configuration.
    machine: &'r str,
    /// The scheduler, with the settings behind its name.
    scheduler: &'r str,
    /// The governor, with the settings that are not the default.
    governor: &'r str,
    /// Seed of all random streams.
    seed: u64,
    /// Whether the run had what every system does beside its workload.
    disturbed: bool,
    /// Simulated seconds of the run.
    time_s: f64,
    /// Why the loaded scheduler was ejected; `None` if it stayed, or if none was loaded.
    ejected: Option<String>,
    /// Warnings of the run.
    warnings: &'r [String],
    #[serde(flatten)]
    why: &'r Waits,
}

impl Why {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let run = self.run.prepare(context)?;
        if let Some(task) = &self.task {
            check_task(task, &run.workload)?;
        }
        let destination = self.json.open(context)?;
        let mut recorder = Recorder::new(&run.machine, &run.workload, self.worst as usize);
        if let Some(task) = &self.task {
            recorder = recorder.only(task);
        }
        let report = run.observed(context.simulator, context.watch(), &mut recorder)?;
        let why = recorder.finish(report.time_s);
        let document = Document::new(&report, run.options.kernel.disturbances, &why);
        let width = context.width;
        destination.write(context, &document, || text::render(&document, width))?;
        ejection(&report)
    }
}

impl<'r> Document<'r> {
    fn new(report: &'r Report, disturbed: bool, why: &'r Waits) -> Self {
        let exit = report.sched_ext.as_ref().and_then(|scheduler| scheduler.exit.as_ref());
        Self {
            schema: SCHEMA,
            workload: &report.workload,
            machine: &report.machine,
            scheduler: &report.scheduler,
            governor: &report.governor,
            seed: report.seed,
            disturbed,
            time_s: report.time_s,
            ejected: exit.map(|exit| format!("{}: {}", exit.reason, exit.message)),
            warnings: &report.warnings,
            why,
        }
    }
}

/// Whether the workload has a task, or a thread of a task, of this name.
fn check_task(name: &str, workload: &Workload) -> Result<(), Failure> {
    let numbered = |kind: &str| {
        let number = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if workload.tasks.iter().any(|kind| kind.name == name || numbered(&kind.name)) {
        return Ok(());
    }
    let names: Vec<&str> = workload.tasks.iter().map(|kind| kind.name.as_str()).collect();
    let valid = valid_names(name, &names);
    Err(Failure::Options(format!("--task: the workload {} has no task `{name}`; {valid}", workload.name)))
}
