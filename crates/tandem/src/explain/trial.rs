// SPDX-License-Identifier: GPL-2.0-only
//! Trials: short simulations of each mechanism alone, to see what the scheduler itself says of it.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use tandem_experiments::{Scenario, ScenarioError};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, SchedExtReport};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, SchedExt, Scheduler};
use tandem_simulator::units::{MSEC, Nanos};
use tandem_simulator::workload::Workload;

use crate::arguments::Pair;
use crate::context::Context;
use crate::failure::Failure;
use crate::mechanism::{Mechanism, mechanisms, parts, state_of};

/// The workload that shows a mechanism's state if no other workload does: an application of two threads beside a system
/// task. It runs for longer than performance counters need for their first values.
const PROBE: &str = r#"{
    "tasks": {
        "probe": { "instance": 2, "loop": 1, "run": 30000, "tandem": { "application": "probe" } },
        "noise": { "loop": -1, "run": 100, "sleep": 1000, "tandem": { "system": true } }
    }
}"#;
/// Simulated time of the probe.
const PROBE_TIME: Nanos = 50 * MSEC;

/// Where and how each mechanism is tried.
pub struct TrialSetup<'a> {
    pub machine: &'a Machine,
    /// The workload; `None` if only states are asked for.
    pub workload: Option<&'a Workload>,
    pub scenario: &'a Scenario,
    /// The scheduler, without settings of its own.
    pub scheduler: &'a SchedExt,
    pub governor: Governor,
    pub seed: u64,
}

/// Results of a mechanism's trial.
#[derive(Debug, Default)]
pub struct Trial {
    /// The setting that turned the mechanism on.
    pub on: String,
    /// The mechanism's state on this machine, whatever the workload.
    pub state: String,
    /// Parts of the mechanism that are inert on this machine while the mechanism is not, and their states.
    pub inert_parts: Vec<(String, String)>,
    /// The mechanism's counters that are not 0, in the object's order.
    pub counters: Vec<(String, u64)>,
    /// Why the scheduler was ejected, if it was.
    pub ejected: Option<String>,
}

impl TrialSetup<'_> {
    /// Whether the scheduler accepts the settings with each mechanism, before anything is run.
    pub fn check(&self) -> Result<(), Failure> {
        for mechanism in mechanisms() {
            let pair = self.pair(mechanism);
            self.scenario.check([&pair.scheduler])?;
            self.scenario.check_on(self.machine, &pair, self.seed)?;
        }
        Ok(())
    }

    /// Tries all mechanisms, in parallel.
    pub fn run(&self, context: &Context<'_>) -> Result<Vec<Trial>, Failure> {
        let probe = Workload::parse(Path::new("probe.json"), PROBE)?;
        let simulator = context.simulator;
        let simulate = |workload: &Workload, options: &Options| {
            simulator.simulate(self.machine, workload, options, &mut NoObserver)
        };
        let jobs: Vec<(&Mechanism, Options)> = mechanisms()
            .iter()
            .map(|mechanism| Ok((mechanism, self.scenario.options(&self.pair(mechanism), self.seed)?)))
            .collect::<Result<_, ScenarioError>>()?;
        let trials = jobs.par_iter().map(|(mechanism, options)| {
            let on = self.on(mechanism);
            let tried = self.workload.map(|workload| simulate(workload, options)).transpose()?;
            let mut trial = tried.map_or_else(Trial::default, |report| Trial::of(mechanism, report));
            trial.on = on;
            // The machine makes a mechanism inert, and a workload may be too short to show that.
            if (trial.state != ACTIVE || !trial.inert_parts.is_empty()) && trial.ejected.is_none() {
                let options = Options { time_limit: Some(PROBE_TIME), ..options.clone() };
                let probed = Trial::of(mechanism, simulate(&probe, &options)?);
                (trial.state, trial.inert_parts) = (probed.state, probed.inert_parts);
            }
            Ok(trial)
        });
        trials.collect::<Vec<Result<_, Failure>>>().into_iter().collect()
    }

    /// The scheduler with one mechanism and the user's settings.
    fn pair(&self, mechanism: &Mechanism) -> Pair {
        self.pair_of(&[mechanism])
    }

    /// The scheduler with these mechanisms and the user's settings.
    pub fn pair_of(&self, mechanisms: &[&Mechanism]) -> Pair {
        let mut scheduler = self.scheduler.clone();
        let own = mechanisms.iter().filter(|mechanism| self.users_isolation(mechanism).is_none());
        scheduler.settings.extend(own.map(|mechanism| (mechanism.name.clone(), mechanism.value.clone())));
        if !mechanisms.is_empty() {
            scheduler.name = format!("{},{}", scheduler.name, self.settings_of(mechanisms));
        }
        Pair::new(Scheduler::SchedExt(Arc::new(scheduler)), self.governor)
    }

    /// The settings that turn these mechanisms on, as on a command line.
    pub fn settings_of(&self, mechanisms: &[&Mechanism]) -> String {
        mechanisms.iter().map(|mechanism| self.on(mechanism)).collect::<Vec<_>>().join(",")
    }

    /// Linux's own scheduler.
    pub fn fair(&self) -> Pair {
        Pair::new(Scheduler::Fair, self.governor)
    }

    /// The setting that turns a mechanism on; for isolation the user's kind, if the user named one.
    fn on(&self, mechanism: &Mechanism) -> String {
        match self.users_isolation(mechanism) {
            Some(kind) => format!("{}={kind}", mechanism.name),
            None => mechanism.on(),
        }
    }

    fn users_isolation(&self, mechanism: &Mechanism) -> Option<&str> {
        let kind = self.scenario.value_of(&mechanism.name).filter(|_| mechanism.name == "isolate")?;
        let off = ["0", "off", "tandem_isolate_off"].iter().any(|off| kind.eq_ignore_ascii_case(off));
        (!off).then_some(kind)
    }
}

/// The state of a mechanism that is on and not inert.
pub const ACTIVE: &str = "active";
/// The state of what is not on.
const OFF: &str = "off";

impl Trial {
    /// The trial's results for a mechanism, from a report.
    fn of(mechanism: &Mechanism, report: Report) -> Self {
        let Some(SchedExtReport { states, statistics, exit, .. }) = report.sched_ext else { return Self::default() };
        let variable = mechanism.state();
        let state = states.iter().find(|(name, _)| *name == variable).map(|(_, state)| state.clone());
        let inert = |part: &String| {
            let (_, state) = states.iter().find(|(name, _)| *name == state_of(part))?;
            (state != ACTIVE && state != OFF).then(|| (part.clone(), state.clone()))
        };
        let its = |(name, count): &(String, u64)| name.starts_with(&mechanism.prefix) && *count > 0;
        Self {
            on: String::new(),
            state: state.unwrap_or_default(),
            inert_parts: parts().iter().filter_map(inert).collect(),
            counters: statistics.into_iter().filter(its).collect(),
            ejected: exit.map(|exit| format!("{}: {}", exit.reason, exit.message)),
        }
    }

    /// Value of `counter`; 0 if the scheduler does not have it.
    pub fn count(&self, counter: &str) -> u64 {
        self.counters.iter().find(|(name, _)| name == counter).map_or(0, |(_, count)| *count)
    }

    /// Whether the mechanism decided anything.
    pub fn acts(&self, mechanism: &Mechanism) -> bool {
        mechanism.counters.iter().any(|counter| counter.acts && self.count(&counter.name) > 0)
    }
}
