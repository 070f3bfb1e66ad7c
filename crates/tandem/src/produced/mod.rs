// SPDX-License-Identifier: GPL-2.0-only
//! What a report was produced by: the command, its settings, and the SHA-256 of whatever it read. docs/reports.md describes the
//! fields, `tandem rerun` makes the report again.

mod command;
mod input;
mod rests;
mod study;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_experiments::{Pair, Scenario, Setting};
use tandem_simulator::machine::{Machine, Trust};
use tandem_simulator::simulation::{KernelParameters, Scheduler};

pub use command::without_outputs;
pub use input::{Input, InputKind};
pub use rests::{Rests, lines as lines_of_rests};

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the names of papers' files begin with that the command carries.
const BUNDLED_PAPER: &str = "bundled:";

/// What a report was produced by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProducedBy {
    /// The program's version.
    pub version: String,
    /// The words of the command line, without those that only say where the results go.
    pub command: Vec<String>,
    /// The seed of the first run; that of each further one is larger by 1.
    pub seed: u64,
    /// Settings that are not the default, by name; those of a scheduler have its name before them: `tandem.sorted`.
    pub settings: BTreeMap<String, String>,
    /// What was read, in the order of the command.
    pub inputs: Vec<Input>,
    /// For each machine: which of its values are assumed.
    pub assumed: Vec<Assumed>,
}

/// How much of a machine's description nobody measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumed {
    /// The machine's name.
    pub machine: String,
    /// How many entries of the description have a source.
    pub of: usize,
    /// Those whose source begins with `assumed`, as `table.key`; `*` is the rest of a table.
    pub values: Vec<String>,
    /// How much of the energy of the runs was computed from powers among them, 0 to 1; absent where that was not worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
}

/// Results with what they were produced by.
#[derive(Serialize, JsonSchema)]
pub struct Produced<'a, T: Serialize> {
    #[serde(flatten)]
    results: &'a T,
    /// What the report was produced by.
    produced_by: &'a ProducedBy,
}

impl ProducedBy {
    /// The beginning: a command with its first seed.
    pub fn new(command: &[String], seed: u64) -> Self {
        Self {
            version: VERSION.to_owned(),
            command: command.to_vec(),
            seed,
            settings: BTreeMap::new(),
            inputs: Vec::new(),
            assumed: Vec::new(),
        }
    }

    /// With what `scenario` sets that is not the default.
    #[must_use]
    pub fn scenario(mut self, scenario: &Scenario) -> Self {
        let kernel = scenario.settings.iter().filter(|setting| setting.is_kernel() && differs(setting));
        self.settings.extend(kernel.map(|setting| (setting.key.clone(), setting.value.clone())));
        self.settings.extend(scenario.beside_settings().into_iter().map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// With a machine, which `spec` names, and what is assumed of it.
    #[must_use]
    pub fn machine(mut self, spec: &str, machine: &Machine) -> Self {
        self.input(Input::machine(spec));
        self.assumed(machine)
    }

    /// With what is assumed of a machine.
    fn assumed(mut self, machine: &Machine) -> Self {
        let assumed = machine.provenance.iter().filter(|entry| entry.trust() == Trust::Assumed);
        let values = assumed.map(|entry| format!("{}.{}", entry.table, entry.key)).collect();
        let assumed = Assumed { machine: machine.name.clone(), of: machine.provenance.len(), values, energy: None };
        if !self.assumed.contains(&assumed) {
            self.assumed.push(assumed);
        }
        self
    }

    /// With how much of the energy rests on assumed values.
    pub fn resting_on(&mut self, rests: &[Rests]) {
        for assumed in &mut self.assumed {
            let of_machine = rests.iter().find(|rests| rests.machine == assumed.machine);
            assumed.energy = of_machine.and_then(|rests| rests.energy);
        }
    }

    /// With a workload, which `spec` names, and its text.
    #[must_use]
    pub fn workload(mut self, spec: &std::path::Path, text: &str) -> Self {
        self.input(Some(Input::of(InputKind::Workload, &spec.to_string_lossy(), text.as_bytes())));
        self
    }

    /// With the schedulers of pairs that ran in `scenario`, and with what was set of them.
    #[must_use]
    pub fn pairs<'p>(mut self, scenario: &Scenario, pairs: impl IntoIterator<Item = &'p Pair>) -> Self {
        for pair in pairs {
            let Scheduler::SchedExt(object) = &pair.scheduler else { continue };
            Input::scheduler(object).into_iter().for_each(|input| self.input(Some(input)));
            let common =
                scenario.settings.iter().filter(|setting| !setting.is_kernel() && object.has_setting(&setting.key));
            let common = common.map(|Setting { key, value }| (key, value));
            let own = object.settings.iter().map(|(key, value)| (key, value));
            let name = object.path.file_name().unwrap_or_default().to_string_lossy();
            self.settings.extend(common.chain(own).map(|(key, value)| (format!("{name}.{key}"), value.clone())));
        }
        self
    }

    /// With one more input, unless it is there already, or cannot be read any more.
    pub fn input(&mut self, input: Option<Input>) {
        self.inputs.extend(input.filter(|input| !self.inputs.contains(input)));
    }

    /// `results` with this.
    pub fn of<'a, T: Serialize>(&'a self, results: &'a T) -> Produced<'a, T> {
        Produced { results, produced_by: self }
    }
}

/// Whether a kernel parameter is set to something else than its default.
fn differs(setting: &Setting) -> bool {
    let mut kernel = KernelParameters::default();
    kernel.set(&setting.key, &setting.value).is_err() || kernel != KernelParameters::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{all_settings, choice};

    #[test]
    fn what_was_set_is_told_unless_it_is_the_default() {
        let settings = ["hz=1000", "load_balance=true", "rr_timeslice_ms=100", "longest=true"];
        let settings: Vec<_> = settings.iter().map(|text| text.parse().unwrap()).collect();
        let scenario =
            Scenario { settings: all_settings(&settings), time_limit: Some(1_500_000_000), ..Scenario::default() };
        let pair = choice("tandem,sorted=true").unwrap().pair();
        let produced = ProducedBy::new(&[], 7).scenario(&scenario).pairs(&scenario, [&pair, &pair]);
        let told: Vec<String> = produced.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(told, ["duration=1.5s", "hz=1000", "tandem.longest=true", "tandem.sorted=true"]);
        // The object and its loader file, once.
        assert_eq!(produced.inputs.len(), 2);
    }

    #[test]
    fn assumed_values_are_those_whose_source_says_so() {
        let machine = Machine::load("hikey960").unwrap();
        let produced = ProducedBy::new(&[], 0).machine("hikey960", &machine).machine("hikey960", &machine);
        let said = machine.provenance.iter().filter(|entry| entry.source.starts_with("assumed")).count();
        assert_eq!((produced.assumed.len(), produced.inputs.len()), (1, 1));
        assert_eq!((produced.assumed[0].values.len(), produced.assumed[0].of), (said, machine.provenance.len()));
    }
}
