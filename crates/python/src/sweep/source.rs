// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid as data: the texts of machines and workloads, the bytes of objects. Every computer that has it makes the same of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tandem_experiments::{
    Choice, Digest, Enough, Metric, Named, Pair, Repeats, Scenario, Setting, Sweep, VariedSetting, parse_hotplug,
    spanned,
};
use tandem_simulator::bounded::Limit;
use tandem_simulator::input::valid_names;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::SchedExt;
use tandem_simulator::workload::Workload;

use crate::carried::{Contents, Shipped};

/// A text that was read, or what is wrong with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Read {
    /// What rows call it.
    pub name: String,
    /// The file, for messages.
    pub path: PathBuf,
    /// The file's text.
    pub text: Result<String, String>,
    /// The configuration of a machine.
    pub configuration: Option<String>,
}

/// A grid as data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    /// Machines.
    pub machines: Vec<Read>,
    /// Workloads.
    pub workloads: Vec<Read>,
    /// Schedulers, as they are written.
    pub schedulers: Vec<String>,
    /// Objects by path: their bytes, and the text beside them.
    pub objects: BTreeMap<String, (Vec<u8>, Option<String>)>,
    /// `NAME=VALUE,VALUE`.
    pub parameters: Vec<String>,
    /// Kernel parameters and settings of schedulers.
    pub settings: Vec<(String, String)>,
    /// Linux version.
    pub kernel: Option<String>,
    /// Time limit, in nanoseconds.
    pub duration: Option<u64>,
    /// `TIME:CPU=off`.
    pub hotplug: Vec<String>,
    /// First seed.
    pub seed: u64,
    /// Most runs of a cell.
    pub runs: u32,
    /// Runs of a cell after which intervals are looked at first.
    pub least_runs: u32,
    /// Metrics by name with the relative half width that is narrow enough.
    pub until: BTreeMap<String, f64>,
    /// Runs of a part, about.
    pub batch: u32,
}

impl Source {
    /// Adds the objects that schedulers name by path, as far as they can be read.
    pub fn with_objects(mut self) -> Self {
        for scheduler in &self.schedulers {
            let Some(path) = SchedExt::path_in(scheduler) else { continue };
            if let Ok(object) = Limit::OBJECT.read(Path::new(path)) {
                let beside = Limit::DESCRIPTION.read_text(&SchedExt::path_beside(Path::new(path))).ok();
                self.objects.insert(path.to_owned(), (object, beside));
            }
        }
        self
    }

    /// The grid.
    ///
    /// # Errors
    /// A mistake that is not of one cell: in a setting, a parameter, a metric.
    pub fn sweep(&self) -> Result<Sweep, String> {
        let scenario = self.scenario()?;
        let pairs = self.pairs(&scenario)?;
        let machine = |read: &Read| {
            let parsed = read.text.clone().and_then(|text| {
                let machine = Machine::parse(&read.name, &read.path, &text, read.configuration.as_deref());
                machine.map_err(|error| error.to_string())
            });
            (parsed.as_ref().map_or_else(|_| read.name.clone(), |machine| machine.name.clone()), parsed)
        };
        let workload = |read: &Read| {
            let parsed = read
                .text
                .clone()
                .and_then(|text| Workload::parse(&read.path, &text).map_err(|error| error.to_string()));
            (read.name.clone(), parsed)
        };
        let machines: Vec<_> = self.machines.iter().map(machine).collect();
        let workloads: Vec<_> = self.workloads.iter().map(workload).collect();
        once("machines", machines.iter().map(|(name, _)| name))?;
        once("workloads", workloads.iter().map(|(name, _)| name))?;
        if machines.is_empty() || workloads.is_empty() || pairs.is_empty() {
            return Err("a sweep needs a workload, a machine and a scheduler".to_owned());
        }
        Ok(Sweep::new(machines, workloads, pairs, scenario, (self.seed, self.repeats()?, self.batch)))
    }

    fn scenario(&self) -> Result<Scenario, String> {
        let setting = |(key, value): &(String, String)| Setting { key: key.clone(), value: value.clone() };
        let hotplug = self.hotplug.iter().map(|text| parse_hotplug(text).map_err(|error| error.to_string()));
        Ok(Scenario {
            settings: self.settings.iter().map(setting).collect(),
            profile: match &self.kernel {
                Some(kernel) => Some(kernel.parse().map_err(|error| format!("{error}"))?),
                None => None,
            },
            time_limit: self.duration,
            hotplug: hotplug.collect::<Result<_, _>>()?,
        })
    }

    /// Those that can be read, with their parameters, then those that cannot.
    fn pairs(&self, scenario: &Scenario) -> Result<Vec<Named<Pair>>, String> {
        let contents: BTreeMap<&str, Contents> = self
            .objects
            .iter()
            .map(|(path, (object, sidecar))| {
                (path.as_str(), Contents { object: object.clone(), sidecar: sidecar.clone() })
            })
            .collect();
        let find = |path: &str| contents.get(path);
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for text in &self.schedulers {
            match Choice::parse(text, &Shipped(&find)) {
                Ok(choice) => good.push(choice.pair()),
                Err(error) => bad.push((text.clone(), Err(error.to_string()))),
            }
        }
        scenario.check(good.iter().map(|pair| &pair.scheduler)).map_err(|error| error.to_string())?;
        tandem_experiments::tell_apart(&mut good);
        let parameters = self.parameters.iter().map(|text| text.parse::<VariedSetting>());
        let parameters = parameters.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let good = spanned(good, &parameters, scenario).map_err(|error| error.to_string())?;
        Ok(good.into_iter().map(|pair| (pair.to_string(), Ok(pair))).chain(bad).collect())
    }

    fn repeats(&self) -> Result<Repeats, String> {
        let Self { runs, least_runs, until, .. } = self;
        if *runs == 0 || *runs > 100_000 {
            return Err(format!("runs: {runs} is not from 1 to 100000"));
        }
        if until.is_empty() {
            return Ok(Repeats::Fixed(*runs));
        }
        if *least_runs < 2 || least_runs > runs {
            return Err(format!("least_runs: {least_runs} is not from 2 to runs, {runs}: one run has no interval"));
        }
        let names: Vec<&str> = Metric::ALL.iter().filter(|metric| metric.is_of_one_run()).map(|it| it.name()).collect();
        let enough = |(name, relative): (&String, &f64)| match Metric::by_name(name) {
            Some(metric) if metric.is_of_one_run() && *relative > 0.0 => Ok(Enough { metric, relative: *relative }),
            Some(metric) if metric.is_of_one_run() => Err(format!("until: {name}: {relative} is not above 0")),
            _ => Err(format!("until: no metric `{name}` of single runs; {}", valid_names(name, &names))),
        };
        let enough = until.iter().map(enough).collect::<Result<_, _>>()?;
        Ok(Repeats::Until { least: *least_runs, most: *runs, enough })
    }

    /// What every file of the data set says of itself: what its rows were produced by.
    pub fn provenance(&self, program: &Digest) -> Value {
        let digest = |bytes: &[u8]| Digest::of(bytes).to_string();
        let read = |kind: &str, read: &Read| {
            let sha256 = read.text.as_ref().ok().map(|text| digest(text.as_bytes()));
            json!({ "kind": kind, "name": read.name, "sha256": sha256 })
        };
        let machines = self.machines.iter().map(|it| read("machine", it));
        let workloads = self.workloads.iter().map(|it| read("workload", it));
        let objects = self.objects.iter().flat_map(|(path, (object, sidecar))| {
            let object = json!({ "kind": "object", "name": path, "sha256": digest(object) });
            let beside = sidecar
                .as_ref()
                .map(|text| json!({ "kind": "loader_file", "name": path, "sha256": digest(text.as_bytes()) }));
            [Some(object), beside].into_iter().flatten()
        });
        let inputs: Vec<Value> = machines.chain(workloads).chain(objects).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "program_sha256": program.to_string(),
            "inputs": inputs,
            "schedulers": self.schedulers,
            "parameters": self.parameters,
            "settings": self.settings,
            "kernel": self.kernel,
            "duration_ns": self.duration,
            "hotplug": self.hotplug,
            "seed": self.seed,
            "runs": self.runs,
            "least_runs": self.least_runs,
            "until": self.until,
        })
    }
}

/// Rows are told apart by names.
fn once<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut known = std::collections::BTreeSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(format!("two of the {what} are called `{name}`: rows are told apart by names"));
        }
    }
    Ok(())
}
