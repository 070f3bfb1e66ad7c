// SPDX-License-Identifier: GPL-2.0-only
//! The model's states, simulated: applications that stay in their phases, alone and together.

use indicatif::{ProgressBar, ProgressDrawTarget};
use rayon::prelude::*;
use serde::Serialize;
use tandem_simulator::analysis::Phase::{self, Parallel, Serial};
use tandem_simulator::analysis::{OneLargeCore, State, fixed_state};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, SimulationError};
use tandem_simulator::units::{Nanos, seconds};

use crate::arguments::{Choice, Pair};
use crate::context::Context;
use crate::failure::Failure;
use tandem_experiments::Estimate;
use tandem_experiments::Simulator;

use super::theory::Alone;

/// What runs with each seed. (P,S) is the other application of (S,P).
const SITUATIONS: [&[Phase]; 5] =
    [&[Serial], &[Parallel], &[Serial, Serial], &[Serial, Parallel], &[Parallel, Parallel]];

/// What to simulate.
pub struct Measurement<'m> {
    /// On which machine.
    pub machine: &'m Machine,
    /// What the model makes of it.
    pub fit: OneLargeCore,
    /// Under which scheduler.
    pub scheduler: Choice,
    /// For how long, each.
    pub time: Nanos,
    /// Each situation once with each.
    pub seeds: Vec<u64>,
}

/// What simulations gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Scheduler.
    pub scheduler: String,
    /// Governor.
    pub governor: String,
    /// Simulated time of each run.
    pub time_s: f64,
    /// Runs of each situation.
    pub runs: usize,
    /// Mean performance of an application alone, in threads on a small core.
    pub alone: Alone,
    /// By state, in the order of the model's tables.
    pub states: Vec<MeasuredState>,
    /// Why the scheduler went before the end of a run, in the first run where it did.
    pub ejected: Option<String>,
}

/// What simulations gave for a state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredState {
    /// Of A and B.
    pub state: State,
    /// Lowest speedup of A. Where both are in the same phase, each of them counts as A.
    pub min: f64,
    /// Its mean with the 95 % confidence interval.
    pub average: Estimate,
    /// Highest.
    pub max: f64,
    /// Lowest fairness of a run: the smaller speedup over the larger one.
    pub fairness_min: f64,
    /// Its mean with the 95 % confidence interval.
    pub fairness: Estimate,
}

/// What the situations gave with one seed.
struct Run {
    alone: Alone,
    /// Speedups of the two applications.
    both_serial: [f64; 2],
    /// The serial one first.
    mixed: [f64; 2],
    both_parallel: [f64; 2],
    ejected: Option<String>,
}

impl Measurement<'_> {
    /// Simulates everything, on all cores; the results do not depend on how many.
    pub fn run(&self, context: &Context<'_>) -> Result<Measured, Failure> {
        let pair = self.pair();
        let bar = ProgressBar::new(self.seeds.len() as u64);
        bar.set_draw_target(match context.progress {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        });
        let simulator = context.simulator;
        let runs: Vec<Result<Run, SimulationError>> =
            self.seeds.par_iter().map(|seed| self.one(simulator, &pair, *seed)).inspect(|_| bar.inc(1)).collect();
        bar.finish_and_clear();
        // Of several failures the first in order counts.
        let runs = runs.into_iter().collect::<Result<Vec<Run>, _>>()?;
        let alone = |phase: fn(&Alone) -> f64| {
            runs.iter().map(|run| phase(&run.alone)).sum::<f64>() / runs.len() as f64 / self.fit.small_speed
        };
        Ok(Measured {
            scheduler: pair.scheduler.to_string(),
            governor: pair.governor.to_string(),
            time_s: seconds(self.time),
            runs: runs.len(),
            alone: Alone { serial: alone(|alone| alone.serial), parallel: alone(|alone| alone.parallel) },
            states: State::ALL.iter().filter_map(|state| measured(*state, &runs)).collect(),
            ejected: runs.iter().find_map(|run| run.ejected.clone()),
        })
    }

    /// Clocks stand still in the model: the highest ones, unless others are asked for.
    fn pair(&self) -> Pair {
        let governor = self.scheduler.governor.unwrap_or(Governor::Performance);
        Pair { scheduler: self.scheduler.scheduler.clone(), governor }
    }

    /// All situations with one seed.
    fn one(&self, simulator: &dyn Simulator, pair: &Pair, seed: u64) -> Result<Run, SimulationError> {
        let Pair { scheduler, governor } = pair.clone();
        let options = Options { scheduler, governor, seed, time_limit: Some(self.time), ..Options::default() };
        let simulate = |phases: &&[Phase]| {
            let workload = fixed_state(phases, self.fit.model.cores());
            simulator.simulate(self.machine, &workload, &options, &mut NoObserver)
        };
        let reports = SITUATIONS.iter().map(simulate).collect::<Result<Vec<Report>, _>>()?;
        let performance = |situation: usize, app: usize| reports[situation].apps[app].performance;
        let (serial, parallel) = (performance(0, 0), performance(1, 0));
        Ok(Run {
            alone: Alone { serial, parallel },
            both_serial: [0, 1].map(|app| performance(2, app) / serial),
            mixed: [performance(3, 0) / serial, performance(3, 1) / parallel],
            both_parallel: [0, 1].map(|app| performance(4, app) / parallel),
            ejected: reports.iter().find_map(ejection),
        })
    }
}

/// That the scheduler did not last, if so.
fn ejection(report: &Report) -> Option<String> {
    let exit = report.sched_ext.as_ref()?.exit.as_ref()?;
    Some(format!("{} was ejected with seed {}: {}", report.scheduler, report.seed, exit.message))
}

/// The statistics of `state`; none where there is no run.
fn measured(state: State, runs: &[Run]) -> Option<MeasuredState> {
    let speedups: Vec<Vec<f64>> = runs.iter().map(|run| of_a(state, run)).collect();
    let fairness: Vec<f64> = runs.iter().map(|run| fairness(state, run)).collect();
    // The applications of one run are not independent: its mean is one value.
    let means: Vec<f64> = speedups.iter().map(|run| run.iter().sum::<f64>() / run.len() as f64).collect();
    let all = || speedups.iter().flatten().copied();
    Some(MeasuredState {
        state,
        min: all().fold(f64::INFINITY, f64::min),
        average: Estimate::of_mean(&means)?,
        max: all().fold(0.0, f64::max),
        fairness_min: fairness.iter().copied().fold(f64::INFINITY, f64::min),
        fairness: Estimate::of_mean(&fairness)?,
    })
}

/// The speedups that count as A's.
fn of_a(state: State, run: &Run) -> Vec<f64> {
    match (state.a, state.b) {
        (Serial, Serial) => run.both_serial.to_vec(),
        (Serial, Parallel) => vec![run.mixed[0]],
        (Parallel, Serial) => vec![run.mixed[1]],
        (Parallel, Parallel) => run.both_parallel.to_vec(),
    }
}

/// The smaller speedup over the larger one.
fn fairness(state: State, run: &Run) -> f64 {
    let [a, b] = match (state.a, state.b) {
        (Serial, Serial) => run.both_serial,
        (Parallel, Parallel) => run.both_parallel,
        _ => run.mixed,
    };
    (a / b).min(b / a)
}
