// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulations of a search: each point on each machine with each workload, beside the scheduler as it is with the same seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SchedExt, Scheduler};
use tandem_simulator::workload::Workload;

use super::goal::Score;
use super::method::Evaluate;
use super::space::{Dimension, Point};
use crate::error::ExperimentError;
use crate::parallel::run_all;
use crate::progress::Progress;
use crate::scenario::pair::Pair;
use crate::scenario::{Scenario, ScenarioError};
use crate::simulator::Simulator;

/// Logarithms of what a run took: of its time and of its energy, or of both per work where a time limit ended it.
type Cost = (f64, f64);

/// What runs points.
pub struct Runs<'a> {
    /// Machines and workloads, each with each.
    pub cells: Vec<(&'a Machine, &'a Workload)>,
    pub scenario: &'a Scenario,
    pub scheduler: &'a SchedExt,
    pub pair: &'a Pair,
    pub dimensions: &'a [Dimension],
    /// The seed of the first run.
    pub first: u64,
    pub simulator: &'a dyn Simulator,
    pub progress: &'a dyn Progress,
    /// What is known of points, by seed from the first on; `None` of a point that cannot be used.
    pub known: BTreeMap<Point, Option<Vec<Vec<Cost>>>>,
    /// Why points cannot be used, and how many cannot for that reason.
    pub reasons: BTreeMap<String, usize>,
    /// What the scheduler as it is does not heed of what workloads ask for.
    pub ignored: BTreeSet<String>,
}

/// What a run took, and what its scheduler did not heed.
struct Ran {
    cost: Cost,
    ignored: Vec<String>,
}

/// One simulation.
struct Job<'a> {
    point: usize,
    cell: (&'a Machine, &'a Workload),
    options: Options,
}

impl Evaluate for Runs<'_> {
    type Error = ExperimentError;

    fn evaluate(&mut self, points: &[Point], seeds: usize) -> Result<Vec<Option<Vec<Score>>>, ExperimentError> {
        let own: Point = vec![None; self.dimensions.len()];
        let mut all: Vec<&Point> = points.iter().collect();
        all.push(&own);
        self.run(&all, seeds)?;
        let Some(Some(base)) = self.known.get(&own) else { return Err(self.base_fails()) };
        let score = |point: &Point| {
            let costs = self.known.get(point)?.as_ref()?;
            Some(costs.iter().zip(base).take(seeds).map(|(costs, base)| compared(costs, base)).collect())
        };
        Ok(points.iter().map(score).collect())
    }
}

/// The means over all cells.
fn compared(costs: &[Cost], base: &[Cost]) -> Score {
    let mean = |part: fn(&Cost) -> f64| {
        let differences = costs.iter().zip(base).map(|(cost, base)| part(cost) - part(base));
        differences.sum::<f64>() / costs.len() as f64
    };
    Score { time: mean(|cost| cost.0), energy: mean(|cost| cost.1) }
}

impl<'a> Runs<'a> {
    /// Runs what is not known of the points.
    fn run(&mut self, points: &[&Point], seeds: usize) -> Result<(), ExperimentError> {
        let mut jobs = Vec::new();
        let mut open: Vec<(&Point, usize)> = Vec::new();
        for point in points {
            let known = match self.known.get(*point) {
                None => 0,
                Some(None) => continue,
                Some(Some(costs)) => costs.len(),
            };
            if known >= seeds || open.iter().any(|(other, _)| other == point) {
                continue;
            }
            match self.jobs(point, open.len(), known..seeds) {
                Ok(of_point) => {
                    jobs.extend(of_point);
                    open.push((point, seeds - known));
                }
                // The scheduler refuses the settings.
                Err(error) => {
                    self.known.insert((*point).clone(), None);
                    self.refused(&error.to_string());
                }
            }
        }
        let run = |job: &Job<'_>| Ok::<_, ExperimentError>((job.point, self.cost(job)));
        let costs = run_all(&jobs, run, self.progress, "")?;
        self.note_ignored(&open, &costs);
        if costs.len() < jobs.len() {
            return Err(ExperimentError::Interrupted);
        }
        let mut costs = costs.into_iter().peekable();
        for (index, (point, new)) in open.into_iter().enumerate() {
            let of_point = std::iter::from_fn(|| costs.next_if(|(of, _)| *of == index));
            let own: Vec<Result<Cost, String>> = of_point.map(|(_, run)| self.heeding(run)).collect();
            debug_assert_eq!(own.len(), new * self.cells.len());
            let known = self.known.entry(point.clone()).or_insert_with(|| Some(Vec::new()));
            match own.into_iter().collect::<Result<Vec<Cost>, String>>() {
                Ok(own) => {
                    known.iter_mut().for_each(|known| known.extend(own.chunks(self.cells.len()).map(<[Cost]>::to_vec)))
                }
                Err(why) => {
                    *known = None;
                    self.refused(&why);
                }
            }
        }
        Ok(())
    }

    /// Remembers what the scheduler as it is ignores.
    fn note_ignored(&mut self, open: &[(&Point, usize)], costs: &[(usize, Result<Ran, String>)]) {
        let own = open.iter().position(|(point, _)| point.iter().all(Option::is_none));
        let of_own = costs.iter().filter(|(point, _)| Some(*point) == own).filter_map(|(_, run)| run.as_ref().ok());
        self.ignored.extend(of_own.flat_map(|run| run.ignored.iter().cloned()));
    }

    /// What a run took, unless its scheduler ignored what the scheduler as it is heeds: that is no gain.
    fn heeding(&self, run: Result<Ran, String>) -> Result<Cost, String> {
        let run = run?;
        match run.ignored.iter().find(|what| !self.ignored.contains(*what)) {
            Some(what) => Err(format!("the scheduler ignores {what}, which the workload asks for")),
            None => Ok(run.cost),
        }
    }

    /// The runs of `point`, by seed, then by cell.
    fn jobs(&self, point: &Point, index: usize, seeds: std::ops::Range<usize>) -> Result<Vec<Job<'a>>, ScenarioError> {
        let pair = self.pair_at(point)?;
        let mut jobs = Vec::new();
        for seed in seeds {
            let options = self.scenario.options(&pair, self.first.wrapping_add(seed as u64))?;
            jobs.extend(self.cells.iter().map(|cell| Job { point: index, cell: *cell, options: options.clone() }));
        }
        Ok(jobs)
    }

    /// The scheduler with the settings of `point`.
    fn pair_at(&self, point: &Point) -> Result<Pair, ScenarioError> {
        let settings = self.dimensions.iter().zip(point);
        let settings =
            settings.filter_map(|(dimension, value)| Some((dimension.name.clone(), value.clone()?))).collect();
        let scheduler = Scheduler::SchedExt(Arc::new(self.scheduler.with_settings(settings)?));
        Ok(Pair { scheduler, ..self.pair.clone() })
    }

    /// Counts a point that cannot be used; of a long reason the first line.
    fn refused(&mut self, why: &str) {
        let line = why.lines().next().unwrap_or_default().trim_end_matches(':').to_owned();
        *self.reasons.entry(line).or_default() += 1;
    }

    /// What a run took.
    ///
    /// # Errors
    /// It has no report, its scheduler did not stay, or it did nothing that could be compared.
    fn cost(&self, job: &Job<'_>) -> Result<Ran, String> {
        let (machine, workload) = job.cell;
        let report = self.simulator.simulate(machine, workload, &job.options, &mut NoObserver);
        let report = report.map_err(|error| error.to_string())?;
        if let Some(exit) = report.sched_ext.as_ref().and_then(|scheduler| scheduler.exit.as_ref()) {
            return Err(format!("the scheduler did not stay: {}: {}", exit.reason, exit.message));
        }
        let cost = cost_of(&report).ok_or_else(|| "a time limit ended the run, and no work was counted".to_owned())?;
        let ignored = report.sched_ext.into_iter().flat_map(|scheduler| scheduler.ignored);
        Ok(Ran { cost, ignored: ignored.map(|it| it.what).collect() })
    }

    /// Why the scheduler as it is cannot be compared with.
    fn base_fails(&self) -> ExperimentError {
        let name = &self.scheduler.name;
        let fail = |cell: &(&Machine, &Workload)| -> Result<(), ExperimentError> {
            let (machine, workload) = cell;
            let options = self.scenario.options(self.pair, self.first)?;
            let report = self.simulator.simulate(machine, workload, &options, &mut NoObserver)?;
            let of = format!("{} on {} under {name}", workload.name, machine.name);
            match cost_of(&report) {
                None => {
                    Err(ExperimentError::NoBase(format!("{of}: a time limit ended the run, and no work was counted")))
                }
                Some(_) => Ok(()),
            }
        };
        let failure = self.cells.iter().map(fail).find_map(Result::err);
        failure.unwrap_or_else(|| ExperimentError::NoBase(format!("{name} does not stay to the end of its runs")))
    }
}

/// Time and energy; per work where a time limit ended the run.
fn cost_of(report: &Report) -> Option<Cost> {
    let (time, energy) = match report.time_limited {
        false => (report.time_s, report.energy_j.total),
        true => (1.0 / report.throughput, report.power_w / report.throughput),
    };
    let usable = |value: f64| value.is_finite() && value > 0.0;
    (usable(time) && usable(energy)).then(|| (time.ln(), energy.ln()))
}
