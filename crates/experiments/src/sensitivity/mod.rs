// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values of a machine's description matter for a workload: each is moved by a fifth down and up, and the workload runs again
//! with the same seeds, schedulers and governors.
//!
//! [`SensitivityRuns`] simulates, [`Sensitivity`] is what came of it; `step` moves a value as far as the file allows, `law` makes an
//! elasticity of three points, `order` says whether schedulers change places, `document` is the JSON.
//!
//! An elasticity has an interval over the seeds: the smallest change makes a scheduler decide otherwise somewhere, and what follows
//! from that is chance. What is left out: two values that are wrong together are moved one after the other, so that what only both do is not seen.

mod document;
mod law;
mod order;
mod step;
#[cfg(test)]
mod tests;

use tandem_simulator::input::InputError;
use tandem_simulator::machine::description::Description;
use tandem_simulator::machine::description::values::Value;
use tandem_simulator::machine::{Machine, Trust};
use tandem_simulator::workload::Workload;

pub use order::Turn;
pub use step::NotMoved;

use crate::comparison::{Comparison, Grid, Metric};
use crate::error::ExperimentError;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::scenario::pair::Pair;
use crate::simulator::Simulator;
use crate::statistics::Estimate;
use law::{Point, elasticity};
use step::Step;

/// How far a value is moved, as a share of it.
pub const FIFTH: f64 = 0.2;

/// Which values are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// Values that nobody measured.
    #[default]
    Assumed,
    /// All.
    All,
}

/// The runs of a sensitivity analysis: all pairs and seeds with each value smaller, and with each larger.
#[derive(Debug)]
pub struct SensitivityRuns<'a> {
    /// The machine's description.
    pub description: &'a Description,
    /// The workload.
    pub workload: &'a Workload,
    /// Kernel parameters, settings and time limit of all runs.
    pub scenario: &'a Scenario,
    /// Schedulers and governors.
    pub pairs: &'a [Pair],
    /// One run per pair and seed.
    pub seeds: &'a [u64],
    /// Which values are moved.
    pub which: Which,
}

/// Why there is no sensitivity.
#[derive(Debug, thiserror::Error)]
pub enum SensitivityError {
    /// A mistake in the description.
    #[error("{0}")]
    Description(#[from] InputError),
    /// The runs have no reports.
    #[error("{0}")]
    Runs(#[from] ExperimentError),
}

/// How far the results of a workload depend on values of a machine. As JSON it has the fields that docs/reports.md describes.
#[derive(Debug)]
pub struct Sensitivity {
    /// Name of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// Whether the runs had what every system does beside its workload.
    pub disturbed: bool,
    /// Which values were moved.
    pub which: Which,
    /// How many values the description has.
    pub values: usize,
    /// How many of them nobody measured.
    pub assumed: usize,
    /// Schedulers and governors.
    pub pairs: Vec<Pair>,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// How many simulations the moved values took, those that a store had included.
    pub runs: usize,
    /// The values that were moved, the largest elasticity that the runs show first.
    pub moved: Vec<MovedValue>,
    /// The values that could not be moved, in the order of the file.
    pub not_moved: Vec<(Value, NotMoved)>,
}

/// A value, and what moving it did.
#[derive(Debug)]
pub struct MovedValue {
    /// The value.
    pub value: Value,
    /// How far it was made smaller, as a share of it; `None` where the file allows no smaller one.
    pub smaller: Option<f64>,
    /// How far it was made larger.
    pub larger: Option<f64>,
    /// By pair.
    pub elasticities: Vec<Elasticities>,
    /// Pairs that changed places.
    pub turns: Vec<Turn>,
}

/// Change of a result in percent per percent of a value, mean and interval over the seeds; `None` where the result was not measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elasticities {
    /// Of the run time.
    pub time: Option<Estimate>,
    /// Of the energy.
    pub energy: Option<Estimate>,
}

impl MovedValue {
    /// The largest elasticity of any pair that the runs show, whatever its sign; 0 if none is shown.
    pub fn weight(&self) -> f64 {
        let all = self.elasticities.iter().flat_map(|it| [it.time, it.energy]).flatten();
        all.filter(is_shown).map(|it| it.mean.abs()).fold(0.0, f64::max)
    }

    /// The time's elasticity of the pair in which it is largest, whatever its sign; one that the runs show, if any is.
    pub fn time(&self) -> Option<Estimate> {
        largest(self.elasticities.iter().filter_map(|it| it.time))
    }

    /// The same of the energy's.
    pub fn energy(&self) -> Option<Estimate> {
        largest(self.elasticities.iter().filter_map(|it| it.energy))
    }
}

/// Whether the interval excludes 0. One run has no interval, and shows what it shows.
fn is_shown(elasticity: &Estimate) -> bool {
    elasticity.mean.abs() > elasticity.half_width.unwrap_or(0.0)
}

fn largest(values: impl Iterator<Item = Estimate>) -> Option<Estimate> {
    values.max_by(|a, b| is_shown(a).cmp(&is_shown(b)).then(a.mean.abs().total_cmp(&b.mean.abs())))
}

/// A value on its way: moved, each way that the file allows, with the comparison there.
struct Tried {
    value: Value,
    steps: Vec<Step>,
}

impl SensitivityRuns<'_> {
    /// Runs everything on all cores.
    ///
    /// # Errors
    /// A mistake in the description; a run without a report; a person asked to stop.
    pub fn run(self, simulator: &dyn Simulator, progress: &dyn Progress) -> Result<Sensitivity, SensitivityError> {
        let machine = self.description.machine()?;
        let all = self.description.values()?;
        let (values, assumed) = (all.all.len(), all.assumed());
        let (mut tried, mut not_moved) = (Vec::new(), Vec::new());
        for value in all.all.into_iter().filter(|value| self.which.has(value.trust)) {
            match step::moved(self.description, &machine, &value) {
                Ok(steps) => tried.push(Tried { value, steps }),
                Err(why) => not_moved.push((value, why)),
            }
        }
        let (comparisons, runs) = self.compare(&machine, &tried, simulator, progress)?;
        let (unmoved, others) = comparisons.split_first().ok_or(ExperimentError::Interrupted)?;
        let mut others = others.iter();
        let mut moved: Vec<MovedValue> = tried
            .into_iter()
            .map(|Tried { value, steps }| {
                let mut at =
                    |step: &Step| Some((step.share, if step.machine == machine { unmoved } else { others.next()? }));
                let steps: Vec<(f64, &Comparison)> = steps.iter().filter_map(&mut at).collect();
                result(value, unmoved, &steps)
            })
            .collect();
        // The sort is stable: values of the same weight stay in the order of the file.
        moved.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        Ok(Sensitivity {
            machine: machine.name,
            workload: self.workload.name.clone(),
            disturbed: self.scenario.is_disturbed(),
            which: self.which,
            values,
            assumed,
            pairs: unmoved.pairs.iter().map(|pair| pair.pair.clone()).collect(),
            seeds: self.seeds.to_vec(),
            runs,
            moved,
            not_moved,
        })
    }

    /// The comparison with all as the file says, then one for each step that makes another machine; and how many runs the steps
    /// took.
    fn compare(
        &self,
        machine: &Machine,
        tried: &[Tried],
        simulator: &dyn Simulator,
        progress: &dyn Progress,
    ) -> Result<(Vec<Comparison>, usize), ExperimentError> {
        let steps = tried.iter().flat_map(|tried| &tried.steps);
        // What says the same need not run: a value of a table that nothing refers to, say.
        let others = steps.map(|step| &step.machine).filter(|moved| *moved != machine);
        let machines: Vec<Machine> = std::iter::once(machine).chain(others).cloned().collect();
        let grid = Grid {
            machines: &machines,
            workloads: std::slice::from_ref(self.workload),
            scenario: self.scenario,
            pairs: self.pairs,
            seeds: self.seeds,
            alone: false,
        };
        let comparisons: Option<Vec<Comparison>> = grid.run(simulator, progress, "sensitivity")?.into_iter().collect();
        let runs = (machines.len() - 1) * self.pairs.len() * self.seeds.len();
        Ok((comparisons.ok_or(ExperimentError::Interrupted)?, runs))
    }
}

impl Which {
    fn has(self, trust: Trust) -> bool {
        match self {
            Self::Assumed => trust == Trust::Assumed,
            Self::All => true,
        }
    }
}

/// What moving `value` did: `steps` has how far it was moved and the comparison there, the smallest first.
fn result(value: Value, unmoved: &Comparison, steps: &[(f64, &Comparison)]) -> MovedValue {
    let of = |pair: usize, metric: Metric| {
        let seeds = 0..unmoved.seeds.len();
        let of_seed = |seed: usize| {
            let result = |comparison: &Comparison| metric.of_run(comparison.pairs[pair].outcomes.get(seed)?).ok();
            let point = |(share, moved): &(f64, &Comparison)| Some(Point { share: *share, result: result(moved)? });
            elasticity(result(unmoved)?, &steps.iter().map(point).collect::<Option<Vec<_>>>()?)
        };
        Estimate::of_mean(&seeds.map(of_seed).collect::<Option<Vec<f64>>>()?)
    };
    let pairs = 0..unmoved.pairs.len();
    let elasticities =
        pairs.map(|pair| Elasticities { time: of(pair, Metric::Time), energy: of(pair, Metric::Energy) }).collect();
    let turns = steps.iter().flat_map(|(share, moved)| order::turns(unmoved, *share, moved)).collect();
    let shares = || steps.iter().map(|(share, _)| *share);
    let (smaller, larger) = (shares().find(|share| *share < 0.0), shares().rfind(|share| *share > 0.0));
    MovedValue { value, smaller, larger, elasticities, turns }
}
