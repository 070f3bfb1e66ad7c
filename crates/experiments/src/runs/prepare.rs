// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulations made ready: machines, workloads and schedulers, each read once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tandem_simulator::input::InputError;
use tandem_simulator::machine::{Machine, catalogue};
use tandem_simulator::simulation::Options;
use tandem_simulator::workload;

use super::vary::{self, Whole};
use super::{Change, Request, Simulation, Workload};
use crate::environment::Environment;
use crate::error::ExperimentError;
use crate::paper::{Origin, Target};
use crate::scenario::pair::Pair;
use crate::scenario::{Scenario, ScenarioError, generated, line};

/// A simulation that lacks only a seed.
#[derive(Debug)]
pub struct Ready {
    pub machine: Arc<Machine>,
    /// A workload for each seed, or one for all.
    workloads: Vec<Arc<workload::Workload>>,
    scenario: Scenario,
    pair: Pair,
}

impl Ready {
    /// What the run with `seed` runs.
    pub fn workload(&self, seed: u64) -> &Arc<workload::Workload> {
        &self.workloads[seed as usize % self.workloads.len()]
    }

    /// The options of the run with `seed`.
    pub fn options(&self, seed: u64) -> Result<Options, ScenarioError> {
        self.scenario.options(&self.pair, seed)
    }
}

/// Reads machines and workloads, and knows those that it has read.
pub struct Workshop<'a> {
    environment: Environment<'a>,
    machines: BTreeMap<(String, String, Option<Change>), Arc<Machine>>,
    workloads: BTreeMap<(String, Workload, Option<Change>), Arc<workload::Workload>>,
    warnings: Vec<String>,
}

impl<'a> Workshop<'a> {
    pub fn new(environment: Environment<'a>) -> Self {
        Self { environment, machines: BTreeMap::new(), workloads: BTreeMap::new(), warnings: Vec::new() }
    }

    /// What the workloads' readers warned about.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// All that `simulation` needs for `request`; mistakes are told as those of the request's origin.
    pub fn ready(&mut self, simulation: &Simulation, request: &Request) -> Result<Ready, ExperimentError> {
        let Request { origin, label, seeds } = request;
        let machine = self.machine(simulation, origin, label)?;
        let seeds = if simulation.workload.has_seed() { u64::from(*seeds) } else { 1 };
        let workloads = (0..seeds).map(|seed| {
            let workload = simulation.workload.with_seed(seed);
            self.workload(&Simulation { workload, ..simulation.clone() }, origin, label)
        });
        let workloads = workloads.collect::<Result<_, _>>()?;
        let wrong = |message: String| origin.error(format!("{label}: {message}"));
        let line = line::scenario(&simulation.scheduler, &simulation.options, self.environment.schedulers);
        let (scenario, pair) = line.map_err(|error| wrong(error.to_string()))?;
        scenario.check([&pair.scheduler]).map_err(|error| wrong(in_line(&error)))?;
        scenario.check_on(&machine, &pair, 0).map_err(|error| wrong(in_line(&error)))?;
        Ok(Ready { machine, workloads, scenario, pair })
    }

    fn machine(&mut self, simulation: &Simulation, origin: &Origin, label: &str) -> Result<Arc<Machine>, InputError> {
        let Simulation { paper, machine: spec, change, .. } = simulation;
        let change = change.clone().filter(|change| matches!(change.target, Target::Machine { .. }));
        let key = (paper.clone(), spec.clone(), change);
        if let Some(machine) = self.machines.get(&key) {
            return Ok(Arc::clone(machine));
        }
        let machine = self.read_machine(&key.0, spec, key.2.as_ref(), (origin, label))?;
        let machine = Arc::new(machine);
        self.machines.insert(key, Arc::clone(&machine));
        Ok(machine)
    }

    fn read_machine(
        &self,
        paper: &str,
        spec: &str,
        change: Option<&Change>,
        (origin, label): (&Origin, &str),
    ) -> Result<Machine, InputError> {
        let (name, configuration) = spec.split_once(':').map_or((spec, None), |(name, rest)| (name, Some(rest)));
        let own = self.environment.library.text(paper, name);
        let Some(text) = own.or_else(|| catalogue::text(name)) else {
            let names: Vec<&str> = catalogue::names().collect();
            let help = tandem_simulator::input::valid_names(name, &names);
            return Err(origin.error(format!("{label}: no machine `{name}`, nor a file of the paper")).help(help));
        };
        let path = match own {
            Some(_) => self.environment.library.path(paper, name),
            None => Path::new("machines").join(format!("{name}.toml")),
        };
        let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let parse = |text: &str| Machine::parse(&stem, &path, text, configuration);
        let Some(Change { target: Target::Machine { path: number, .. }, percent }) = change else {
            return parse(text);
        };
        let varied = |whole| {
            let varied = vary::description(text, number, *percent, whole);
            parse(&varied.map_err(|message| origin.error(format!("{label}: {message}")))?)
        };
        // Which numbers must be whole is the description's own knowledge.
        varied(Whole::Divided).or_else(|_| varied(Whole::Kept))
    }

    fn workload(
        &mut self,
        simulation: &Simulation,
        origin: &Origin,
        label: &str,
    ) -> Result<Arc<workload::Workload>, InputError> {
        let Simulation { paper, workload, change, .. } = simulation;
        let change = change.clone().filter(|change| matches!(change.target, Target::Generate(_)));
        let key = (paper.clone(), workload.clone(), change);
        if let Some(workload) = self.workloads.get(&key) {
            return Ok(Arc::clone(workload));
        }
        let wrong = |message: String| origin.error(format!("{label}: {message}"));
        let read = match (workload, &key.2) {
            (Workload::Named(name), _) => self.read_named(paper, name)?,
            (Workload::Generated(arguments), Some(Change { target: Target::Generate(option), percent })) => {
                generate(&vary::arguments(arguments, option, *percent).map_err(wrong)?).map_err(wrong)?
            }
            (Workload::Generated(arguments), _) => generate(arguments).map_err(wrong)?,
        };
        for warning in &read.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        let read = Arc::new(read);
        self.workloads.insert(key, Arc::clone(&read));
        Ok(read)
    }

    /// A file of the paper, or a bundled workload.
    fn read_named(&self, paper: &str, name: &str) -> Result<workload::Workload, InputError> {
        match self.environment.library.text(paper, name) {
            Some(text) => workload::Workload::parse(&self.environment.library.path(paper, name), text),
            None => {
                let bundled = workload::bundled::BUNDLED.iter().find(|(bundled, _)| *bundled == name);
                let path = self.environment.library.path(paper, name);
                let names: Vec<&str> = workload::bundled::BUNDLED.iter().map(|(name, _)| *name).collect();
                let Some((name, text)) = bundled else {
                    let error = InputError::whole(&path, "no such file, and no bundled workload of that name");
                    return Err(error.help(tandem_simulator::input::valid_names(name, &names)));
                };
                workload::Workload::parse(Path::new(&format!("{name}.json")), text)
            }
        }
    }
}

fn generate(arguments: &[String]) -> Result<workload::Workload, String> {
    let text = generated::text(arguments).map_err(|error| error.to_string())?;
    let name = arguments.first().map_or("workload", String::as_str);
    workload::Workload::parse(Path::new(&format!("{name}.json")), &text).map_err(|error| error.to_string())
}

/// What is wrong with a run's scenario, as its line has it.
fn in_line(error: &ScenarioError) -> String {
    match error {
        ScenarioError::Load(error) => error.to_string(),
        error => format!("--set: {error}"),
    }
}
