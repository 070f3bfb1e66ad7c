// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs on many machines and workloads: a comparison per machine and workload, and what they say together.
//!
//! [`MatrixRuns`] simulates; `mean` has the geometric means, `rows` one row per run, `document` the JSON.

mod document;
mod mean;
pub(crate) mod rows;

use tandem_simulator::machine::Machine;
use tandem_simulator::workload::Workload;

use crate::comparison::{Comparison, Grid};
use crate::error::ExperimentError;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::scenario::pair::Pair;
use crate::simulator::Simulator;

pub use document::Compared;
pub use mean::GeometricMean;
pub use rows::Rows;

/// The runs of a matrix: on each machine each pair runs each workload once with each seed.
#[derive(Debug, Clone)]
pub struct MatrixRuns<'a> {
    /// The machines, each under a name of its own.
    pub machines: &'a [Machine],
    /// The workloads, each under a name of its own.
    pub workloads: &'a [Workload],
    /// Kernel parameters, settings and time limit of all runs.
    pub scenario: &'a Scenario,
    /// Schedulers, governors and values of parameters; the first is the reference.
    pub pairs: Vec<Pair>,
    /// One run per machine, workload, pair and seed.
    pub seeds: Vec<u64>,
    /// Whether each application runs alone too: without that, fairness is not measured.
    pub alone: bool,
}

/// What a matrix gave. As JSON it has the fields that docs/reports.md describes.
#[derive(Debug)]
pub struct Matrix {
    /// What was compared, in the order of each comparison's pairs; the first is the reference.
    pub pairs: Vec<Pair>,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// One per machine and workload, by machine, then by workload, without those that an interrupt left unfinished.
    pub comparisons: Vec<Comparison>,
    /// How many comparisons an interrupt left unfinished.
    pub missing: usize,
}

impl MatrixRuns<'_> {
    /// Runs everything on all cores. Comparisons that `progress` stopped are left out and counted.
    ///
    /// # Errors
    /// A setting that does not fit its scheduler; of several runs without a report the first, by machine, workload, pair
    /// and seed.
    pub fn run(self, simulator: &dyn Simulator, progress: &dyn Progress) -> Result<Matrix, ExperimentError> {
        let Self { machines, workloads, scenario, pairs, seeds, alone } = self;
        let pairs: Vec<Pair> = pairs.iter().map(|pair| pair.on_all(machines)).collect();
        let grid = Grid { machines, workloads, scenario, pairs: &pairs, seeds: &seeds, alone };
        let comparisons = grid.run(simulator, progress, "")?;
        let of = comparisons.len();
        let comparisons: Vec<Comparison> = comparisons.into_iter().flatten().collect();
        let missing = of - comparisons.len();
        Ok(Matrix { pairs, seeds, comparisons, missing })
    }
}

impl Matrix {
    /// How many of the runs a sched_ext scheduler did not see the end of; fair finished them.
    pub fn ejected(&self) -> usize {
        self.comparisons.iter().map(Comparison::ejected).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{Choice, FairOrObject, Linux, Metric, Silent};

    fn pairs(texts: &[&str]) -> Vec<Pair> {
        texts.iter().map(|text| Choice::parse(text, &FairOrObject).unwrap().pair()).collect()
    }

    fn workload(name: &str, work_us: u32) -> Workload {
        let text = format!(r#"{{ "tasks": {{ "{name}": {{ "loop": 3, "run": {work_us}, "sleep": 100 }} }} }}"#);
        Workload::parse(Path::new(&format!("{name}.json")), &text).unwrap()
    }

    /// Stops after so many runs.
    struct After(AtomicUsize);

    impl Progress for After {
        fn run_done(&self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }

        fn stopped(&self) -> bool {
            self.0.load(Ordering::Relaxed) == 0
        }
    }

    fn run(progress: &dyn Progress) -> Matrix {
        let machines = ["hikey960", "smp-8"].map(|name| Machine::load(name).unwrap());
        let workloads = [workload("short", 500), workload("long", 5000)];
        let runs = MatrixRuns {
            machines: &machines,
            workloads: &workloads,
            scenario: &Scenario::default(),
            pairs: pairs(&["fair", "fair+powersave"]),
            seeds: vec![0, 1, 2],
            alone: true,
        };
        runs.run(&Linux, progress).unwrap()
    }

    #[test]
    fn a_cell_is_what_its_comparison_alone_gives() {
        let matrix = run(&Silent);
        let cells: Vec<(&str, &str)> =
            matrix.comparisons.iter().map(|cell| (cell.machine.as_str(), cell.workload.as_str())).collect();
        assert_eq!(cells, [("hikey960", "short"), ("hikey960", "long"), ("smp-8", "short"), ("smp-8", "long")]);
        let (machine, workload) = (Machine::load("smp-8").unwrap(), workload("short", 500));
        let alone = crate::ComparisonRuns {
            machine: &machine,
            workload: &workload,
            scenario: &Scenario::default(),
            pairs: pairs(&["fair", "fair+powersave"]),
            seeds: vec![0, 1, 2],
            alone: true,
        };
        let json = |comparison: &Comparison| serde_json::to_string(comparison).unwrap();
        assert_eq!(json(&matrix.comparisons[2]), json(&alone.run(&Linux, &Silent).unwrap()));
    }

    #[test]
    fn what_was_stopped_is_left_out_whole() {
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        // Six runs per cell: two cells are done, the third has begun.
        let matrix = one_thread.install(|| run(&After(AtomicUsize::new(14))));
        assert_eq!((matrix.comparisons.len(), matrix.missing), (2, 2));
        assert_eq!(matrix.comparisons[1].pairs[1].outcomes.len(), 3);
        assert!(matrix.geometric_mean(1, Metric::Time).is_some_and(|mean| mean.cells == 2));
    }
}
