// SPDX-License-Identifier: MIT OR Apache-2.0
//! More runs where a gate is undecided, until it is decided or a budget is spent.

use std::iter;

use super::{Gate, Judge};
use crate::comparison::ComparisonRuns;
use crate::error::ExperimentError;
use crate::matrix::{Matrix, MatrixRuns};
use crate::progress::Progress;
use crate::simulator::Simulator;

/// A gate after all runs that it took.
#[derive(Debug)]
pub struct Decided {
    /// What was judged at last.
    pub gate: Gate,
    /// Whether an interrupt ended it before it was decided or the budget spent.
    pub interrupted: bool,
}

/// How many runs a pair has at each look: as many more as it had before, up to `most`.
fn sizes(first: usize, most: usize) -> impl Iterator<Item = usize> {
    iter::successors(Some(first), move |runs| (*runs < most).then(|| (2 * runs).min(most)))
}

/// How often a cell of `first` runs for each pair may be judged before it has `most`.
pub fn looks(first: usize, most: usize) -> usize {
    sizes(first, most).count()
}

/// Judges `matrix`, which `runs` gave, and as long as a cell is undecided doubles its runs, up to `most` of each pair. The cells
/// in the matrix are those with all their runs at last. Seeds go on where those of `runs` ended.
///
/// # Errors
/// As [`MatrixRuns::run`].
pub fn decide(
    matrix: &mut Matrix,
    (judge, accepted_changes): (&Judge<'_>, &[String]),
    (runs, most): (&MatrixRuns<'_>, usize),
    simulator: &dyn Simulator,
    progress: &dyn Progress,
) -> Result<Decided, ExperimentError> {
    let judged = |matrix: &Matrix| judge.judge(matrix, accepted_changes.to_vec());
    let mut gate = judged(matrix);
    for size in sizes(runs.seeds.len(), most).skip(1) {
        for place in undecided(matrix, &gate) {
            let cell = &matrix.comparisons[place];
            let Some(more) = more(&cell.machine, &cell.workload, size, runs) else { continue };
            match more.run(simulator, progress) {
                Ok(comparison) => matrix.comparisons[place] = comparison,
                Err(ExperimentError::Interrupted) => return Ok(Decided { gate: judged(matrix), interrupted: true }),
                Err(error) => return Err(error),
            }
        }
        gate = judged(matrix);
    }
    Ok(Decided { gate, interrupted: false })
}

/// The places of cells that more runs may decide.
fn undecided(matrix: &Matrix, gate: &Gate) -> Vec<usize> {
    let wants = |machine: &str, workload: &str| {
        let mut judged = gate.judged.iter().filter(|judged| judged.machine == machine && judged.workload == workload);
        judged.any(|judged| judged.wants_runs())
    };
    let cells = matrix.comparisons.iter().enumerate();
    cells.filter(|(_, cell)| wants(&cell.machine, &cell.workload)).map(|(place, _)| place).collect()
}

/// A cell's runs with so many seeds; runs that were done before are the store's to know.
fn more<'a>(machine: &str, workload: &str, size: usize, runs: &MatrixRuns<'a>) -> Option<ComparisonRuns<'a>> {
    let first = *runs.seeds.first()?;
    Some(ComparisonRuns {
        machine: runs.machines.iter().find(|it| it.name == machine)?,
        workload: runs.workloads.iter().find(|it| it.name == workload)?,
        scenario: runs.scenario,
        pairs: runs.pairs.clone(),
        seeds: (0..size as u64).map(|run| first.wrapping_add(run)).collect(),
        alone: runs.alone,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tandem_simulator::machine::Machine;
    use tandem_simulator::metrics::Report;
    use tandem_simulator::observer::Observer;
    use tandem_simulator::simulation::{Options, SimulationError};
    use tandem_simulator::workload::Workload;

    use super::super::{Judgement, Reference};
    use super::*;
    use crate::{Choice, FairOrObject, Linux, Scenario, Silent};

    /// 100 J, and of powersave 4 J more; in half of the runs 10 J less, the one half for one governor, the other for the other.
    struct Scattered;

    impl Simulator for Scattered {
        fn simulate(
            &self,
            machine: &Machine,
            workload: &Workload,
            options: &Options,
            observer: &mut dyn Observer,
        ) -> Result<Report, SimulationError> {
            let mut report = Linux.simulate(machine, workload, options, observer)?;
            let saves = options.governor.to_string() == "powersave";
            let less = options.seed.is_multiple_of(2) == saves;
            report.energy_j.total = 100.0 + if saves { 4.0 } else { 0.0 } - if less { 10.0 } else { 0.0 };
            Ok(report)
        }
    }

    /// What a condition says of powersave beside performance, with so many runs at first and at most, and how many it took.
    fn decided(condition: &str, first: u64, most: usize) -> (Judgement, usize) {
        let machines = [Machine::load("smp-8").unwrap()];
        let text = r#"{ "tasks": { "t": { "loop": 1, "run": 100 } } }"#;
        let workloads = [Workload::parse(Path::new("w.json"), text).unwrap()];
        let pairs = ["fair+performance", "fair+powersave"];
        let runs = MatrixRuns {
            machines: &machines,
            workloads: &workloads,
            scenario: &Scenario::default(),
            pairs: pairs.map(|text| Choice::parse(text, &FairOrObject).unwrap().pair()).to_vec(),
            seeds: (0..first).collect(),
            alone: false,
        };
        let mut matrix = runs.clone().run(&Scattered, &Silent).unwrap();
        let conditions = [condition.parse().unwrap()];
        let looks = looks(first as usize, most);
        let judge = Judge { reference: Reference::FirstPair, conditions: &conditions, looks };
        let Decided { gate, interrupted } =
            decide(&mut matrix, (&judge, &[]), (&runs, most), &Scattered, &Silent).unwrap();
        assert!(!interrupted && gate.judged.len() == 1, "{gate:?}");
        assert_eq!(gate.judged[0].runs, matrix.comparisons[0].seeds.len());
        (gate.judged[0].judgement, gate.judged[0].runs)
    }

    #[test]
    fn runs_are_doubled_until_they_decide() {
        // 99/95 is 1.042. Either side deviates by 5 J, so that the ratio's interval of the last of eight looks is ±2.4 % at 80 runs,
        // and ±1.7 % at 160.
        assert_eq!(decided("energy > 1.02", 10, 10), (Judgement::Undecided, 10));
        assert_eq!(decided("energy > 1.02", 10, 1000), (Judgement::Worse, 160));
        // What is decided at once takes no run more.
        assert_eq!(decided("energy > 1.3", 10, 1000), (Judgement::NotWorse, 10));
    }

    #[test]
    fn a_budget_ends_what_cannot_be_decided() {
        assert_eq!(decided("energy > 1.0421", 4, 24), (Judgement::Undecided, 24));
    }

    #[test]
    fn more_looks_at_the_same_runs_want_narrower_intervals() {
        assert_eq!([looks(10, 10), looks(10, 11), looks(10, 40), looks(10, 41), looks(1, 8)], [1, 2, 3, 4, 4]);
        // 1.042 at 40 runs is ±2.5 % with one look, and ±3.0 % with the last of three.
        assert_eq!(decided("energy > 1.015", 40, 40).0, Judgement::Worse);
        assert_eq!(decided("energy > 1.015", 10, 40).0, Judgement::Undecided);
    }
}
