// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulations of a comparison, in parallel; what they yield does not depend on how many threads do it.

use std::slice;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{AppReport, ExitReport, IgnoredReport, Report};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

use super::Comparison;
use super::metric::NotMeasured;
use crate::error::ExperimentError;
use crate::parallel::run_until_stopped;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::scenario::pair::Pair;
use crate::simulator::Simulator;

/// The runs of a comparison: each pair runs the workload on the machine once with each seed.
#[derive(Debug)]
pub struct ComparisonRuns<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The workload.
    pub workload: &'a Workload,
    /// Kernel parameters, settings and time limit of all runs.
    pub scenario: &'a Scenario,
    /// Schedulers and governors; the first is the reference.
    pub pairs: Vec<Pair>,
    /// One run per pair and seed.
    pub seeds: Vec<u64>,
    /// Whether each application runs alone too, with every pair and seed: without that, fairness is not measured.
    pub alone: bool,
}

/// What is kept of one run of the whole workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The report, without threads and CPUs.
    pub report: Report,
    /// Applications and their performance alone; why it is unknown otherwise.
    pub alone: Result<Vec<(String, f64)>, NotMeasured>,
}

/// Pairs on every one of several machines and workloads, with the same seeds.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub machines: &'a [Machine],
    pub workloads: &'a [Workload],
    pub scenario: &'a Scenario,
    pub pairs: &'a [Pair],
    pub seeds: &'a [u64],
    pub alone: bool,
}

/// One simulation.
struct Job<'a> {
    machine: &'a Machine,
    workload: &'a Workload,
    /// Those of the pair; the seed is the job's.
    options: &'a Options,
    seed: u64,
    /// The application that runs alone.
    alone: Option<&'a str>,
}

/// What a job yields. An application may be unable to end alone, for want of its partners: that is a result.
enum Yield {
    Mix(Box<Report>),
    Alone(Result<(String, f64), NotMeasured>),
}

/// A workload of each application by itself, with the application's name.
type Apart<'a> = Vec<(&'a str, Workload)>;

impl ComparisonRuns<'_> {
    /// Runs everything on all cores and computes the metrics.
    ///
    /// # Errors
    /// A setting that does not fit its scheduler; of several runs without a report the first, by pair, then by seed.
    pub fn run(self, simulator: &dyn Simulator, progress: &dyn Progress) -> Result<Comparison, ExperimentError> {
        let grid = Grid {
            machines: slice::from_ref(self.machine),
            workloads: slice::from_ref(self.workload),
            scenario: self.scenario,
            pairs: &self.pairs,
            seeds: &self.seeds,
            alone: self.alone,
        };
        let comparison = grid.run(simulator, progress, "")?.pop().flatten();
        comparison.ok_or(ExperimentError::Interrupted)
    }
}

impl<'a> Grid<'a> {
    /// The comparisons, by machine, then by workload; `None` stands for one of which `progress` stopped a run. All runs are
    /// in one pool, so that no core waits while there is a run to do. `progress` hears that they are for `what`.
    ///
    /// # Errors
    /// As [`ComparisonRuns::run`]; of several cells the message names the one.
    pub fn run(
        &self,
        simulator: &dyn Simulator,
        progress: &dyn Progress,
        what: &str,
    ) -> Result<Vec<Option<Comparison>>, ExperimentError> {
        let apart: Vec<Apart<'_>> = self.workloads.iter().map(|workload| self.workloads_apart(workload)).collect();
        let options = self.pairs.iter().map(|pair| self.scenario.options(pair, 0)).collect::<Result<Vec<_>, _>>()?;
        let jobs = self.jobs(&apart, &options);
        let many = self.machines.len() * self.workloads.len() > 1;
        let yields = run_until_stopped(&jobs, |job| job.run(simulator, many), progress, what)?;
        let (mut yields, mut comparisons) = (yields.into_iter(), Vec::new());
        for machine in self.machines {
            for (workload, apart) in self.workloads.iter().zip(&apart) {
                let runs = self.pairs.len() * self.seeds.len() * (1 + apart.len());
                let of_cell: Option<Vec<Yield>> = yields.by_ref().take(runs).collect::<Vec<_>>().into_iter().collect();
                comparisons.push(of_cell.map(|yields| self.comparison(machine, workload, yields, apart.len())));
            }
        }
        Ok(comparisons)
    }

    /// Each application's own workload, where it makes sense to compare with it.
    fn workloads_apart(&self, workload: &'a Workload) -> Apart<'a> {
        let names = applications(workload);
        if !self.alone || names.len() < 2 {
            return Vec::new();
        }
        names.into_iter().filter_map(|name| Some((name, workload.alone(name)?))).collect()
    }

    /// All simulations: by machine, workload, pair and seed, the whole workload first, then each application alone.
    fn jobs<'b>(&'b self, apart: &'b [Apart<'a>], options: &'b [Options]) -> Vec<Job<'b>> {
        let mut jobs = Vec::new();
        for machine in self.machines {
            for (workload, apart) in self.workloads.iter().zip(apart) {
                for options in options {
                    for &seed in self.seeds {
                        jobs.push(Job { machine, workload, options, seed, alone: None });
                        let alone = |(name, workload): &'b (&'b str, Workload)| Job {
                            machine,
                            workload,
                            options,
                            seed,
                            alone: Some(name),
                        };
                        jobs.extend(apart.iter().map(alone));
                    }
                }
            }
        }
        jobs
    }

    /// Makes a comparison of the yields of its runs.
    fn comparison(&self, machine: &Machine, workload: &Workload, yields: Vec<Yield>, apart: usize) -> Comparison {
        let mut yields = yields.into_iter();
        let of_pair = |_: &Pair| self.seeds.iter().filter_map(|_| self.outcome(&mut yields, apart)).collect();
        let outcomes = self.pairs.iter().map(of_pair).collect();
        // The governor that ran, where the machine has one of its own for it.
        let pairs = self.pairs.iter().map(|pair| pair.on(machine).unwrap_or_else(|_| pair.clone())).collect();
        let comparison = Comparison::of(&machine.name, &workload.name, pairs, self.seeds.to_vec(), outcomes);
        Comparison { disturbed: self.scenario.is_disturbed(), ..comparison }
    }

    /// Takes the yields of one pair and seed.
    fn outcome(&self, yields: &mut impl Iterator<Item = Yield>, apart: usize) -> Option<Outcome> {
        let Some(Yield::Mix(report)) = yields.next() else { return None };
        // All of them are taken before the first failure counts: the next pair's follow.
        let alone: Vec<_> = yields
            .take(apart)
            .filter_map(|alone| match alone {
                Yield::Alone(performance) => Some(performance),
                Yield::Mix(_) => None,
            })
            .collect();
        let alone = match alone.into_iter().collect() {
            Ok(_) if !self.alone => Err(NotMeasured::NotRunAlone),
            Ok(_) if report.apps.is_empty() => Err(NotMeasured::NoApplication),
            Ok(_) if apart == 0 => Err(NotMeasured::OneApplication),
            alone => alone,
        };
        Some(Outcome { report: *report, alone })
    }
}

/// Applications that have threads which are not the system's.
fn applications(workload: &Workload) -> Vec<&str> {
    let has_threads = |index: usize| workload.tasks.iter().any(|task| !task.system && task.application == index);
    let names = workload.applications.iter().enumerate();
    names.filter(|(index, _)| has_threads(*index)).map(|(_, name)| name.as_str()).collect()
}

impl Job<'_> {
    /// Simulates; of `many` cells an error says which.
    fn run(&self, simulator: &dyn Simulator, many: bool) -> Result<Yield, ExperimentError> {
        let options = Options { seed: self.seed, ..self.options.clone() };
        let result = simulator.simulate(self.machine, self.workload, &options, &mut NoObserver);
        let Some(name) = self.alone else {
            let report = result.map_err(|error| if many { self.named(error) } else { error.into() })?;
            return Ok(Yield::Mix(Box::new(slim(report))));
        };
        Ok(Yield::Alone(match result {
            Ok(report) if exit_of(&report).is_some() => Err(NotMeasured::EjectedAlone(name.to_owned())),
            Ok(report) => performance_of(&report.apps, name),
            Err(error) => Err(cannot_run_alone(name, &error)),
        }))
    }

    fn named(&self, source: SimulationError) -> ExperimentError {
        let Options { scheduler, governor, .. } = self.options;
        let (workload, machine, seed) = (&self.workload.name, &self.machine.name, self.seed);
        let run = format!("{workload} on {machine} under {scheduler}+{governor}, seed {seed}");
        ExperimentError::Run { run, source }
    }
}

/// The report without its large tables and texts, and without the time that the simulation took: runs disturb each other's.
pub(crate) fn slim(report: Report) -> Report {
    let sched_ext = report.sched_ext.map(|mut scheduler| {
        scheduler.output.clear();
        if let Some(exit) = &mut scheduler.exit {
            exit.dump.clear();
        }
        scheduler
    });
    Report { tasks: Vec::new(), cpus: Vec::new(), wall_s: None, sched_ext, ..report }
}

/// Why the scheduler went before the end of the run, if it did.
fn exit_of(report: &Report) -> Option<&ExitReport> {
    report.sched_ext.as_ref()?.exit.as_ref()
}

impl Outcome {
    /// Why the scheduler went before the end of the run, if it did.
    pub fn exit(&self) -> Option<&ExitReport> {
        exit_of(&self.report)
    }

    /// What the workload asks for and the scheduler did not heed.
    pub fn ignored(&self) -> impl Iterator<Item = &IgnoredReport> {
        self.report.sched_ext.iter().flat_map(|scheduler| &scheduler.ignored)
    }
}

fn performance_of(apps: &[AppReport], name: &str) -> Result<(String, f64), NotMeasured> {
    match apps.iter().find(|app| app.name == name) {
        Some(app) if app.performance > 0.0 => Ok((app.name.clone(), app.performance)),
        _ => Err(NotMeasured::IdleAlone(name.to_owned())),
    }
}

/// The error in one line: the lines behind the first are details.
fn cannot_run_alone(name: &str, error: &SimulationError) -> NotMeasured {
    let error = error.to_string();
    let why = error.lines().next().unwrap_or_default().trim_end_matches(':').to_owned();
    NotMeasured::CannotRunAlone { name: name.to_owned(), why }
}
