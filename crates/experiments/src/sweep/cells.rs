// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cells of a sweep: by machine, then by workload, then by pair.

use serde_json::Value;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Options;
use tandem_simulator::workload::Workload;

use super::{Named, Sweep};
use crate::matrix::rows;
use crate::scenario::pair::Pair;
use crate::store::Digest;

/// What a cell runs.
pub struct Parts<'a> {
    pub machine: &'a Machine,
    pub workload: &'a Workload,
    /// With any seed.
    pub options: &'a Options,
}

impl Sweep {
    /// How many cells there are.
    pub fn cells(&self) -> u32 {
        (self.machines.len() * self.workloads.len() * self.pairs.len()) as u32
    }

    /// The indices of a cell's machine, workload and pair.
    fn indices(&self, cell: u32) -> (usize, usize, usize) {
        let (pair, rest) = (cell as usize % self.pairs.len(), cell as usize / self.pairs.len());
        (rest / self.workloads.len(), rest % self.workloads.len(), pair)
    }

    fn named(&self, cell: u32) -> (&Named<Machine>, &Named<Workload>, &Named<Pair>) {
        let (machine, workload, pair) = self.indices(cell);
        (&self.machines[machine], &self.workloads[workload], &self.pairs[pair])
    }

    /// What a cell runs, or what is wrong with it.
    pub(super) fn parts(&self, cell: u32) -> Result<Parts<'_>, String> {
        let ((_, machine), (_, workload), (_, pair)) = self.named(cell);
        let (machine, workload, pair) = (machine.as_ref()?, workload.as_ref()?, pair.as_ref()?);
        let (at, _, of) = self.indices(cell);
        let options = self.options[at * self.pairs.len() + of].get_or_init(|| {
            self.scenario.options_on(machine, pair, self.first_seed).map_err(|error| error.to_string())
        });
        Ok(Parts { machine, workload, options: options.as_ref()? })
    }

    /// The names of all settings that pairs vary.
    pub(super) fn parameters(&self) -> Vec<&str> {
        rows::parameters(self.pairs.iter().filter_map(|(_, pair)| pair.as_ref().ok()))
    }

    /// What a row begins with: all up to the seed.
    pub(super) fn beginning(&self, cell: u32, seed: u64) -> Vec<Value> {
        let ((machine, read), (workload, _), (scheduler, pair)) = self.named(cell);
        let parameters = self.parameters();
        let Ok(pair) = pair else {
            let names = [machine, workload, scheduler].map(|name| Value::from(name.as_str()));
            let empty = vec![Value::Null; 1 + parameters.len()];
            return [names.to_vec(), empty, vec![seed.into()]].concat();
        };
        // The governor under the name that it has on the machine.
        let there = read.as_ref().ok().and_then(|machine| pair.on(machine).ok());
        rows::beginning(machine, workload, there.as_ref().unwrap_or(pair), &parameters, seed)
    }

    /// The row of a run that has no report.
    pub(super) fn failed_row(&self, cell: u32, seed: u64, why: &str, key: Digest) -> Vec<Value> {
        let mut row = self.beginning(cell, seed);
        row.resize(self.titles().len() - 2, Value::Null);
        row.extend([why.into(), key.to_string().into()]);
        row
    }

    /// What a run is called in messages.
    pub(super) fn label(&self, cell: u32, seed: u64) -> String {
        let ((machine, _), (workload, _), (pair, _)) = self.named(cell);
        format!("{workload} on {machine} under {pair}, seed {seed}")
    }
}
