// SPDX-License-Identifier: MIT OR Apache-2.0
//! What later runs are judged against: the numbers of finished comparisons, and what they are the numbers of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tandem_simulator::metrics::SCHEMA;

use crate::comparison::{Comparison, Metric, PairResult, measure};
use crate::matrix::Matrix;
use crate::scenario::Scenario;
use crate::statistics::Estimate;

/// The numbers of comparisons, to be kept in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Version of the file's schema.
    pub schema: u32,
    /// What was run.
    pub baseline_of: Subject,
    /// One per machine, workload and pair.
    pub cells: Vec<Cell>,
}

/// What numbers belong to: of another subject they say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Version of the program that simulated.
    pub version: String,
    /// What tells the models of two builds of one version apart, as the program says it.
    pub model: String,
    /// Settings, kernel and limits of all runs, as options.
    pub options: Vec<String>,
    /// The SHA-256 of the machines' descriptions, by name.
    pub machines: BTreeMap<String, String>,
    /// The SHA-256 of the workloads, by name.
    pub workloads: BTreeMap<String, String>,
    /// Schedulers with their governors and values of parameters, as tables call them.
    pub pairs: Vec<String>,
}

/// The numbers of a pair on a machine and workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// The pair, as tables call it.
    pub pair: String,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// What the workload asks for and the scheduler did not heed. Baselines of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// By the metric's key in JSON; metrics that were not measured are left out.
    pub metrics: BTreeMap<String, Measured>,
    /// The same metrics of each application, by its name. Baselines of earlier versions do not have them.
    #[serde(default)]
    pub applications: BTreeMap<String, BTreeMap<String, Measured>>,
}

/// A metric of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The mean over the runs.
    pub mean: f64,
    /// Half of the 95 % confidence interval; `null` of one run.
    pub half_width: Option<f64>,
    /// The value of each run, by seed; `null` where one run has no value of its own.
    pub runs: Option<Vec<f64>>,
}

impl Measured {
    /// A pair's value of a metric; `None` if it was not measured.
    pub fn of(pair: &PairResult, metric: Metric) -> Option<Self> {
        let Estimate { mean, half_width } = *pair.metric(metric).value.as_ref().ok()?;
        let of_run = |run| measure(metric, std::slice::from_ref(run)).ok().map(|value| value.mean);
        let runs = metric.is_of_one_run().then(|| pair.outcomes.iter().map(of_run).collect()).flatten();
        Some(Self { mean, half_width, runs })
    }

    /// A pair's value of a metric of the application `name`; `None` if it was not measured.
    pub fn of_application(pair: &PairResult, metric: Metric, name: &str) -> Option<Self> {
        let runs = pair.of_application(metric, name)?.ok()?;
        let Estimate { mean, half_width } = Estimate::of_mean(&runs)?;
        Some(Self { mean, half_width, runs: Some(runs) })
    }

    /// The value as an estimate.
    pub fn estimate(&self) -> Estimate {
        Estimate { mean: self.mean, half_width: self.half_width }
    }
}

impl Baseline {
    /// The numbers of a matrix that has run `subject`.
    pub fn of(matrix: &Matrix, subject: Subject) -> Self {
        let cells = matrix.comparisons.iter().flat_map(|cell| cell.pairs.iter().map(move |pair| Cell::of(cell, pair)));
        Self { schema: SCHEMA, baseline_of: subject, cells: cells.collect() }
    }

    /// The numbers of a pair on a machine and workload.
    pub fn cell(&self, machine: &str, workload: &str, pair: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.machine == machine && cell.workload == workload && cell.pair == pair)
    }
}

impl Cell {
    /// The numbers of one of a comparison's pairs.
    pub(super) fn of(comparison: &Comparison, pair: &PairResult) -> Self {
        let all = |of: &dyn Fn(Metric) -> Option<Measured>| -> BTreeMap<String, Measured> {
            Metric::ALL.into_iter().filter_map(|metric| Some((metric.key().to_owned(), of(metric)?))).collect()
        };
        let of_application =
            |name: &str| (name.to_owned(), all(&|metric| Measured::of_application(pair, metric, name)));
        Self {
            machine: comparison.machine.clone(),
            workload: comparison.workload.clone(),
            pair: pair.pair.to_string(),
            seeds: comparison.seeds.clone(),
            ignored: pair.ignored().into_keys().map(str::to_owned).collect(),
            metrics: all(&|metric| Measured::of(pair, metric)),
            applications: pair.applications().map(of_application).collect(),
        }
    }
}

impl Subject {
    /// In what `now` differs from this baseline's subject, a sentence each; what the baseline has besides is no difference.
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.version != now.version {
            changes.push(format!("the baseline is of version {}, this is {}", self.version, now.version));
        } else if self.model != now.model {
            changes.push(format!(
                "the simulator has changed: the baseline is of build {}, this is {}",
                self.model, now.model
            ));
        }
        if self.options != now.options {
            let list = |options: &[String]| if options.is_empty() { "none".to_owned() } else { options.join(" ") };
            changes.push(format!("the options are {}; the baseline's are {}", list(&now.options), list(&self.options)));
        }
        changes.extend(different("machine", &self.machines, &now.machines));
        changes.extend(different("workload", &self.workloads, &now.workloads));
        let unknown = now.pairs.iter().filter(|pair| !self.pairs.contains(pair));
        changes.extend(unknown.map(|pair| format!("the baseline has no {pair}; it has {}", self.pairs.join(", "))));
        changes
    }
}

fn different(what: &str, then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let change = |(name, digest): (&String, &String)| match then.get(name) {
        None => Some(format!("the baseline has no {what} {name}")),
        Some(old) if old != digest => Some(format!("{what} {name} is described otherwise than in the baseline")),
        Some(_) => None,
    };
    now.iter().filter_map(change).collect()
}

/// What a scenario says of all runs, as options of the command would.
pub fn options(scenario: &Scenario) -> Vec<String> {
    let mut options: Vec<String> = scenario.settings.iter().map(|setting| format!("--set {setting}")).collect();
    options.extend(scenario.beside_settings().into_iter().map(|(name, value)| format!("--{name} {value}")));
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Digest;

    fn digest(text: &str) -> String {
        Digest::of(text.as_bytes()).to_string()
    }

    fn subject() -> Subject {
        let one = |name: &str, text: &str| BTreeMap::from([(name.to_owned(), digest(text))]);
        Subject {
            version: "1.0.0".to_owned(),
            model: "a".to_owned(),
            options: Vec::new(),
            machines: one("hikey960", "m"),
            workloads: one("pipeline", "w"),
            pairs: vec!["fair+schedutil".to_owned()],
        }
    }

    #[test]
    fn the_same_is_no_change_and_neither_is_what_the_baseline_has_besides() {
        let mut baseline = subject();
        assert!(baseline.changes(&subject()).is_empty());
        baseline.machines.insert("rk3399".to_owned(), digest("other"));
        baseline.pairs.push("fair+powersave".to_owned());
        assert!(baseline.changes(&subject()).is_empty());
    }

    #[test]
    fn each_difference_is_named() {
        let mut now = subject();
        now.model = "b".to_owned();
        now.options = options(&Scenario { time_limit: Some(5_000_000_000), ..Scenario::default() });
        now.machines.insert("hikey960".to_owned(), digest("m2"));
        now.workloads.insert("mixed".to_owned(), digest("w2"));
        now.pairs.push("fair+powersave".to_owned());
        assert_eq!(
            subject().changes(&now),
            [
                "the simulator has changed: the baseline is of build a, this is b",
                "the options are --duration 5s; the baseline's are none",
                "machine hikey960 is described otherwise than in the baseline",
                "the baseline has no workload mixed",
                "the baseline has no fair+powersave; it has fair+schedutil",
            ]
        );
        now.version = "2.0.0".to_owned();
        assert_eq!(subject().changes(&now)[0], "the baseline is of version 1.0.0, this is 2.0.0");
    }
}
