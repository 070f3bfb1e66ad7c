// SPDX-License-Identifier: GPL-2.0-only
//! `tandem tune`: finds settings of a scheduler for workloads and machines.
//!
//! The search is [`tandem_experiments`]'; [`parameters`] says what may change, [`text`] shows what was found.

mod parameters;
mod text;

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use schemars::JsonSchema;
use serde::Serialize;
use tandem_experiments::{Goal, Limit, Minimised, Pair, Scenario, Stored, Tuned, Tuning};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Scheduler;
use tandem_simulator::units::Nanos;

use crate::arguments::{
    BpfOption, Choice, QuietOption, Settings, all_settings, choice, duration, reads, settings, tell_own_governors,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::produced::ProducedBy;
use crate::store::StoreOption;
use crate::workload;

use parameters::{Bounds, Parameter, dimensions, parameter};

const EXAMPLES: &str = "\
Examples:
  tandem tune app.json -m hikey960 -s tandem --limit 'time<=1.02'
  tandem tune app.json mix.json -m hikey960 -m pixel6 -s tandem --minimise edp --trials 200
  tandem tune app.json -m rk3399 -s ./scx_simple.bpf.o --parameter slice_us=500..20000

Settings are searched by Latin hypercube sampling, successive halving and pattern search; gains are
ratios to the scheduler as it is, and are confirmed with seeds that the search did not see. A time or
an energy of several workloads and machines is the geometric mean of its ratios. The same command
finds the same; one that was interrupted goes on.";

/// Find settings of a scheduler that save energy or time, and say how sure that is
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Tune {
    /// Workloads: rt-app JSON files, bundled names, or `-` for standard input
    #[arg(value_name = "WORKLOAD", required = true)]
    workloads: Vec<PathBuf>,

    /// Machine: a bundled name or a TOML file; repeat for several
    #[arg(short, long = "machine", value_name = "M", required = true)]
    machines: Vec<String>,

    /// A sched_ext scheduler, `tandem` or an object's path, with a governor if wanted; settings behind it stay as they are
    #[arg(short, long, value_name = "S", value_parser = choice)]
    scheduler: Choice,

    /// What shall be small: time, energy, edp or ed2p
    #[arg(long, value_name = "METRIC", default_value = "energy")]
    minimise: Minimised,

    /// What it may cost, as a ratio to the scheduler as it is: `time<=1.02`; may be repeated
    #[arg(long = "limit", value_name = "METRIC<=FACTOR")]
    limits: Vec<Limit>,

    /// A setting that may change, with its values if these shall be others than its own: NAME, NAME=LOW..HIGH or NAME=A,B,C; repeat
    /// for several. Without it, all settings of policy that the object gives a range, names or yes and no
    #[arg(long = "parameter", value_name = "NAME[=VALUES]", value_parser = parameter)]
    parameters: Vec<Parameter>,

    /// Set kernel parameters (`--set hz=1000`) or settings of the scheduler that shall stay so; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = settings)]
    settings: Vec<Settings>,

    #[command(flatten)]
    quiet: QuietOption,

    /// End each run after this much simulated time; time and energy are then per work
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<Nanos>,

    /// Most settings that are tried
    #[arg(long, value_name = "N", default_value_t = 80,
          value_parser = RangedI64ValueParser::<usize>::new().range(3..=100_000))]
    trials: usize,

    /// Runs of each candidate in the search, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = RangedI64ValueParser::<usize>::new().range(1..=1000))]
    runs: usize,

    /// Runs that confirm what was found, with other seeds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = RangedI64ValueParser::<usize>::new().range(2..=1000))]
    confirm: usize,

    /// Seed of the search and of its first run
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    store: StoreOption,

    #[command(flatten)]
    json: JsonOption,

    #[command(flatten)]
    pub bpf: BpfOption,
}

/// What was found, for programs; docs/reports.md describes the fields.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Version of this schema.
    schema: u32,
    /// The scheduler as it is, with the settings that stay as they are: what is compared with.
    scheduler: String,
    /// The governor, with the settings that are not the default.
    governor: String,
    /// Names of the machines.
    machines: Vec<&'a str>,
    /// Names of the workloads; each ran on each machine.
    workloads: Vec<&'a str>,
    /// What the search was for.
    goal: &'a Goal,
    /// Names of the settings that could change.
    parameters: Vec<&'a str>,
    #[serde(flatten)]
    tuned: &'a Tuned,
}

impl Tune {
    /// The machines, on which the pair can run.
    fn machines(&self, context: &Context<'_>, scenario: &Scenario, pair: &Pair) -> Result<Vec<Machine>, Failure> {
        let machines = self.machines.iter().map(|spec| Machine::load(spec)).collect::<Result<Vec<_>, _>>()?;
        for machine in &machines {
            scenario.check_on(machine, pair, self.seed)?;
            tell_own_governors(context, machine, [&pair.governor]);
        }
        Ok(machines)
    }

    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let mut pair = self.scheduler.pair();
        let Scheduler::SchedExt(object) = &pair.scheduler else {
            return Err(Failure::Options(format!(
                "--scheduler {}: has no settings to search; name a sched_ext one",
                pair.scheduler
            )));
        };
        let settings = all_settings(&self.settings);
        let scenario = self.quiet.unless(Scenario { settings, time_limit: self.duration, ..Scenario::default() });
        scenario.check([&pair.scheduler])?;
        let machines = self.machines(context, &scenario, &pair)?;
        let dimensions = dimensions(object, &scenario, &self.parameters, &Bounds::of(&machines))?;
        pair = pair.on_all(&machines);
        let mut produced = ProducedBy::new(&context.command, self.seed).scenario(&scenario).pairs(&scenario, [&pair]);
        for (spec, machine) in self.machines.iter().zip(&machines) {
            reads(context, spec, None, [&pair.scheduler]);
            produced = produced.machine(spec, machine);
        }
        let mut workloads = Vec::new();
        for path in &self.workloads {
            let (workload, text) = workload::load_with_text(path)?;
            workload.warnings.iter().for_each(|warning| context.warn(warning));
            reads(context, "", Some(path), []);
            produced = produced.workload(path, &text);
            workloads.push(workload);
        }
        let destination = self.json.open(context)?;
        let tuning = Tuning {
            cells: machines
                .iter()
                .flat_map(|machine| workloads.iter().map(move |workload| (machine, workload)))
                .collect(),
            scenario: &scenario,
            pair: &pair,
            dimensions,
            goal: Goal { minimise: self.minimise, limits: self.limits.clone() },
            trials: self.trials,
            runs: self.runs,
            confirming: self.confirm,
            seed: self.seed,
        };
        let store = context.store()?;
        let simulator = Stored::new(context.simulator, store.as_ref(), self.store.fresh);
        let tuned = tuning.run(&simulator, &context.bar().keeping(store.as_ref()))?;
        context.tell_store(&simulator);
        let document = Document {
            schema: tandem_experiments::SCHEMA,
            scheduler: pair.scheduler.to_string(),
            governor: pair.governor.to_string(),
            machines: machines.iter().map(|machine| machine.name.as_str()).collect(),
            workloads: workloads.iter().map(|workload| workload.name.as_str()).collect(),
            goal: &tuning.goal,
            parameters: tuning.dimensions.iter().map(|dimension| dimension.name.as_str()).collect(),
            tuned: &tuned,
        };
        let width = context.width;
        destination.write(context, &produced.of(&document), || text::render(&tuning, &tuned, width))
    }
}
