// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sweep: many cells (machine, workload, pair), each run with several seeds, in tasks that any number of processes do in any
//! order. What comes out is one row per run, and does not depend on who did which task.
//!
//! [`Sweep`] is the grid, and runs a [`Task`]; `cells` says what a cell is; [`Tracker`] says which tasks there are, and stops cells
//! whose intervals are narrow enough; `columns` has the columns of the rows.
//!
//! What is wrong with one cell (a machine's file, a scheduler that cannot be loaded there, a run that cannot end) is in the rows of
//! that cell, and the others are run.

mod cells;
mod columns;
mod tracker;

use std::sync::OnceLock;

use serde_json::Value;
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

use crate::comparison::{NotMeasured, Outcome, slim};
use crate::matrix::rows;
use crate::scenario::Scenario;
use crate::scenario::pair::Pair;
use crate::simulator::Simulator;
use crate::store::{Digest, Keys};

pub use columns::{Column, Kind};
pub use tracker::{Enough, Repeats, Task, Tracker};

/// Something that a grid names, and what became of reading it: what is wrong with it is told in the rows of its cells.
pub type Named<T> = (String, Result<T, String>);

/// A grid of runs.
#[derive(Debug)]
pub struct Sweep {
    machines: Vec<Named<Machine>>,
    workloads: Vec<Named<Workload>>,
    pairs: Vec<Named<Pair>>,
    scenario: Scenario,
    first_seed: u64,
    repeats: Repeats,
    /// Runs of a task, about.
    batch: u32,
    /// The options of a pair on a machine, by machine, then by pair, once they are asked for.
    options: Vec<OnceLock<Result<Options, String>>>,
}

/// Why a task has no rows. What is wrong with a cell is no such failure: its rows say it.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A person, or who runs the task, wants no more of it.
    #[error("interrupted")]
    Stopped,
    /// This computer has too little memory for a run; another one may have enough.
    #[error("{run}: {source}")]
    Memory {
        /// Machine, workload, scheduler and seed.
        run: String,
        /// How much was wanted.
        source: SimulationError,
    },
}

impl Sweep {
    /// The grid of all machines, workloads and pairs, in tasks of about `batch` runs. The seeds are those from `first_seed` on.
    pub fn new(
        machines: Vec<Named<Machine>>,
        workloads: Vec<Named<Workload>>,
        pairs: Vec<Named<Pair>>,
        scenario: Scenario,
        (first_seed, repeats, batch): (u64, Repeats, u32),
    ) -> Self {
        let options = (0..machines.len() * pairs.len()).map(|_| OnceLock::new()).collect();
        Self { machines, workloads, pairs, scenario, first_seed, repeats, batch: batch.max(1), options }
    }

    /// The runs of a task: a row for each, by cell, then by seed.
    ///
    /// # Errors
    /// [`SweepError`]: nothing of the task is done.
    pub fn run(&self, task: &Task, simulator: &dyn Simulator, keys: &Keys) -> Result<Vec<Vec<Value>>, SweepError> {
        let runs = task.runs();
        runs.map(|(cell, repeat)| self.run_one((cell, repeat), simulator, keys)).collect()
    }

    /// One run of a task.
    ///
    /// # Errors
    /// [`SweepError`].
    pub fn run_one(
        &self,
        (cell, repeat): (u32, u32),
        simulator: &dyn Simulator,
        keys: &Keys,
    ) -> Result<Vec<Value>, SweepError> {
        let seed = self.seed(repeat);
        let failed = |why: String| Ok(self.failed_row(cell, seed, &why, self.key(cell, repeat, keys)));
        let parts = match self.parts(cell) {
            Ok(parts) => parts,
            Err(why) => return failed(why),
        };
        let options = Options { seed, ..parts.options.clone() };
        match simulator.simulate(parts.machine, parts.workload, &options, &mut NoObserver) {
            Ok(report) => {
                let run = Outcome { report: slim(report), alone: Err(NotMeasured::NotRunAlone) };
                let end = [Value::Null, self.key(cell, repeat, keys).to_string().into()];
                Ok([self.beginning(cell, seed), rows::numbers(&run), end.to_vec()].concat())
            }
            Err(SimulationError::Stopped { .. }) => Err(SweepError::Stopped),
            Err(source @ SimulationError::Memory(_)) => Err(SweepError::Memory { run: self.label(cell, seed), source }),
            Err(error) => failed(error.to_string()),
        }
    }

    /// The key of a run, that of the store of finished runs. Of a cell that cannot be run, a digest of its names.
    pub fn key(&self, cell: u32, repeat: u32, keys: &Keys) -> Digest {
        let seed = self.seed(repeat);
        match self.parts(cell) {
            Ok(parts) => keys.of(parts.machine, parts.workload, &Options { seed, ..parts.options.clone() }),
            Err(why) => Digest::of(format!("{}: {why}", self.label(cell, seed)).as_bytes()),
        }
    }

    /// What a task is known by: all that its rows follow from.
    pub fn part(&self, task: &Task, keys: &Keys) -> Digest {
        let cells = task.cells.iter().map(|cell| self.key(*cell, 0, keys).to_string());
        let text: Vec<String> = cells.chain([format!("{:?} {:?}", task.repeats, self.titles())]).collect();
        Digest::of(text.join("\n").as_bytes())
    }

    fn seed(&self, repeat: u32) -> u64 {
        self.first_seed.wrapping_add(u64::from(repeat))
    }
}

#[cfg(test)]
mod tests;
