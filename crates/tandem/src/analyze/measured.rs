// SPDX-License-Identifier: GPL-2.0-only
//! The model's states in simulations: applications that stay in their phases, alone and together.

use indicatif::{ProgressBar, ProgressDrawTarget};
use rayon::prelude::*;
use schemars::JsonSchema;
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

/// The situations that run with each seed. In the run of (S,P), the other application is in (P,S).
const SITUATIONS: [&[Phase]; 5] =
    [&[Serial], &[Parallel], &[Serial, Serial], &[Serial, Parallel], &[Parallel, Parallel]];

/// What to simulate, and how.
pub struct Measurement<'m> {
    /// The machine.
    pub machine: &'m Machine,
    /// The model's parameters for the machine.
    pub fit: OneLargeCore,
    /// The scheduler.
    pub scheduler: Choice,
    /// Simulated time of each situation.
    pub time: Nanos,
    /// Seeds; each situation runs once with each.
    pub seeds: Vec<u64>,
}

/// Results of the simulations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Name of the scheduler.
    pub scheduler: String,
    /// Name of the governor.
    pub governor: String,
    /// Simulated time of each run, in seconds.
    pub time_s: f64,
    /// Number of runs of each situation.
    pub runs: usize,
    /// Mean performance of an application alone, in threads on a small core.
    pub alone: Alone,
    /// States, in the order of the model's tables.
    pub states: Vec<MeasuredState>,
    /// Why the scheduler was ejected before the end of a run, in the first run in which it was.
    pub ejected: Option<String>,
}

/// Results for a state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredState {
    /// Phases of A and B.
    pub state: State,
    /// Lowest speedup of A. If both are in the same phase, each of them counts as A.
    pub min: f64,
    /// Mean speedup of A, with the 95 % confidence interval.
    pub average: Estimate,
    /// Highest speedup of A.
    pub max: f64,
    /// Lowest fairness of a run: the smaller speedup over the larger one.
    pub fairness_min: f64,
    /// Mean fairness, with the 95 % confidence interval.
    pub fairness: Estimate,
}

/// Results of the situations with one seed.
struct Run {
    alone: Alone,
    /// Speedups of the two applications.
    both_serial: [f64; 2],
    /// Speedups of the two applications, the serial one's first.
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
        // If several runs fail, the first failure in order is reported.
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

    /// The scheduler and its governor: clocks stand still in the model, so they are the highest ones unless asked
    /// otherwise.
    fn pair(&self) -> Pair {
        let governor = self.scheduler.governor.unwrap_or(Governor::Performance);
        Pair::new(self.scheduler.scheduler.clone(), governor)
    }

    /// All situations with one seed.
    fn one(&self, simulator: &dyn Simulator, pair: &Pair, seed: u64) -> Result<Run, SimulationError> {
        let Pair { scheduler, governor, .. } = pair.clone();
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

/// Why the scheduler was ejected in a run, if it was.
fn ejection(report: &Report) -> Option<String> {
    let exit = report.sched_ext.as_ref()?.exit.as_ref()?;
    Some(format!("{} was ejected with seed {}: {}", report.scheduler, report.seed, exit.message))
}

/// The statistics of `state`; `None` if there is no run.
fn measured(state: State, runs: &[Run]) -> Option<MeasuredState> {
    let speedups: Vec<Vec<f64>> = runs.iter().map(|run| of_a(state, run)).collect();
    let fairness: Vec<f64> = runs.iter().map(|run| fairness(state, run)).collect();
    // The applications of one run are not independent, so a run's mean is one value.
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
