// SPDX-License-Identifier: GPL-2.0-only
//! `tandem explain`: which of the scheduler's mechanisms can act on a machine and a workload, which cannot, and why.
//!
//! [`trial`]: short simulations, in which the scheduler itself says what it does. [`advice`]: what turning it on is worth.
//! [`auto`]: what `mode=auto` would do. [`reason`]: why, from the machine and the workload. [`command`]: what to try next. [`text`]: all of it for people.

mod advice;
mod auto;
mod command;
mod reason;
mod text;
mod trial;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use tandem_experiments::Scenario;
use tandem_simulator::machine::Machine;
use tandem_simulator::machine::traits::Traits as MachineTraits;
use tandem_simulator::simulation::{Governor, Profile, SchedulerError};
use tandem_simulator::units::{Nanos, seconds};
use tandem_simulator::workload::Workload;
use tandem_simulator::workload::traits::Traits as WorkloadTraits;

use self::advice::Advice;
use self::auto::Auto;
use self::reason::{Place, Reason, Verdict};
use self::trial::{Trial, TrialSetup};
use crate::arguments::{
    BpfOption, QuietOption, Settings, all_settings, duration, governor, object, profile, reads, settings,
    tell_own_governors,
};
use crate::bundled;
use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::mechanism::{Mechanism, counter, mechanisms};
use crate::workload;

/// Version of the JSON schema; grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  tandem explain --machine hikey960
  tandem explain forkjoin --machine hikey960
  tandem explain forkjoin -m hikey960 --governor performance
  tandem explain app.json -m rk3399 --set isolate=dedicated --limit 10s
  tandem explain app.json -m rk3399 --json | jq '.mechanisms[] | {name, verdict}'

Each mechanism is turned on alone, in a short simulation, and what the scheduler itself says of it
is shown. Those that act are then compared with fair, over five seeds. The fields of the JSON are
described in docs/reports.md.";

/// Say which of Tandem's mechanisms can act on a machine and a workload, which cannot, and why
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// Workload: an rt-app JSON file, a bundled name (see `tandem workload list`), or `-` for standard input; without one,
    /// what the machine lets the mechanisms do
    workload: Option<PathBuf>,

    /// Machine: a bundled name (see `tandem machine list`) or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(short, long, value_name = "M")]
    machine: String,

    /// Set kernel parameters (`--set perf_counters=false`) or settings of the scheduler; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = settings)]
    settings: Vec<Settings>,

    #[command(flatten)]
    quiet: QuietOption,

    /// Frequency governor, as in `tandem simulate`
    #[arg(short, long, value_name = "G", default_value = "default", value_parser = governor)]
    governor: Governor,

    /// Simulated time for which each mechanism is tried
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_hyphen_values = true)]
    limit: Nanos,

    /// Do not compare with `fair` what turning on the mechanisms that act is worth
    #[arg(long)]
    no_advice: bool,

    /// Seed of the trials, and the first one of the comparison
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,

    /// Linux version whose rules hold: 6.12, 6.18 or 7.1
    #[arg(long = "kernel", value_name = "VERSION", value_parser = profile)]
    profile: Option<Profile>,

    #[command(flatten)]
    json: JsonOption,

    #[command(flatten)]
    pub bpf: BpfOption,
}

/// What each mechanism can do; docs/reports.md describes the fields.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explanation {
    /// Version of this schema.
    schema: u32,
    /// Name and traits of the machine.
    machine: Named<MachineTraits>,
    /// Name and traits of the workload; `None` if none was given.
    workload: Option<Named<WorkloadTraits>>,
    /// The governor, with the settings that are not the default.
    governor: String,
    /// Simulated seconds of each trial, at most; `None` if no workload was given.
    limit_s: Option<f64>,
    /// Seed of the trials.
    seed: u64,
    /// The results for each mechanism.
    mechanisms: Vec<Explained>,
    /// What `mode=auto` would do on the machine.
    auto: Auto,
    /// A command line that compares the mechanisms which act with `fair`; `None` if none acts.
    compare: Option<String>,
    /// What turning on those that act is worth; `None` if none acts, or if it was not asked for.
    advice: Option<Advice>,
}

/// A machine or a workload: its name, and the traits that mechanisms act on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Named{T}")]
struct Named<T> {
    /// The name.
    name: String,
    #[serde(flatten)]
    traits: T,
}

/// The results for a mechanism.
#[derive(Debug, Serialize, JsonSchema)]
struct Explained {
    /// Name of the mechanism.
    name: &'static str,
    /// The setting that turns the mechanism on.
    setting: String,
    /// What the mechanism can do here.
    verdict: Verdict,
    /// The scheduler's own word for the mechanism's state.
    state: String,
    /// The reason of the verdict.
    why: String,
    /// What it would take to act, or to do more; `None`: nothing.
    needs: Option<String>,
    /// Counters that are not 0.
    counters: Vec<Counted>,
    /// Why the scheduler was ejected in the trial; `None` if it stayed.
    ejected: Option<String>,
}

/// A counter of the scheduler.
#[derive(Debug, Serialize, JsonSchema)]
struct Counted {
    /// The counter's name.
    name: String,
    /// What the scheduler counted.
    count: u64,
    /// What is counted, in words.
    meaning: &'static str,
}

impl Explain {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let machine = Machine::load(&self.machine)?;
        let scheduler = object(bundled::TANDEM.name).map_err(Failure::Options)?;
        let scenario = self.scenario();
        let governor = self.governor.on(&machine).map_err(|error| Failure::Options(error.to_string()))?;
        let mut setup = TrialSetup {
            machine: &machine,
            workload: None,
            scenario: &scenario,
            scheduler: &scheduler,
            governor,
            seed: self.seed,
        };
        setup.check()?;
        tell_own_governors(context, &machine, [&self.governor]);
        let workload = self.workload.as_deref().map(workload::load).transpose()?;
        for warning in workload.iter().flat_map(|workload| &workload.warnings) {
            context.warn(warning);
        }
        reads(context, &self.machine, self.workload.as_deref(), []);
        let destination = self.json.open(context)?;
        setup.workload = workload.as_ref();
        let trials = setup.run(context)?;
        let mut explanation = self.explanation(&setup, trials)?;
        if !self.no_advice {
            // What the workload lets mechanisms do is asked without other noise; what that is worth, beside what every system does.
            let scenario = self.quiet.unless(scenario.clone());
            let setup = TrialSetup { scenario: &scenario, ..setup };
            explanation.advice = advice::measure(&setup, &explanation.acting(), context)?;
        }
        let width = context.width;
        destination.write(context, &explanation, || text::text(&explanation, width))?;
        match explanation.mechanisms.iter().find(|mechanism| mechanism.ejected.is_some()) {
            Some(mechanism) => {
                Err(Failure::Ejected(format!("scheduler tandem,{} did not stay to the end", mechanism.setting)))
            }
            None => Ok(()),
        }
    }

    fn scenario(&self) -> Scenario {
        Scenario {
            settings: all_settings(&self.settings),
            profile: self.profile,
            time_limit: Some(self.limit),
            hotplug: Vec::new(),
        }
    }

    fn explanation(&self, setup: &TrialSetup<'_>, trials: Vec<Trial>) -> Result<Explanation, Failure> {
        let machine = MachineTraits::of(setup.machine);
        let workload = setup.workload.map(WorkloadTraits::of);
        let place = Place {
            machine: &machine,
            workload: workload.as_ref(),
            governor: setup.governor,
            serial_threshold: serial_threshold(setup)?,
        };
        let explain = |(mechanism, trial)| Explained::of(&place, mechanism, trial);
        let mechanisms: Vec<Explained> = mechanisms().iter().zip(trials).map(explain).collect();
        let named = |workload: &Workload| workload.name.clone();
        let workload = setup.workload.map(named).zip(workload).map(|(name, traits)| Named { name, traits });
        Ok(Explanation {
            schema: SCHEMA,
            machine: Named { name: setup.machine.name.clone(), traits: machine },
            limit_s: workload.is_some().then(|| seconds(self.limit)),
            workload,
            governor: setup.governor.to_string(),
            seed: self.seed,
            auto: Auto::of(setup.machine, setup.governor),
            compare: command::compare(self, &mechanisms),
            mechanisms,
            advice: None,
        })
    }
}

impl Explanation {
    /// The mechanisms that act, unless the scheduler was ejected with them.
    fn acting(&self) -> Vec<&'static Mechanism> {
        let acts = |explained: &&Explained| explained.verdict == Verdict::Acts && explained.ejected.is_none();
        let names: Vec<&str> = self.mechanisms.iter().filter(acts).map(|explained| explained.name).collect();
        mechanisms().iter().filter(|mechanism| names.contains(&mechanism.name.as_str())).collect()
    }
}

impl Explained {
    fn of(place: &Place<'_>, mechanism: &'static Mechanism, trial: Trial) -> Self {
        let verdict = Verdict::of(mechanism, &trial, place.workload.is_some());
        let Reason { why, needs } = place.reason(mechanism, &trial, verdict);
        Self {
            name: &mechanism.name,
            verdict,
            why,
            needs,
            counters: trial.counters.iter().map(|(name, count)| Counted::of(name, *count)).collect(),
            setting: trial.on,
            state: trial.state,
            ejected: trial.ejected,
        }
    }
}

impl Counted {
    fn of(name: &str, count: u64) -> Self {
        Self { name: name.to_owned(), count, meaning: counter(name).map_or("", |counter| &counter.meaning) }
    }
}

/// The setting `serial_threshold` of all trials, read from the object as it will be loaded.
fn serial_threshold(setup: &TrialSetup<'_>) -> Result<u32, Failure> {
    const KEY: &str = "serial_threshold";
    let wrong = |why: &dyn Display| Failure::Options(format!("{KEY}: {why}"));
    let chosen = setup.scenario.value_of(KEY).map(|value| (KEY.to_owned(), value.to_owned()));
    let scheduler = setup.scheduler.with_settings(chosen.into_iter().collect()).map_err(|why| wrong(&why))?;
    let listing = scheduler.listing().map_err(|why: SchedulerError| wrong(&why))?;
    let value = listing.variables.into_iter().find(|variable| variable.name == KEY).map(|variable| variable.value);
    value.unwrap_or_default().parse().map_err(|why| wrong(&why))
}
