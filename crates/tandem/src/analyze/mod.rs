// SPDX-License-Identifier: GPL-2.0-only
//! `tandem analyze`: what the analytical model predicts for applications that share a machine, and what the simulator
//! finds.
//!
//! [`theory`] has the model's results, [`measured`] those of simulations; [`text`] shows both.

mod measured;
mod text;
mod theory;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use schemars::JsonSchema;
use serde::Serialize;
use tandem_simulator::analysis::{Model, ModelError, OneLargeCore};
use tandem_simulator::machine::Machine;
use tandem_simulator::units::Nanos;

use crate::arguments::{Choice, choice, duration, reads};
use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;

use measured::{Measured, Measurement};
use theory::Theory;

/// Version of the JSON schema; grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// Number of cores of the paper's machine.
const CORES: u32 = 8;
/// Speed of the large core of the paper's machine, over a small one's.
const ASYMMETRY: f64 = 2.0;

const EXAMPLES: &str = "\
Examples:
  tandem analyze
  tandem analyze --cpus 16 --asymmetry 1.5 --applications 4
  tandem analyze --machine proliant-dl580:asymmetric
  tandem analyze --machine proliant-dl580:asymmetric --simulate 10s

The model: n cores, one of them faster by the factor a. A serial application has one ready
thread, a parallel one n. A speedup is relative to the application alone. Morad, Kolodny, Weiser:
Task Scheduling Based On Thread Essence and Resource Limitations.";

/// Compute what applications lose by sharing a machine, and how far a serial-first scheduler changes it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Analyze {
    /// Cores of the machine (n, from 2 on; 8 if no machine is given)
    #[arg(long, value_name = "N", conflicts_with = "machine", allow_negative_numbers = true)]
    cpus: Option<u32>,

    /// Speed of the one large core over that of a small one (a, from 1 on; 2 if no machine is given)
    #[arg(long, value_name = "A", conflicts_with = "machine", allow_negative_numbers = true)]
    asymmetry: Option<f64>,

    /// Bounds for so many applications, too (k, from 2 to the number of cores)
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    applications: Option<u32>,

    /// Take cores and speeds from a machine: a bundled name or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(short, long, value_name = "M")]
    machine: Option<String>,

    /// Simulate the states on the machine for so long each, for example `10s`, and show the speedups beside the model's
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "machine", allow_hyphen_values = true)]
    simulate: Option<Nanos>,

    /// Scheduler to simulate, or scheduler and governor; without a governor it is performance, as the model's clocks stand
    /// still
    #[arg(short, long, value_name = "S", default_value = "fair", value_parser = choice, requires = "simulate")]
    scheduler: Choice,

    /// Simulations of each state, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = RangedI64ValueParser::<u32>::new().range(1..=100_000),
          requires = "simulate", allow_negative_numbers = true)]
    runs: u32,

    /// Seed of the first simulation
    #[arg(long, value_name = "FIRST", default_value_t = 0, requires = "simulate", allow_negative_numbers = true)]
    seed: u64,

    #[command(flatten)]
    json: JsonOption,
}

/// All results; the field names are the JSON schema (docs/reports.md).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Analysis {
    /// Version of this schema.
    schema: u32,
    /// Name of the machine, if one was given.
    machine: Option<String>,
    /// CPU number of the machine's large core, if the machine has one.
    large_cpu: Option<u32>,
    #[serde(flatten)]
    theory: Theory,
    /// Results of simulations; `None` if nothing was simulated.
    measured: Option<Measured>,
}

impl Analyze {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let machine = self.machine.as_deref().map(Machine::load).transpose()?;
        let fit = machine.as_ref().map(covered).transpose()?;
        let model = match fit {
            Some(fit) => fit.model,
            None => self.model()?,
        };
        let theory = Theory::of(model, self.applications).map_err(|error| self.mistake(&error))?;
        let scheduler = self.scheduler.pair().scheduler;
        reads(context, self.machine.as_deref().unwrap_or_default(), None, [&scheduler]);
        let destination = self.json.open(context)?;
        let measured = match (self.simulate, &machine, fit) {
            (Some(time), Some(machine), Some(fit)) => Some(self.measurement(machine, fit, time).run(context)?),
            _ => None,
        };
        let large_cpu = fit.and_then(|fit| fit.large).map(|cpu| cpu.0);
        let analysis =
            Analysis { schema: SCHEMA, machine: machine.map(|machine| machine.name), large_cpu, theory, measured };
        let width = context.width;
        let ejected = analysis.measured.as_ref().and_then(|measured| measured.ejected.clone());
        destination.write(context, &analysis, || text::text(&analysis, width))?;
        ejected.map_or(Ok(()), |why| Err(Failure::Ejected(why)))
    }

    /// The model with the numbers that the options give.
    fn model(&self) -> Result<Model, Failure> {
        let (cores, asymmetry) = (self.cpus.unwrap_or(CORES), self.asymmetry.unwrap_or(ASYMMETRY));
        Model::new(cores, asymmetry).map_err(|error| self.mistake(&error))
    }

    /// An error of the model, with the name of the option that caused it.
    fn mistake(&self, error: &ModelError) -> Failure {
        let option = match error {
            ModelError::Cores(_) => "--cpus",
            ModelError::Asymmetry(_) => "--asymmetry",
            ModelError::Applications { .. } => "--applications",
        };
        Failure::Options(format!("{option}: {error}"))
    }

    fn measurement<'m>(&self, machine: &'m Machine, fit: OneLargeCore, time: Nanos) -> Measurement<'m> {
        let seeds = (0..u64::from(self.runs)).map(|run| self.seed.wrapping_add(run)).collect();
        Measurement { machine, fit, scheduler: self.scheduler.clone(), time, seeds }
    }
}

/// The model's parameters for a machine, or why the model does not cover it.
fn covered(machine: &Machine) -> Result<OneLargeCore, Failure> {
    OneLargeCore::of(machine).map_err(|why| {
        Failure::Options(format!(
            "{}: the model does not cover it: {why}\n  help: --cpus N --asymmetry A analyse a machine that it covers",
            machine.name
        ))
    })
}
