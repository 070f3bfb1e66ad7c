// SPDX-License-Identifier: GPL-2.0-only
//! One run: what the commands share that simulate once.

use clap::Args;
use tandem_experiments::Simulator;
use tandem_simulator::machine::Machine;
use tandem_simulator::machine::description::Description;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Governor, Options};
use tandem_simulator::workload::Workload;

use crate::arguments::{Choice, ScenarioOptions, choice, governor, reads, tell_own_governors};
use crate::context::Context;
use crate::failure::Failure;
use crate::produced::ProducedBy;
use crate::simulate::watched::{Watch, Watched};
use crate::workload;

/// What one run is asked for by.
#[derive(Debug, Args)]
pub struct OneRunOptions {
    #[command(flatten)]
    pub scenario: ScenarioOptions,

    /// Scheduler (`fair`, `tandem`, `single`, `o1`, or a sched_ext object's path), or scheduler and governor as in `tandem+schedutil`
    #[arg(short, long, value_name = "S", default_value = "fair", value_parser = choice)]
    scheduler: Choice,

    /// Frequency governor: performance, powersave, userspace=CLOCK, ondemand, conservative, schedutil, intel_pstate or
    /// amd-pstate; by default what the machine's own Linux runs with
    ///
    /// Some take settings, as in `userspace=1400MHz`, `ondemand=10ms,up_threshold=80` or `intel_pstate=epp=power`.
    #[arg(short, long, value_name = "G", value_parser = governor)]
    governor: Option<Governor>,

    /// Seed of all random streams: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
}

/// A run that can begin: its inputs have been read and checked.
#[derive(Debug)]
pub struct OneRun {
    pub machine: Machine,
    /// What the machine was read from.
    pub description: Description,
    pub workload: Workload,
    pub options: Options,
    /// What the run is produced by.
    pub produced: ProducedBy,
}

impl OneRunOptions {
    /// Reads and checks the inputs, and warns of what is odd about them.
    pub fn prepare(&self, context: &Context<'_>) -> Result<OneRun, Failure> {
        let pair = self.scheduler.with_governor(self.governor).map_err(|error| Failure::Options(error.to_string()))?;
        let scenario = self.scenario.run.scenario();
        scenario.check([&pair.scheduler])?;
        scenario.options(&pair, self.seed)?;
        let description = Description::load(&self.scenario.machine)?;
        let machine = description.machine()?;
        scenario.check_on(&machine, &pair, self.seed)?;
        let options = scenario.options_on(&machine, &pair, self.seed)?;
        tell_own_governors(context, &machine, [&pair.governor]);
        let pair = pair.on(&machine).map_err(|error| Failure::Options(error.to_string()))?;
        let (workload, text) = workload::load_with_text(&self.scenario.workload)?;
        for warning in &workload.warnings {
            context.warn(warning);
        }
        reads(context, &self.scenario.machine, Some(&self.scenario.workload), [&pair.scheduler]);
        let produced = ProducedBy::new(&context.command, self.seed)
            .scenario(&scenario)
            .machine(&self.scenario.machine, &machine)
            .workload(&self.scenario.workload, &text)
            .pairs(&scenario, [&pair]);
        Ok(OneRun { machine, description, workload, options, produced })
    }
}

impl OneRun {
    /// What is run, for files that shall say so: names and values.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let Options { scheduler, governor, seed, .. } = &self.options;
        let settings: Vec<String> =
            self.produced.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let facts = vec![
            ("version", self.produced.version.clone()),
            ("command", self.produced.command.join(" ")),
            ("machine", self.machine.name.clone()),
            ("workload", self.workload.name.clone()),
            ("scheduler", scheduler.to_string()),
            ("governor", governor.to_string()),
            ("seed", seed.to_string()),
            ("settings", settings.join(",")),
        ];
        let inputs = self.produced.inputs.iter().map(|input| (input.kind.digest_name(), input.sha256.clone()));
        facts.into_iter().chain(inputs).collect()
    }

    /// Simulates, and tells `watch` how far the run has come.
    pub fn observed(
        &self,
        simulator: &dyn Simulator,
        watch: Watch,
        observer: &mut dyn Observer,
    ) -> Result<Report, Failure> {
        let Self { machine, workload, options, .. } = self;
        let mut watched = Watched::new(observer, watch, &workload.name, options.time_limit);
        Ok(simulator.simulate(machine, workload, options, &mut watched)?)
    }
}

/// The error of a run whose scheduler was ejected, if it was.
pub fn ejection(report: &Report) -> Result<(), Failure> {
    match report.sched_ext.as_ref().filter(|scheduler| scheduler.exit.is_some()) {
        Some(scheduler) => Err(Failure::Ejected(format!("scheduler {} did not stay to the end", scheduler.name))),
        None => Ok(()),
    }
}
